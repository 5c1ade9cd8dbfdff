package io.hearth.lending

import java.time.Instant
import java.util.concurrent.TimeUnit

import io.hearth.core.leases.{
  ActiveLease,
  ActiveLoan,
  Lease,
  Leases,
  Loan,
  OffersAndLoans,
  LiveLoan,
  LoanRegistry,
  Offer
}
import io.hearth.core.plan.FreeMemory
import io.hearth.core.topology.IdSet
import io.hearth.driver.{Activity, BestEffort, Log}

/**
 * Carries out what [[LendingPolicy]] decides: offers CPUs of idle places to other applications and borrows theirs, in the
 * machine's registry. One thread owns it; [[offering]] and [[away]] are for all.
 *
 * @param lease the name of this application's lease
 * @param registry may fail where there is none
 * @param allowed CPUs that executors may have at all
 * @param free memory that nobody has leased
 * @param leaseOf describes a lease of memory alone, in bytes by node
 * @param whole as of [[LendingPolicy]]
 * @param slots is given how many more tasks each executor may run
 * @param nanoTime as of `System.nanoTime`
 */
final class ApplicationLending(
    appId: String,
    lease: String,
    registry: () => LoanRegistry,
    allowed: () => IdSet,
    free: Leases => FreeMemory,
    leaseOf: Map[Int, Long] => Lease,
    whole: Boolean,
    slotsPerTask: Double,
    loans: OpenGrants,
    slots: Map[String, Int] => Unit,
    bestEffort: BestEffort,
    nanoTime: () => Long,
    now: () => Instant,
    log: Log
) {
  import ApplicationLending._

  private lazy val mayHave = allowed()
  private var policy = LendingPolicy(whole)
  private var borrowed = Vector.empty[LoanInUse]
  private var reserved = Vector.empty[Reserved]
  private var lentOut = Map.empty[String, OutgoingGrant]
  private var saidMemory = false
  private var refused = Set.empty[String]
  private var borrowNext = nanoTime()
  private var offerNext = nanoTime()
  private var followNext = nanoTime()
  @volatile private var offers = Vector.empty[OwnOffer]

  /** Whether CPUs are others' to use. */
  def offering: Boolean = offers.exists(_.ended.isEmpty)

  /** CPUs of its own that others may use, or could at any time since then (`System.nanoTime`). */
  def away(since: Long): IdSet = IdSet.union(
    offers.filter(_.ended.forall(_ + ReturnNanos - since >= 0)).map(_.cpus)
  )

  /** @param revive tells the scheduler that there are more slots */
  def tick(doing: Activity, placements: Vector[PlacementState], revive: () => Unit): Unit = {
    val state = LendingState(
      nanoTime(),
      doing.pending,
      doing.barrier,
      slotsPerTask,
      placements,
      borrowed.map(taken => taken.state)
    )
    val (next, step) = policy.next(state)
    policy = next
    val gone = offers.filter(o => o.ended.isEmpty && !step.offer(o.place))
    gone.foreach(withdraw)
    giveBack(borrowed.filter(taken => step.back(taken.id)), placements)
    publish(placements.filter(s => step.offer(s.place) && !offers.exists(_.isOf(s.place))))
    follow(gone.nonEmpty)
    borrow(
      step.copy(demands = step.demands.filterNot(h => refused(h.executorId))),
      placements,
      revive
    )
    release(placements)
  }

  /** One system call: nobody else is asked. */
  private def withdraw(one: OwnOffer): Unit = {
    val end = nanoTime()
    bestEffort.attempt(one.held.close())
    offers = offers
      .filter(_.ended.forall(end - _ < ForgetNanos))
      .map(o => if (o eq one) o.copy(ended = Some(end)) else o)
    val seconds = (end - one.began) / 1e9
    log.info(f"CPUs ${one.cpus} are no longer offered to other applications, after $seconds%.1f s")
  }

  private def publish(placements: Vector[PlacementState]): Unit = if (nanoTime() - offerNext >= 0)
    placements.foreach { placement =>
      val offer =
        Offer(
          "",
          appId,
          lease,
          placement.place,
          placement.cpus,
          placement.nodes,
          now().toEpochMilli
        )
      bestEffort.attempt(registry().offer(offer)) match {
        case None => offerNext = nanoTime() + FailedNanos
        case Some(held) =>
          offers :+= OwnOffer(placement.place, placement.cpus, held, nanoTime(), None)
          log.info(
            s"CPUs ${placement.cpus} are offered to other applications, as place ${placement.place} is idle"
          )
      }
    }

  /** The masks first; tasks that run share the executor's own CPUs from then on. */
  private def giveBack(ending: Vector[LoanInUse], placements: Vector[PlacementState]): Unit = if (
    ending.nonEmpty
  ) {
    borrowed = borrowed.filterNot(taken => ending.exists(_ eq taken))
    announce(placements)
    ending.groupBy(_.open.loan.executorId).foreach { case (executorId, taken) =>
      loans.change(executorId, taken.map(_.open), Vector.empty)
    }
    ending.foreach(taken => bestEffort.attempt(taken.held.close()))
  }

  private def announce(placements: Vector[PlacementState]): Unit = slots((for {
    placement <- placements
    executor <- placement.executor
    cpus = has(executor.id)
    if cpus > 0
  } yield executor.id -> LendingPolicy.slots(cpus, placement.slots, placement.cpus.size)).toMap)

  private def borrow(
      step: LendingStep,
      placements: Vector[PlacementState],
      revive: () => Unit
  ): Unit =
    if (step.cpus > 0 && step.demands.nonEmpty && nanoTime() - borrowNext >= 0) {
      val start = nanoTime()
      val choose = chosen(step, placements) _
      val held = bestEffort
        .attempt {
          val market = registry()
          if (choose(market.read()).isEmpty) Vector.empty[ActiveLoan]
          else // where the registry is busy it is tried again
            market.borrow(WaitMs, reserve(placements))(choose)
        }
        .getOrElse(Vector.empty)
      held.foreach(begin(_, placements))
      borrowNext = nanoTime() + math.max(InternalLending.Patience, Pause * (nanoTime() - start))
      if (held.nonEmpty) {
        announce(placements)
        revive()
      }
    }

  private def chosen(step: LendingStep, placements: Vector[PlacementState])(
      lendings: OffersAndLoans
  ): Vector[Loan] = {
    val offers = open(lendings, IdSet.union(placements.map(_.cpus)))
    val borrowers = LendingPolicy.within(free(lendings.leases), step.demands, placements, has)
    if (offers.nonEmpty && borrowers.isEmpty) lacksMemory(step.demands, placements)
    LendingPolicy
      .allocate(offers, borrowers, step.cpus)
      .map(s => Loan("", appId, s.executorId, lease, s.offer, s.cpus, now().toEpochMilli))
  }

  private def lacksMemory(demands: Vector[Demand], placements: Vector[PlacementState]): Unit =
    if (!saidMemory) {
      saidMemory = true
      val needs = for {
        demand <- demands
        placement <- placements if placement.executor.exists(_.id == demand.executorId)
      } yield s"${placement.slotBytes >> 20} MB of ${placement.nodes.named("memory node")}"
      log.warn(
        "CPUs that other applications offer are not borrowed: a further task may take " +
          s"${needs.distinct.mkString(" or ")} beside the heap, as planned for one, and less is not leased; " +
          "with a smaller heap (--memory, spark.executor.memory) a plan leaves more"
      )
    }

  private def has(executorId: String): Int =
    borrowed.filter(_.open.loan.executorId == executorId).map(_.open.loan.cpus.size).sum

  /** The memory of further tasks is leased as all other is: plans and other borrowers leave it alone. */
  private def reserve(
      placements: Vector[PlacementState]
  )(wanted: Vector[Loan], take: Lease => ActiveLease): Unit = {
    val bytes = for {
      (id, loans) <- wanted.groupBy(_.executorId).toVector
      placement <- placements.find(_.executor.exists(_.id == id)).toVector
      slots = LendingPolicy.slots(_, placement.slots, placement.cpus.size)
      tasks = slots(has(id) + loans.map(_.cpus.size).sum) - slots(has(id))
      node <- placement.nodes.iterator
    } yield node -> placement.slotBytes * tasks / placement.nodes.size
    val byNode = bytes.groupMapReduce(_._1)(_._2)(_ + _).filter(_._2 > 0)
    if (byNode.nonEmpty)
      reserved :+= Reserved(take(leaseOf(byNode)), wanted.map(_.executorId).toSet)
  }

  /** Tasks beyond an executor's slots go on after a loan, and so does their memory. */
  private def release(placements: Vector[PlacementState]): Unit = {
    def further(id: String) = has(id) > 0 || placements.exists(placement =>
      placement.executor.exists(e => e.id == id && e.running * slotsPerTask > placement.slots)
    )
    val (needed, done) = reserved.partition(_.executors.exists(further))
    done.foreach(one => bestEffort.attempt(one.lease.close()))
    reserved = needed
  }

  private def open(lendings: OffersAndLoans, places: IdSet): Vector[FreeOffer] = lendings.offers
    .filter(_.offer.lease != lease)
    .map(o => FreeOffer(o.file, (lendings.free(o) & mayHave) &~ places, o.offer.memoryNodes))
    .filter(_.cpus.nonEmpty)

  /** One that the kernel lets have no other CPUs is not tried again. */
  private def begin(held: ActiveLoan, placements: Vector[PlacementState]): Unit = {
    val id = held.loan.executorId
    val lender = OtherApplication(held.offer.offer.appId, held.offer.user)
    val places = Vector(held.offer.offer.place)
    val place = placements.find(_.executor.exists(_.id == id)).fold(0)(_.place)
    val loan = Grant(id, place, held.loan.cpus, places, now(), None, Some(lender))
    loans.change(id, Vector.empty, Vector(loan)) match {
      case Right(Vector(open)) => borrowed :+= LoanInUse(held, open)
      case other =>
        if (other.isLeft) refused += id
        bestEffort.attempt(held.close())
    }
  }

  /** Who has what of this application's. @param at once, as what was offered is to come back */
  private def follow(at: Boolean): Unit = if (
    (offering || lentOut.nonEmpty) && (at || nanoTime() - followNext >= 0)
  ) {
    val start = nanoTime()
    bestEffort.attempt(registry().read()).foreach { lendings =>
      val mine = offers.map(o => o.held.name -> o).toMap
      val open = lendings.loans.filter(l => mine.contains(l.loan.offer))
      for ((file, row) <- lentOut if !open.exists(_.file == file)) {
        lentOut -= file
        loans.lentOut(row.copy(until = Some(now())))
        val ms = now().toEpochMilli - row.since.toEpochMilli
        log.info(f"CPUs ${row.cpus} are back from ${row.to.who} after ${ms / 1e3}%.1f s")
      }
      open.filterNot(l => lentOut.contains(l.file)).foreach(l => lend(l, mine(l.loan.offer)))
    }
    followNext = nanoTime() + math.max(FollowNanos, Pause * (nanoTime() - start))
  }

  /** Anybody can write that they have borrowed anything: a CPU is lent once. */
  private def lend(to: LiveLoan, offer: OwnOffer): Unit = {
    val cpus = (to.loan.cpus & offer.cpus) &~ IdSet.union(lentOut.values.map(_.cpus))
    if (cpus.nonEmpty) {
      val who = OtherApplication(to.loan.appId, to.user)
      val row = OutgoingGrant(to.file, offer.place, cpus, who, to.loan.executorId, now(), None)
      lentOut += to.file -> row
      loans.lentOut(row)
      log.info(s"CPUs $cpus of place ${offer.place} are lent to ${who.who}")
    }
  }

  /** As the kernel does when this process is killed. */
  private[lending] def abandon(): Unit = {
    offers.filter(_.ended.isEmpty).foreach(_.held.abandon())
    borrowed.foreach(_.held.abandon())
    reserved.foreach(_.lease.abandon())
  }
}

