package io.hearth.lending

import java.io.IOException

import io.hearth.core.IoReason
import io.hearth.core.affinity.ThreadMasks
import io.hearth.core.launch.JvmStarter
import io.hearth.core.topology.IdSet
import io.hearth.driver.RunningExecutor

/** The CPUs that the threads of executors and of the processes which they start may use. */
trait ThreadMaskWriter {

  /** The mask of each thread, by its id. */
  def masks(executor: RunningExecutor): Map[Int, IdSet]

  /** How long each one's threads have waited for a CPU so far, in ns; none where that is not counted. */
  def waited(executors: Vector[RunningExecutor]): Map[String, Long]

  /** @return why it could not be done in full; absent where it is done */
  def change(executor: RunningExecutor, masks: MaskChange): Option[String]

  /** The same for threads that have appeared since. */
  def settle(executor: RunningExecutor, masks: MaskChange): Unit
}

/** @param jvms what else holds an executor to its CPUs */
final class LiveThreadMasks(jvms: JvmStarter) extends ThreadMaskWriter {
  override def masks(executor: RunningExecutor): Map[Int, IdSet] =
    ThreadMasks.of(executor.process.pid)

  override def waited(executors: Vector[RunningExecutor]): Map[String, Long] = {
    val sums = ThreadMasks.waited(executors.map(_.process.pid))
    executors.flatMap(m => sums.get(m.process.pid).map(m.id -> _)).toMap
  }

  // By the process of an executor, those that it had since its last change; of the lending's thread.
  private var families = Map.empty[Long, Set[Long]]

  override def settle(executor: RunningExecutor, masks: MaskChange): Unit = {
    val pid = executor.process.pid
    val known = families.getOrElse(pid, ThreadMasks.family(pid))
    families += pid -> ThreadMasks.settle(pid, known)(masks(_, _))
  }

  /** A cpuset is opened before the masks and closed behind them: they could not leave it. */
  override def change(executor: RunningExecutor, masks: MaskChange): Option[String] =
    try {
      families -= executor.process.pid
      val earlier = this.masks(executor)
      val both = masks.before | masks.after
      if (both != masks.before) jvms.allow(executor.id, both)
      val refused = ThreadMasks.change(executor.process.pid)(masks.copy(earlier = earlier)(_, _))
      if (both != masks.after) {
        val narrowed = this.masks(executor)
        jvms.allow(executor.id, masks.after)
        ThreadMasks.change(executor.process.pid)(masks.copy(earlier = narrowed)(_, _))
      }
      refused.headOption.map { case (tid, why) =>
        s"${if (refused.size == 1) "a thread" else s"${refused.size} threads"} could not be moved, such as $tid: $why"
      }
    } catch {
      case e: IOException => Some(IoReason(e))
      case e: Throwable => Some(e.toString) // whatever it is: what was begun is taken back
    }
}

/**
 * Which mask a thread of an executor is to have when the CPUs that it may use change. What the application
 * has bound itself inside its place, or outside before, stays as it is.
 *
 * @param own CPUs of the executor's place
 * @param before all that it could use
 * @param after all that it may use from now on
 * @param strays masks of threads that the application had bound elsewhere before any loan
 * @param earlier masks before a container's cpuset was changed, which may have changed them
 */
final case class MaskChange(
    own: IdSet,
    before: IdSet,
    after: IdSet,
    strays: Map[Int, IdSet],
    earlier: Map[Int, IdSet] = Map.empty
) {
  def apply(tid: Int, now: IdSet): IdSet = {
    val mask = earlier.getOrElse(tid, now)
    if (strays.get(tid).contains(mask)) mask
    else if (mask == own || mask == before) after
    else if (mask.subsetOf(after) || !mask.subsetOf(before)) mask
    else if (mask.intersects(after)) mask & after
    else own
  }
}
