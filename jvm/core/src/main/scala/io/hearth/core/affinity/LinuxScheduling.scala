package io.hearth.core.affinity

import java.nio.file.Path

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

import com.sun.jna.{LastErrorException, NativeLong, Platform}

import io.hearth.affinity.{JnaScheduling, Scheduling}
import io.hearth.core.procfs.ProcFs
import io.hearth.core.syscalls.LibC
import io.hearth.core.topology.{IdSet, SysTree}

/**
 * The kernel refused a CPU mask or a memory policy, or cannot be asked for one. Its message tells all: it
 * has no stack trace.
 *
 * @param call the system call, such as `set_mempolicy`; empty where none can be made
 * @param errno the kernel's error number; 0 where it was not asked
 */
final class BindingRefused(val call: String, val errno: Int, message: String)
    extends RuntimeException(message, null, true, false) {

  /** Whether CPUs could be bound, and memory could not. */
  def ofMemory: Boolean = call == LinuxScheduling.SetMempolicy
}

/**
 * CPU mask and memory policy of the calling thread; both are inherited by every thread and process
 * that it starts (sched(7), set_mempolicy(2)).
 */
object LinuxScheduling {

  /** Binds the calling thread to `cpus` (sched_setaffinity(2)). @throws BindingRefused */
  def bindThreadToCpus(cpus: IdSet): Unit = bindToCpus(0, cpus)

  /** From now on allocates only on `nodes` (MPOL_BIND of set_mempolicy(2)). @throws BindingRefused */
  def bindThreadToNodes(nodes: IdSet): Unit = {
    val mask = bitmap(nodes)
    call(SetMempolicy, s"memory nodes $nodes") {
      libc.syscall(number(SetMempolicy), new NativeLong(MpolBind), mask, maskBits).intValue
    }
  }

  /**
   * Moves what this process has on nodes `from` to nodes `to` (migrate_pages(2)): a policy holds for new pages only. It
   * takes as long as copying takes.
   *
   * @return the number of pages that could not be moved, such as those that other processes share
   * @throws BindingRefused
   */
  def movePages(from: IdSet, to: IdSet): Long =
    call(MigratePages, s"memory nodes $from to $to") {
      val process = new NativeLong(0)
      libc.syscall(number(MigratePages), process, maskBits, bitmap(from), bitmap(to)).longValue
    }

  /**
   * Whether the calling thread's memory comes from `nodes` whatever its policy is: no other node has memory
   * that it may use.
   */
  def hasOnlyNodes(nodes: IdSet): Boolean = {
    val tree = new SysTree(Path.of("/"))
    val cpuset =
      tree.text("proc/thread-self/status").toVector.flatMap(_.linesIterator).collectFirst {
        case line if line.startsWith(MemsAllowed) => line.drop(MemsAllowed.length).trim
      }
    val allowed = cpuset.flatMap(IdSet.parse(_).toOption)
    // A kernel that knows of no nodes has one.
    val withMemory = tree.list("sys/devices/system/node/has_memory").getOrElse(IdSet(0))
    allowed.fold(withMemory)(withMemory & _).subsetOf(nodes)
  }

  /**
   * Binds the calling thread's memory to `nodes`, where that makes a difference ([[hasOnlyNodes]]) or the
   * kernel allows it.
   *
   * @throws BindingRefused
   */
  def confineThreadToNodes(nodes: IdSet): Unit =
    try bindThreadToNodes(nodes)
    catch { case refused: BindingRefused => if (!hasOnlyNodes(nodes)) throw refused }

  /**
   * Binds all threads of this process to `cpus`, and so those that they start. Those that somebody has bound to some of
   * `cpus`, such as communication threads, keep theirs.
   *
   * @throws BindingRefused
   */
  def bindProcessToCpus(cpus: IdSet): Unit = {
    val processMask = cpusOfThread()
    def isBound(tid: Int) = cpusOf(tid).exists(mask => mask != processMask && mask.subsetOf(cpus))
    def bind(done: Set[Int]): Unit = {
      val fresh = threads().filterNot(done)
      fresh.filterNot(isBound).foreach(bindToCpus(_, cpus))
      // A thread that was being made meanwhile has its maker's mask of before.
      if (fresh.nonEmpty) bind(done ++ fresh)
    }
    bind(Set.empty)
  }

