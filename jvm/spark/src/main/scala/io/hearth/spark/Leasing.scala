package io.hearth.spark

import java.util.concurrent.TimeUnit

import scala.annotation.tailrec

import io.hearth.core.UserError
import io.hearth.core.leases.{HeldLease, Lease, LeaseRegistry, LeaseState, Leases}
import io.hearth.core.plan.{Fitted, Plan, PlanLease}

/**
 * A plan with the lease of what it takes.
 *
 * @param lease absent where it could not be kept
 * @param unbound whether its executors are not to be bound: its CPUs belong to others
 */
final case class Leased(plan: Plan, lease: Option[HeldLease], unbound: Boolean) {
  def release(bestEffort: BestEffort): Unit =
    lease.foreach(held => bestEffort.attempt(held.close()))
}

/**
 * Plans around the leases of a machine and takes one, in one step: of two that start at once, the second
 * sees the first one's. Where leases cannot be kept the application goes on without, with one warning.
 *
 * @param registry may fail where there is none
 * @param describe the lease of an application that takes nothing yet
 * @param clock nanoseconds
 */
final class Leasing(
    registry: () => LeaseRegistry,
    whenFull: WhenFull,
    describe: Lease,
    bestEffort: BestEffort,
    log: Log,
    clock: () => Long = () => System.nanoTime,
    sleep: Long => Unit = Thread.sleep(_)
) {

  /** A turn among those that wait. */
  private case class Turn(number: Long, ticket: Option[HeldLease])

  /** @throws UserError where nothing is free and that is refused */
  def take(fit: Leases => Fitted): Leased = attempt(fit, None) match {
    case Right(leased) => leased
    case Left(turn) =>
      try wait(fit, turn, None)
      finally turn.ticket.foreach(held => bestEffort.attempt(held.close()))
  }

  @tailrec
  private def wait(fit: Leases => Fitted, turn: Turn, saidAt: Option[Long]): Leased = {
    sleep(Leasing.PollMs)
    attempt(fit, Some(turn)) match {
      case Right(leased) => leased
      case Left(_) =>
        val now = clock()
        val due = saidAt.forall(now - _ > Leasing.SayAgain)
        if (due) said.foreach(sentence => log.warn(sentence))
        wait(fit, turn, if (due) Some(now) else saidAt)
    }
  }

  private var said = Option.empty[String]

  private def attempt(fit: Leases => Fitted, turn: Option[Turn]): Either[Turn, Leased] =
    bestEffort
      .attempt(registry().exclusively(log.warn)(decide(_, fit, turn)))
      .getOrElse {
        val fitted = fit(Leases.none)
        Right(Leased(fitted.plan, None, fitted.unbound))
      }

  private def decide(
      registry: LeaseRegistry#Exclusive,
      fit: Leases => Fitted,
      turn: Option[Turn]
  ): Either[Turn, Leased] = {
    val fitted = fit(registry.leases.before(turn.map(_.number)))
    if (whenFull == WhenFull.Refuse) fitted.refusal.foreach(why => throw new UserError(why))
    if (whenFull == WhenFull.Wait && fitted.full.nonEmpty) {
      said = fitted.full.map(why => s"Waiting for a lease: $why (spark.hearth.lease.whenFull=wait)")
      Left(turn.getOrElse(queued(registry)))
    } else Right(Leased(fitted.plan, published(registry, fitted), fitted.unbound))
  }

  private def queued(registry: LeaseRegistry#Exclusive): Turn = {
    val number = registry.nextTicket
    val ticket = describe.copy(state = LeaseState.Waits, ticket = Some(number))
    Turn(number, bestEffort.attempt(registry.take(ticket)))
  }

  private def published(registry: LeaseRegistry#Exclusive, fitted: Fitted): Option[HeldLease] = {
    val lease = describe.copy(
      state = if (fitted.full.isEmpty) LeaseState.Holds else LeaseState.Shares,
      cpus = if (fitted.full.isEmpty) PlanLease.cpus(fitted.plan) else describe.cpus,
      memoryBytes = PlanLease.memoryBytes(fitted.plan)
    )
    bestEffort.attempt(registry.take(lease))
  }
}

object Leasing {
  private val PollMs = 500L
  private val SayAgain = TimeUnit.MINUTES.toNanos(1)
}
