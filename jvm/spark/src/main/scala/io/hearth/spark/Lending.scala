package io.hearth.spark

import java.util.ServiceLoader

import scala.jdk.OptionConverters._

import com.fasterxml.jackson.databind.JsonNode

import io.hearth.core.leases.{Lease, LeaseRegistry, Leases}
import io.hearth.core.plan.{ExecutorPlan, FreeMemory, HandOverMode, HearthKeys}
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

/**
 * An application whose CPUs may be lent.
 *
 * @param running executors of the pool, one in each place at most
 * @param jvms what else holds an executor to its CPUs
 * @param lease the name of the application's lease; absent where it has none
 * @param registry of the machine; may fail where there is none
 * @param allowed CPUs that executors may have at all
 * @param free memory that nobody has leased
 * @param leaseOf describes a lease of the application's, of memory alone, in bytes by node
 * @param keep is given the record of all loans, anew after each change
 * @param slots is given how many more tasks each executor may run
 */
final case class LendingContext(
    appId: String,
    places: Vector[ExecutorPlan],
    running: () => Vector[RunningExecutor],
    jvms: JvmStarter,
    mode: HandOverMode,
    lease: Option[String],
    registry: () => LeaseRegistry,
    allowed: () => IdSet,
    free: Leases => FreeMemory,
    leaseOf: Map[Int, Long] => Lease,
    slotsPerTask: Double,
    keep: JsonNode => Unit,
    slots: Map[String, Int] => Unit,
    log: Log
)

/** Makes the lending of an application: a service (`java.util.ServiceLoader`) of the module `lending`. */
trait LendingProvider {
  def open(application: LendingContext): Lending
}

object LendingProvider {

  /** By the provider in this jar, where lending is wanted. */
  def open(application: LendingContext): Lending =
    if (application.mode == HandOverMode.Off) NoLending
    else
      find.fold[Lending] {
        application.log.warn(
          s"${HearthKeys.HandOver.name}=${application.mode.name}: each executor keeps to its own CPUs, because the " +
            "module hearth-lending is not on the class path"
        )
        NoLending
      }(_.open(application))

  private def find: Option[LendingProvider] = ServiceLoader
    .load(classOf[LendingProvider], classOf[LendingProvider].getClassLoader)
    .findFirst
    .toScala
}
