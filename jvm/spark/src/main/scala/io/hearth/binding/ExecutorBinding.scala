package io.hearth.binding

import java.io.IOException

import scala.util.Try

import io.hearth.core.IoReason
import io.hearth.core.affinity.BindingRefused
import io.hearth.core.launch.Binding
import io.hearth.core.leases.{ActiveLease, Lease, LeaseRegistry}
import io.hearth.core.placement.{PlacementCheck, ProcessPlacement}
import io.hearth.core.plan.ExecutorPlan
import io.hearth.core.topology.IdSet

/** What has become of an executor; `name` stands in the document. */
sealed abstract class BindingState(val name: String)

object BindingState {

  /** To a partition that it holds by a lease. */
  case object Bound extends BindingState("bound")

  /** By its cluster manager: it was left as it is. */
  case object Narrowed extends BindingState("narrowed")
  case object Unbound extends BindingState("unbound")

  /** Nothing was to be bound. */
  case object Observed extends BindingState("observed")
}

/**
 * How the binding of an executor went, and what the kernel says of it then.
 *
 * @param because one sentence, where it is neither bound nor left as it is
 * @param lost what could not be had of a binding: its memory
 * @param place where it should be; all that it may use, where it is not bound
 * @param lease to be closed when the executor ends
 */
final case class Outcome(
    state: BindingState,
    because: Option[String],
    lost: Vector[String],
    place: Binding,
    advice: Vector[String],
    kernel: Either[String, ProcessPlacement],
    lease: Option[ActiveLease]
) {

  /**
   * How it differs from its place. Threads that were there before keep their policy of memory, which `numa_maps`
   * shows, so where the memory is counts, and not by which policy.
   */
  def drift: Vector[String] =
    if (state != BindingState.Bound && state != BindingState.Narrowed) Vector.empty
    else
      kernel.fold(
        why => Vector(s"cannot be read: $why"),
        PlacementCheck.drift(place, _).filter(_.kind != "policy").map(_.sentence)
      )

  /** What `spark.hearth.binding=required` does not accept. */
  def refusal: Option[String] = because.filter(_ => state == BindingState.Unbound).orElse {
    Option.when(lost.nonEmpty)(lost.mkString("; "))
  }

  def sentence: String = state match {
    case BindingState.Bound =>
      val memory =
        if (lost.isEmpty) s"memory of ${place.memoryNodes.named("node")}" else "no memory"
      s"bound to CPUs ${place.cpus}, $memory"
    case BindingState.Narrowed => s"left as it is: it has been narrowed to CPUs ${place.cpus}"
    case _ => s"not bound: ${because.getOrElse("")}"
  }

  /** All that somebody should act on. */
  def warnings: Vector[String] =
    lost ++ drift.map(what => s"it $what") ++ advice
}

/**
 * Binds an executor from inside, or leaves it as it is: looks, claims a partition, binds, reads back.
 *
 * @param observeOnly why nothing is to be bound
 * @param registry may fail where there is none
 * @param sharedLeases whether all executors of this machine see that registry
 * @param mine the lease of this executor, which takes nothing yet
 */
final class ExecutorBinding(
    observeOnly: Option[String],
    view: ExecutorView,
    process: OwnProcess,
    registry: () => LeaseRegistry,
    sharedLeases: Boolean,
    mine: Lease,
    say: String => Unit
) {
  import ExecutorBinding._

  def run(): Outcome =
    if (observeOnly.nonEmpty) loose(BindingState.Observed, observeOnly.mkString)
    else if (Partition.isNarrowed(view)) outcome(BindingState.Narrowed, whole)
    else if (process.problem.nonEmpty) loose(BindingState.Unbound, process.problem.mkString)
    else if (!sharedLeases) loose(BindingState.Unbound, NoSharedLeases)
    else claim().fold(loose(BindingState.Unbound, _), { case (place, lease) => bind(place, lease) })

  private def claim(): Either[String, (ExecutorPlan, ActiveLease)] =
    try
      registry().exclusively(say) { leased =>
        Partition.find(view, leased.leases).map { place =>
          place -> leased.take(mine.copy(cpus = place.cpus, memoryBytes = bytes(place)))
        }
      }
    catch { case e: IOException => Left(s"no lease can be kept: ${IoReason(e)}") }

  private def bytes(place: ExecutorPlan): Map[Int, Long] = {
    val all = place.memoryMb << 20
    place.memoryNodes.iterator.map(_ -> all / place.memoryNodes.size).toMap
  }

  private def bind(place: ExecutorPlan, lease: ActiveLease): Outcome =
    try {
      process.bindCpus(place.cpus)
      val lost = bindMemory(place.memoryNodes)
      val held = if (lost.isEmpty) place.memoryNodes else IdSet.empty
      outcome(BindingState.Bound, Binding(place.cpus, held), lost = lost, lease = Some(lease))
    } catch {
      case e: Throwable =>
        // Some threads may be bound: none is better.
        val _ = Try(process.bindCpus(view.cpus))
        lease.close()
        e match {
          case refused: BindingRefused => loose(BindingState.Unbound, refused.getMessage)
          case other => throw other
        }
    }

  /** @return what was refused */
  private def bindMemory(nodes: IdSet): Vector[String] = {
    val others = view.topology.allowed.nodes &~ nodes
    try {
      process.bindMemory(nodes)
      if (others.nonEmpty) {
        val _ = process.moveMemory(others, nodes)
      }
      Vector.empty
    } catch { case e: BindingRefused => Vector(s"its memory is not bound: ${e.getMessage}") }
  }

  private def whole = Binding(view.cpus, view.nodesOf(view.cpus))

  private def loose(state: BindingState, because: String): Outcome =
    outcome(state, whole, because = Some(because))

  private def outcome(
      state: BindingState,
      place: Binding,
      because: Option[String] = None,
      lost: Vector[String] = Vector.empty,
      lease: Option[ActiveLease] = None
  ): Outcome =
    Outcome(state, because, lost, place, Advice.of(view, place.cpus), process.placement(), lease)
}

object ExecutorBinding {

  private val NoSharedLeases =
    "it runs in a container, where it cannot see the leases of others: mount one directory of the host, " +
      s"open to all and sticky, into all containers, and name it in spark.executorEnv.${LeaseRegistry.Variable}"
}