private object ApplicationLending {

  /** To look at the registry takes at most this part of one CPU. */
  val Pause = 20L

  /** How long another process may keep the registry locked; then it is tried again. */
  val WaitMs = 50L
  val FollowNanos: Long = TimeUnit.MILLISECONDS.toNanos(500)
  val FailedNanos: Long = TimeUnit.SECONDS.toNanos(10)

  /** In which a borrower surely sees that an offer is withdrawn. */
  val ReturnNanos: Long = TimeUnit.SECONDS.toNanos(1)

  /** Longer than two looks at other processes are apart. */
  val ForgetNanos: Long = TimeUnit.MINUTES.toNanos(5)

  /** An offer of this application's. */
  final case class OwnOffer(
      place: Int,
      cpus: IdSet,
      held: ActiveLease,
      began: Long,
      ended: Option[Long]
  ) {
    def isOf(other: Int): Boolean = place == other && ended.isEmpty
  }

  /** Memory for tasks of executors on borrowed CPUs. */
  final case class Reserved(lease: ActiveLease, executors: Set[String])

  /** What this application has borrowed. */
  final case class LoanInUse(held: ActiveLoan, open: OpenGrant) {
    def id: String = held.name
    def state: LoanStatus =
      LoanStatus(id, open.loan.executorId, open.loan.cpus.size, held.stands)
  }
}
