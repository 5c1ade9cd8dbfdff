package io.hearth.driver

import io.hearth.core.topology.IdSet

/**
 * What Spark's scheduler does at a moment.
 *
 * @param pending whether there are tasks that no executor runs yet
 * @param running how many tasks each executor that it knows runs
 */
final case class Activity(pending: Boolean, running: Map[String, Int])

/** Opens CPUs of executors that have nothing to do to others of the application. */
trait Lending {

  /** @param scheduler what Spark's scheduler does now */
  def start(scheduler: () => Activity): Unit

  /** Tasks may have come: what is lent is looked at now. Called by any thread. */
  def wake(): Unit

  /** CPUs beyond its own that an executor may use, or could at any time since then (`System.nanoTime`). */
  def lentTo(executorId: String, since: Long): IdSet

  /** Takes everything back. */
  def close(): Unit
}

/** Each executor keeps to its own CPUs. */
object NoLending extends Lending {
  override def start(scheduler: () => Activity): Unit = ()
  override def wake(): Unit = ()
  override def lentTo(executorId: String, since: Long): IdSet = IdSet.empty
  override def close(): Unit = ()
}
