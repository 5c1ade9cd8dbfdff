package io.hearth.driver

import io.hearth.core.topology.IdSet

/**
 * What Spark's scheduler does at a moment.
 *
 * @param pending how many tasks no executor runs yet; more than some thousands are not counted
 * @param barrier whether a stage runs or waits whose tasks must all run at once
 * @param running how many tasks each executor that it knows runs
 */
final case class Activity(pending: Int, barrier: Boolean, running: Map[String, Int])

/** Opens CPUs of executors that have nothing to do to others, of this application or of another. */
trait Lending {

  /**
   * @param scheduler what Spark's scheduler does now
   * @param more tells it that there are more slots
   */
  def start(scheduler: () => Activity, more: () => Unit): Unit

  /** Tasks may have come: what is lent is looked at now. Called by any thread. */
  def wake(): Unit

  /** CPUs beyond its own that an executor may use, or could at any time since then (`System.nanoTime`). */
  def lentTo(executorId: String, since: Long): IdSet

  /** CPUs of its own that other applications may use, or could at any time since then. */
  def away(since: Long): IdSet

  /** Takes everything back. */
  def close(): Unit
}

/** Each executor keeps to its own CPUs. */
object NoLending extends Lending {
  override def start(scheduler: () => Activity, more: () => Unit): Unit = ()
  override def wake(): Unit = ()
  override def lentTo(executorId: String, since: Long): IdSet = IdSet.empty
  override def away(since: Long): IdSet = IdSet.empty
  override def close(): Unit = ()
}
