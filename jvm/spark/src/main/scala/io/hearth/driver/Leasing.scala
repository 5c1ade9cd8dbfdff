package io.hearth.driver

import java.util.concurrent.TimeUnit

import scala.annotation.tailrec

import io.hearth.core.UserError
import io.hearth.core.affinity.NativeCode
import io.hearth.core.leases.{ActiveLease, Lease, LeaseRegistry, LeaseState, Leases}
import io.hearth.core.plan.{Fitting, Fitted, HearthKeys, Plan, PlanLease, WhenFull}

/**
 * A plan with the lease of what it takes.
 *
 * @param lease absent where it could not be kept
 * @param unbound whether its executors are not to be bound: its CPUs belong to others
 */
final case class Leased(plan: Plan, lease: Option[ActiveLease], unbound: Boolean) {
  def release(bestEffort: BestEffort): Unit =
    lease.foreach(held => bestEffort.attempt(held.close()))
}

/**
 * Plans around the leases of a machine and takes one, in one step: of two that start at once, the second sees the
 * first one's. Where leases cannot be read or taken, who asked to be refused or to wait is, or does; who shares goes
 * on without a lease, with one warning. For one application.
 *
 * @param registry may fail where there is none
 * @param application its lease, which takes nothing yet
 * @param clock nanoseconds
 */
final class Leasing(
    registry: () => LeaseRegistry,
    whenFull: WhenFull,
    application: Lease,
    bestEffort: BestEffort,
    log: Log,
    clock: () => Long = () => System.nanoTime,
    sleep: Long => Unit = Thread.sleep(_)
) {
  import Leasing._

  /** A turn among those that wait: it stays in the queue until its file is closed. */
  private case class Turn(number: Long, ticket: ActiveLease)
  private var turn = Option.empty[Turn]

  /** Throws UserError where nothing is free, or leases fail, and that is refused */
  def take(fitting: Fitting): Leased =
    try wait(fitting, None, None)
    finally turn.foreach(waiting => bestEffort.attempt(waiting.ticket.close()))

  /**
   * @param said what was said last, and when
   * @param failingSince when leases began to fail, where they do
   */
  @tailrec
  private def wait(
      fitting: Fitting,
      said: Option[(String, Long)],
      failingSince: Option[Long]
  ): Leased = attempt(fitting) match {
    case Right(leased) => leased
    case Left(hindered) =>
      val now = clock()
      val since = Option.when(hindered.failing)(failingSince.getOrElse(now))
      since.filter(now - _ > MaxFailingNanos).foreach(_ => throw givenUp(hindered.why))
      val due = said.forall { case (why, at) => why != hindered.why || now - at > SayAgain }
      if (due) log.warn(s"Waiting for a lease: ${hindered.why} (${HearthKeys.WhenFull.name}=wait)")
      sleep(PollMs)
      wait(fitting, if (due) Some(hindered.why -> now) else said, since)
  }

  private def givenUp(why: String) = new UserError(
    s"${HearthKeys.WhenFull.name}: 'wait', and for 10 min $why; correct that, or set it to 'share'"
  )

  private def attempt(fitting: Fitting): Either[Hindered, Leased] =
    BestEffort.tried(registry().exclusively(log.warn)(lease(_, fitting))) match {
      case Right(decided) => decided
      case Left(why) if whenFull == WhenFull.Wait =>
        Left(Hindered(Leases.failing(why).unknown.mkString, failing = true))
      case Left(why) => Right(withoutLeases(fitting, why))
    }

  /** Reads the leases, plans beside them, and publishes what is taken, or that it waits. */
  private def lease(
      registry: LeaseRegistry#Exclusive,
      fitting: Fitting
  ): Either[Hindered, Leased] = {
    val fitted = accepted(fitting.beside(registry.leases.before(turn.map(_.number))))
    val mine = PlanLease.of(fitted, application)
    (whenFull, fitted.full) match {
      case (WhenFull.Wait, Some(why)) =>
        if (turn.isEmpty) {
          val number = registry.nextTicket
          val waits = application.copy(state = LeaseState.Waits, ticket = Some(number))
          turn = Some(Turn(number, registry.take(waits)))
        }
        Left(Hindered(why, failing = false))
      case (WhenFull.Share, _) =>
        val taken = bestEffort.attempt(registry.take(mine))
        Right(Leased(fitted.plan, taken, fitted.unbound))
      case _ => Right(Leased(fitted.plan, Some(registry.take(mine)), fitted.unbound))
    }
  }

  private def accepted(fitted: Fitted): Fitted = {
    if (whenFull == WhenFull.Refuse) fitted.refusal.foreach(why => throw new UserError(why))
    fitted
  }

  /** Executors that nothing can bind say so themselves: hearth's native code is what binds, too. */
  private def withoutLeases(fitting: Fitting, why: String): Leased = {
    val leases =
      if (whenFull == WhenFull.Refuse || NativeCode.problem.isEmpty) Leases.failing(why)
      else Leases.none
    val fitted = accepted(fitting.beside(leases))
    bestEffort.failed(why)
    Leased(fitted.plan, None, fitted.unbound)
  }
}

object Leasing {

  /** The beginning of the warning about an application that goes on without a lease. */
  val NotSeen =
    "Other applications cannot see what this one takes of the machine, because it has no lease"
  private val PollMs = 500L
  private val SayAgain = TimeUnit.MINUTES.toNanos(1)
  private val MaxFailingNanos = TimeUnit.MINUTES.toNanos(10)

  /**
   * Why an application has to wait.
   *
   * @param failing whether leases cannot be read or taken
   */
  final private case class Hindered(why: String, failing: Boolean)
}