  /** Binds any thread, unless it has ended. @throws BindingRefused */
  def bindToCpus(tid: Int, cpus: IdSet): Unit = {
    val errno = scheduling.bind(tid, cpus.toBitSet)
    if (errno != 0 && errno != NoSuchThread) throw refused(SetAffinity, s"CPUs $cpus", errno)
  }

  private def threads(): Vector[Int] =
    ProcFs.existingIds(Path.of("/proc/self/task")).map(_.toInt)

  /** CPUs that the calling thread may run on (sched_getaffinity(2)). */
  def cpusOfThread(): IdSet =
    call("sched_getaffinity", "the calling thread")(cpusOf(0).getOrElse(IdSet.empty))

  /** The same of any thread, without the CPUs that are offline; absent when it has ended. */
  def cpusOf(tid: Int): Option[IdSet] =
    scheduling
      .mask(tid)
      .toScala
      .map(mask => IdSet.from(mask.stream.iterator.asScala.map(_.intValue)))

  /** ESRCH of errno(3). */
  private val NoSuchThread = 3

  /** No `NativeLong`, which would load JNA with this object. */
  private val MpolBind = 2L

  /** 4,096 nodes: the kernel has at most 1,024, and refuses a mask longer than a page (mm/mempolicy.c). */
  private val NodeMaskBytes = 512

  /** The kernel reads one bit fewer than given (set_mempolicy(2), BUGS). */
  private def maskBits = new NativeLong(NodeMaskBytes * 8L + 1)

  private[affinity] val SetMempolicy = "set_mempolicy"
  private val MigratePages = "migrate_pages"
  private val SetAffinity = "sched_setaffinity"
  private val MemsAllowed = "Mems_allowed_list:"

  /** What the kernel means by an error, by errno(3), and what to do. */
  private[affinity] def meaning(call: String, errno: Int): String = (call, errno) match {
    case (SetMempolicy, 1) =>
      "EPERM: a seccomp profile (a container's does without CAP_SYS_NICE: docker run --cap-add SYS_NICE) " +
        "or a security module refuses it"
    case (MigratePages, 1) =>
      "EPERM: a node is outside the cpuset of this process, or a seccomp profile or a security module refuses it"
    case (MigratePages, 22) =>
      "EINVAL: no node to move to has memory and is inside the cpuset of this process (see `hearth topology`)"
    case (_, 1) =>
      "EPERM: the thread is another user's, or a seccomp profile or a security module refuses it"
    case (SetMempolicy, 22) =>
      "EINVAL: nodes must have memory and be inside the cpuset of this process (see `hearth topology`)"
    case (_, 22) =>
      "EINVAL: CPUs must be online and inside the cpuset of this process (see `hearth topology`)"
    case (_, 38) =>
      "ENOSYS: this kernel, or the sandbox in which this process runs, does not have it"
    case (_, 12) => "ENOMEM: the kernel has no memory left for it"
    case _ => s"see $call(2)"
  }

  /** hearth's Java side, which communication threads are bound by too. */
  private lazy val scheduling: Scheduling = {
    NativeCode.check()
    new JnaScheduling
  }

  /** The kernel's layout on little-endian machines. */
  private def bitmap(nodes: IdSet): Array[Byte] =
    nodes.toBitSet.toByteArray.padTo(NodeMaskBytes, 0.toByte)

  private def libc: LibC = {
    NativeCode.check()
    LibC.instance
  }

  /** Of a call that has no wrapper in glibc (kernel: unistd.h, syscall.tbl). */
  private def number(call: String): NativeLong = {
    val (setMempolicy, migratePages) = Platform.ARCH match {
      case "x86-64" => (238L, 256L)
      case "aarch64" | "riscv64" => (237L, 238L)
      case "ppc64le" => (261L, 258L)
      case other =>
        val why =
          s"memory nodes cannot be bound on architecture '$other': its system call numbers are not known"
        throw new BindingRefused(call, 0, why)
    }
    new NativeLong(if (call == SetMempolicy) setMempolicy else migratePages)
  }

  private def call[A](name: String, what: String)(body: => A): A =
    try body
    catch { case e: LastErrorException => throw refused(name, what, e.getErrorCode) }

  private def refused(name: String, what: String, errno: Int): BindingRefused = {
    val refusal = s"the kernel refused $name for $what (errno $errno)"
    new BindingRefused(name, errno, s"$refusal: ${meaning(name, errno)}")
  }
}
