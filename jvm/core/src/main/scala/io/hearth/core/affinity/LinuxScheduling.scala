package io.hearth.core.affinity

import java.nio.file.{Files, Path}
import java.util.BitSet

import scala.jdk.CollectionConverters._
import scala.util.Using

import com.sun.jna.{LastErrorException, Library, Native, NativeLong, Platform}

import io.hearth.core.topology.IdSet

/**
 * The kernel refused a CPU mask or a memory policy.
 *
 * @param call the system call, such as `set_mempolicy`
 * @param errno the kernel's error number
 */
final class BindingRefused(val call: String, val errno: Int, message: String)
    extends RuntimeException(message)

/**
 * CPU mask and memory policy of the calling thread; both are inherited by every thread and process
 * that it starts (sched(7), set_mempolicy(2)).
 */
object LinuxScheduling {

  /** Binds the calling thread to `cpus` (sched_setaffinity(2)). @throws BindingRefused */
  def bindThreadToCpus(cpus: IdSet): Unit = {
    val mask = bitmap(cpus, CpuMaskBytes)
    call("sched_setaffinity", s"CPUs $cpus", cpuRemedy) {
      libc.sched_setaffinity(0, new NativeLong(mask.length.toLong), mask)
    }
  }

  /** From now on allocates only on `nodes` (MPOL_BIND of set_mempolicy(2)). @throws BindingRefused */
  def bindThreadToNodes(nodes: IdSet): Unit = {
    val mask = bitmap(nodes, NodeMaskBytes)
    // The kernel reads one bit fewer than given (set_mempolicy(2), BUGS).
    val bits = new NativeLong(mask.length * 8L + 1)
    call("set_mempolicy", s"memory nodes $nodes", memoryRemedy) {
      libc.syscall(new NativeLong(setMempolicyNumber), MpolBind, mask, bits).intValue
    }
  }

  /** Binds all threads of this process to `cpus`, and so those that they start. @throws BindingRefused */
  def bindProcessToCpus(cpus: IdSet): Unit = {
    def bind(done: Set[Int]): Unit = {
      val fresh = threads().filterNot(done)
      fresh.foreach(bindToCpus(_, cpus))
      // A thread that was being made meanwhile has its maker's mask of before.
      if (fresh.nonEmpty) bind(done ++ fresh)
    }
    bind(Set.empty)
  }

  /** Binds any thread, unless it has ended. @throws BindingRefused */
  def bindToCpus(tid: Int, cpus: IdSet): Unit = {
    val mask = bitmap(cpus, CpuMaskBytes)
    call("sched_setaffinity", s"CPUs $cpus", cpuRemedy) {
      try libc.sched_setaffinity(tid, new NativeLong(mask.length.toLong), mask)
      catch { case e: LastErrorException if e.getErrorCode == NoSuchThread => 0 }
    }
    ()
  }

  private def threads(): Vector[Int] =
    Using.resource(Files.list(Path.of("/proc/self/task")))(
      _.iterator.asScala.flatMap(_.getFileName.toString.toIntOption).toVector
    )

  /** CPUs that the calling thread may run on (sched_getaffinity(2)). */
  def cpusOfThread(): IdSet =
    call("sched_getaffinity", "the calling thread", cpuRemedy)(affinity(0))

  /** The same of any thread, without the CPUs that are offline; absent when it has ended. */
  def cpusOf(tid: Int): Option[IdSet] =
    try Some(affinity(tid))
    catch { case e: LastErrorException if e.getErrorCode == NoSuchThread => None }

  private def affinity(tid: Int): IdSet = {
    val mask = new Array[Byte](CpuMaskBytes)
    val _ = libc.sched_getaffinity(tid, new NativeLong(mask.length.toLong), mask)
    IdSet.from(BitSet.valueOf(mask).stream.iterator.asScala.map(_.intValue))
  }

  /** ESRCH of errno(3). */
  private val NoSuchThread = 3

  private val MpolBind = new NativeLong(2)

  /** Room for every id that [[IdSet]] accepts; glibc's cpu_set_t would end at 1,024 CPUs. */
  private val CpuMaskBytes = (IdSet.MaxId + 1) / 8

  /** 4,096 nodes: the kernel has at most 1,024, and refuses a mask longer than a page (mm/mempolicy.c). */
  private val NodeMaskBytes = 512

  private val cpuRemedy =
    "the CPUs must be inside the cpuset of this process (see `hearth topology`)"
  private val memoryRemedy =
    "a container's default seccomp profile refuses this call without CAP_SYS_NICE, and the nodes must be " +
      "inside the cpuset of this process (see `hearth topology`)"

  private trait LibC extends Library {
    @throws(classOf[LastErrorException])
    def sched_setaffinity(pid: Int, bytes: NativeLong, mask: Array[Byte]): Int
    @throws(classOf[LastErrorException])
    def sched_getaffinity(pid: Int, bytes: NativeLong, mask: Array[Byte]): Int
    @throws(classOf[LastErrorException])
    def syscall(
        number: NativeLong,
        mode: NativeLong,
        mask: Array[Byte],
        bits: NativeLong
    ): NativeLong
  }

  private lazy val libc: LibC = Native.load("c", classOf[LibC])

  /** Bit `id` of byte `id / 8`, which is the kernel's layout on little-endian machines only. */
  private def bitmap(ids: IdSet, size: Int): Array[Byte] = {
    val bytes = new Array[Byte](size)
    ids.iterator.foreach(id => bytes(id / 8) = (bytes(id / 8) | (1 << (id % 8))).toByte)
    bytes
  }

  /** The number of set_mempolicy(2), which has no wrapper in glibc (kernel: unistd.h, syscall.tbl). */
  private def setMempolicyNumber: Long = Platform.ARCH match {
    case "x86-64" => 238
    case "aarch64" => 237
    case "ppc64le" => 261
    case "riscv64" => 237
    case other =>
      throw new BindingRefused(
        "set_mempolicy",
        0,
        s"memory nodes cannot be bound on architecture '$other': its system call number is not known"
      )
  }

  private def call[A](name: String, what: String, remedy: String)(body: => A): A =
    try body
    catch {
      case e: LastErrorException =>
        throw new BindingRefused(
          name,
          e.getErrorCode,
          s"the kernel refused $name for $what (errno ${e.getErrorCode}): $remedy"
        )
    }
}
