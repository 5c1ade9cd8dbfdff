package io.hearth.core.affinity

import com.sun.jna.{LastErrorException, Library, NativeLong, Platform}

import io.hearth.core.topology.IdSet

/** Moves memory that a process has touched already: a policy of the kernel's holds for new pages only. */
object PageMigration {
  private[affinity] val Call = "migrate_pages"

  /** 4,096 nodes, as for policies of memory. */
  private val MaskBytes = 512

  /**
   * Moves what this process has on nodes `from` to nodes `to` (migrate_pages(2)). It takes as long as copying takes.
   *
   * @return the number of pages that could not be moved, such as those that other processes share
   * @throws BindingRefused
   */
  def moveProcess(from: IdSet, to: IdSet): Long = {
    val bits = new NativeLong(MaskBytes * 8L + 1)
    try
      libc
        .syscall(new NativeLong(number), new NativeLong(0), bits, mask(from), mask(to))
        .longValue
    catch {
      case e: LastErrorException =>
        val errno = e.getErrorCode
        throw new BindingRefused(
          Call,
          errno,
          s"the kernel refused $Call from memory nodes $from to $to (errno $errno): " +
            LinuxScheduling.meaning(Call, errno)
        )
    }
  }

  private trait LibC extends Library {
    @throws(classOf[LastErrorException])
    def syscall(
        number: NativeLong,
        pid: NativeLong,
        bits: NativeLong,
        from: Array[Byte],
        to: Array[Byte]
    ): NativeLong
  }

  private lazy val libc: LibC = NativeCode.libc(classOf[LibC])

  private def mask(nodes: IdSet): Array[Byte] =
    nodes.toBitSet.toByteArray.padTo(MaskBytes, 0.toByte)

  /** It has no wrapper in glibc (kernel: unistd.h, syscall.tbl). */
  private def number: Long = Platform.ARCH match {
    case "x86-64" => 256
    case "aarch64" | "riscv64" => 238
    case "ppc64le" => 258
    case other =>
      throw new BindingRefused(
        Call,
        0,
        s"memory cannot be moved on architecture '$other': its system call number is not known"
      )
  }
}
