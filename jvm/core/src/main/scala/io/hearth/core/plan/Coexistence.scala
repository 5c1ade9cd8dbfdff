package io.hearth.core.plan

import io.hearth.core.UserError
import io.hearth.core.leases.Leases
import io.hearth.core.topology.{IdSet, Neighbours, NumaNode, Scratch, Topology}

/**
 * What a plan is for. The leases that it is made beside are read where they are locked.
 *
 * @param topology of the machine, read where it is needed
 * @param running bound executors of others, looked at each time that it is planned
 * @param storage the file system in memory that shuffle files may use
 * @param occupied CPUs that the user wants left alone in any case
 * @param earlier a plan that was made before: it holds while what it takes is free
 * @param whose said before what does not fit, such as `master 'local-numa': `
 */
final class Fitting(
    topology: => Topology,
    val workload: Workload,
    val limits: Limits,
    running: => Neighbours,
    storage: => Option[Scratch],
    val occupied: IdSet = IdSet.empty,
    earlier: Option[Plan] = None,
    whose: String = ""
) {
  private[plan] lazy val machine = topology
  private[plan] lazy val scratch = storage
  private[plan] def neighbours = running

  /** @throws UserError where nothing fits the machine */
  def beside(leases: Leases): Fitted = earlier.filter(stillFree(_, leases)) match {
    case Some(plan) => Fitted(plan, None, unbound = false)
    case None =>
      Coexistence
        .fit(this, leases)
        .fold(unfit => throw new UserError(whose + unfit.message), identity)
  }

  private def stillFree(plan: Plan, leases: Leases): Boolean =
    !plan.reasons.exists(r => Coexistence.Full(r.decision)) &&
      (leases.isEmpty || PlanLease.isFree(plan, machine, leases))
}

/**
 * A plan beside others.
 *
 * @param full why it has no CPUs of its own, such as who holds what it would have needed
 * @param unbound whether its executors are not to be bound: its CPUs belong to others
 */
final case class Fitted(plan: Plan, full: Option[String], unbound: Boolean) {

  /** What `spark.hearth.lease.whenFull=refuse` says. */
  def refusal: Option[String] = full.map(why =>
    s"${HearthKeys.WhenFull.name}: 'refuse', and nothing that fits is known to be free: $why; set it to 'wait' or " +
      "'share', or ask for less (hearth status --leases shows who holds what)"
  )
}

/** Plans around what others hold, or on the same CPUs where nothing else fits. */
object Coexistence {

  /** The names of a plan's reasons about them. */
  val Decision = "neighbours"
  val Leased = "leases"
  val Sharing = "sharing"
  val Waiting = "waiting"
  val Decisions: Set[String] = Set(Decision, Leased, Sharing, Waiting)

  /** Those of a plan that has no CPUs of its own. */
  val Full: Set[String] = Set(Sharing, Waiting)

  /** Decisions whose reasons hold for bound executors alone. */
  private val OfBound = Set(Reasons.HandOver, "placement", "-XX:UseNUMA")

  private val Source = "kernel: /proc/PID/status"
  private val LeaseSource = "hearth: leases"

  /** As `Planner.plan`; a reason says what others change. */
  def fit(fitting: Fitting, leases: Leases): Either[Unfit, Fitted] = {
    val neighbours = fitting.neighbours
    val held = HeldMemory.of(fitting.machine, neighbours, leases)
    def planned(machine: Topology)(taken: Occupied) = {
      def whole(of: Occupied) =
        Planner.plan(machine, fitting.workload, fitting.limits, of, fitting.scratch)
      if (held.isEmpty) whole(taken)
      else
        whole(taken.copy(heldBytes = held)).map(adding(heldReason(held))).orElse(whole(taken))
    }
    def of(machine: Topology) =
      new Coexistence(fitting, machine, neighbours, leases, planned).fit
    of(fitting.machine).map { whole =>
      val available = neighbours.availableMb.filter(_ < whole.plan.memoryMb)
      val smaller = available.flatMap(mb => of(leaving(fitting.machine, mb)).toOption)
      val fitted = smaller.getOrElse(whole)
      val notes = neighbours.hidden.map(unseen) ++ leases.problems.map(unread) ++
        available.map(heldNow(fitted.plan, _))
      fitted.copy(plan = notes.foldLeft(fitted.plan)((done, note) => adding(note)(done)))
    }
  }

  /** The machine with no more memory than other processes leave now. */
  private def leaving(machine: Topology, availableMb: Long): Topology = {
    val limit = (machine.allowed.memoryLimitBytes ++ Some(availableMb << 20)).min
    machine.copy(allowed = machine.allowed.copy(memoryLimitBytes = Some(limit)))
  }

  private def heldReason(held: Map[Int, Long]) = Reason(
    Decision,
    s"${held.toVector.sorted.map { case (n, b) => s"${Sizes.show(b >> 20)} of node $n" }.mkString(", ")} left alone",
    "processes without a lease hold it, more than a plan leaves for others, and the kernel kills executors whose " +
      "node runs out of memory; a heap that you set (--memory) is kept",
    "kernel: node meminfo; hearth"
  )

  private def heldNow(plan: Plan, availableMb: Long) = Reason(
    Decision,
    s"${Sizes.show(availableMb)} of memory available",
    if (plan.memoryMb <= availableMb)
      s"other processes hold the rest now, so the plan takes at most ${Sizes.show(plan.memoryMb)}; stop " +
        "some of them for a larger plan"
    else
      s"other processes hold the rest now, and the plan may take ${Sizes.show(plan.memoryMb)}: stop some " +
        "of them, or give a smaller --memory",
    "kernel: /proc/meminfo"
  )

  private def adding(reason: Reason)(plan: Plan): Plan =
    plan.copy(reasons = plan.reasons :+ reason)

  private def unseen(why: String) = Reason(Decision, "unknown", why, "kernel: proc(5)")

  /** A plan with what could not be kept or counted. */
  def uncounted(plan: Plan, why: String): Plan = adding(unread(why))(plan)

  private def unread(why: String) = Reason(Leased, "not counted", why, LeaseSource)
}

/** @param machine with the memory that is available */
final private class Coexistence(
    fitting: Fitting,
    machine: Topology,
    neighbours: Neighbours,
    leases: Leases,
    planned: Topology => Occupied => Either[Unfit, Plan]
) {
  import Coexistence._

  /** CPUs that the plan may use. */
  private val ours = (machine.allowed.cpus & machine.cpus) &~ fitting.occupied

  /** Whether the application starts when enough is free, and not before. */
  private val waits = fitting.limits.conf.get(HearthKeys.WhenFull.name).contains("wait")
  private val leased = leases.cpus & ours

  /** Of what leases say, what the machine has. */
  private val leasedBytes = for {
    (id, bytes) <- leases.memoryBytes
    node <- machine.node(id)
  } yield id -> math.min(bytes, node.memoryBytes)

  /** Executors that no lease speaks for. */
  private val near = neighbours.copy(executors =
    neighbours.executors.filter(e => e.cpus.intersects(ours) && !(e.cpus & ours).subsetOf(leased))
  )
  private val theirs = near.cpus & ours

  private val nothing = Occupied(fitting.occupied)
  private val memory =
    nothing.copy(leasedBytes = leasedBytes, ownBytes = leases.ownMemoryBytes)

  /** Without the CPUs of others there may still be room beside their memory. */
  private def shared: Either[Unfit, Plan] =
    if (leasedBytes.isEmpty) planned(machine)(nothing)
    else planned(machine)(memory).left.flatMap(_ => least)

  /**
   * Where plans have been promised all that plans may take: from what they leave to the system on,
   * the least that is enough, so that the more there are, the smaller is the next.
   */
  private def least: Either[Unfit, Plan] = {
    val wholeMb = machine.nodes.iterator.map(_.memoryBytes).sum >> 20
    val leftMb = wholeMb - (leasedBytes.iterator.map(_._2).sum >> 20)
    Iterator
      .iterate(math.max(leftMb, Memory.SoftHeapMb))(_ * 2)
      .takeWhile(_ < wholeMb)
      .map(mb => planned(leaving(machine, mb))(nothing))
      .collectFirst { case Right(plan) => plan }
      .toRight(())
      .left
      .flatMap(_ => planned(machine)(nothing))
  }

  def fit: Either[Unfit, Fitted] =
    if (barred.nonEmpty)
      shared.map(unbound(_, ours, barred.mkString("; "), barred.mkString("; ")))
    else if (theirs.isEmpty && leasedBytes.isEmpty && leased.isEmpty)
      planned(machine)(nothing).map(Fitted(_, None, unbound = false))
    else
      planned(machine)(memory.copy(cpus = fitting.occupied | theirs | leased, leased = leased))
        .map(plan => Fitted(around.foldLeft(plan)((p, r) => adding(r)(p)), None, unbound = false))
        .left
        .flatMap(unfit => shared.map(over(_, unfit)))

  /** Why none is to be bound, whatever is free: whose turn it is, or that nobody knows what is. */
  private def barred: Vector[String] = leases.unknown ++ leases.waiting.headOption.map(first =>
    s"${leases.waiting.size} ahead of it in the queue, the next being ${first.who}"
  )

  private def around: Vector[Reason] = Vector(
    Option.when(leased.nonEmpty)(
      Reason(Leased, s"CPUs $leased left alone", s"leased by ${leases.who(leased)}", LeaseSource)
    ),
    Option.when(leasedBytes.nonEmpty)(
      Reason(
        Leased,
        s"${leasedBytes.toVector.sorted.map { case (n, b) => s"${Sizes.show(b >> 20)} of node $n" }.mkString(", ")} left alone",
        "applications with a lease may take it",
        LeaseSource
      )
    ),
    Option.when(theirs.nonEmpty)(
      Reason(
        Decision,
        s"CPUs $theirs left alone",
        s"bound executors of other applications run there: ${near.who}",
        Source
      )
    )
  ).flatten

  /** Bound to another's CPUs it would have the worse half of them; the kernel spreads what is not bound. */
  private def over(plan: Plan, unfit: Unfit): Fitted =
    if (!waits && leased.isEmpty && leasedBytes.isEmpty) {
      val shared = theirs & IdSet.union(plan.executors.iterator.map(_.cpus))
      val reason = Reason(
        Decision,
        if (shared.isEmpty) "memory shared" else s"CPUs $shared shared",
        s"bound executors of other applications run there (${near.who}) and nothing " +
          s"fits beside them${asked(unfit)}, so both slow down",
        Source
      )
      Fitted(adding(reason)(plan), Some(needed(near.who)), unbound = false)
    } else {
      val who = (Vector(leases.who(leased)) ++ Vector(near.who)).filter(_.nonEmpty).mkString(", ")
      val holders = if (who.nonEmpty) who else "applications that share CPUs already"
      val how = if (leased.isEmpty && near.who.nonEmpty) "held" else "leased"
      val why = s"$how by $holders, and nothing fits beside them${asked(unfit)}"
      unbound(plan, leased | theirs, needed(holders), why)
    }

  /** What does not fit, where somebody asked for it. */
  private def asked(unfit: Unfit) =
    if (Set("CPUs", "memory")(unfit.name)) "" else s" (${unfit.what})"

  private def needed(holders: String) = s"what this application needs is held by $holders"

  /** @param shared CPUs that others have or may have */
  private def unbound(plan: Plan, shared: IdSet, full: String, because: String): Fitted = {
    val what = if (shared.isEmpty) "memory" else s"CPUs $shared"
    val reason =
      if (waits)
        Reason(Waiting, s"for $what", s"$because; it starts when enough is free", LeaseSource)
      else {
        val who =
          if (plan.mode == PlanMode.Native) "this JVM shares them" else "the executors run unbound"
        val slow = s"so $who and everything there slows down"
        Reason(Sharing, s"$what shared", s"$because, $slow", LeaseSource)
      }
    val loose = plan.copy(
      driver = plan.driver.copy(cpus = ours, bound = false),
      reasons = plan.reasons.filterNot(reason => OfBound(reason.decision))
    )
    Fitted(adding(reason)(loose), Some(full), unbound = true)
  }
}

/** Memory that processes without a lease hold now, so that no executor is planned into it. */
private[plan] object HeldMemory {

  /** With less, a node's plan is not changed: what comes and goes would make every plan another one. */
  private val MinBytes = 2L << 30

  /** Parts of a node in which it is counted, for the same reason. */
  private val Steps = 8

  /** Bytes by node that the plan leaves alone, besides the part that every plan leaves to others. */
  def of(topology: Topology, neighbours: Neighbours, leases: Leases): Map[Int, Long] = for {
    (id, available) <- available(topology, neighbours)
    node <- topology.node(id)
    leased = leases.memoryBytes.getOrElse(id, 0L)
    bytes = beyond(node, node.memoryBytes - node.hugePageBytes - available - leased)
    if bytes > 0
  } yield id -> bytes

  /** Of a machine with one node, [[Coexistence]] counts all that is available. */
  private def available(topology: Topology, now: Neighbours): Map[Int, Long] =
    if (topology.nodes.sizeIs > 1) now.availableOn else Map.empty

  private def beyond(node: NumaNode, heldBytes: Long): Long = {
    val total = node.memoryBytes - node.hugePageBytes
    val left = total * (100 - Pools.UsablePercent) / 100
    if (heldBytes <= math.max(left, MinBytes)) 0L
    else {
      // The plan takes a part of what it is given: so much less makes it end where the held memory begins.
      val without = (heldBytes - left) * 100 / Pools.UsablePercent
      val step = math.max(1L, total / Steps)
      math.min(total, (without + step - 1) / step * step)
    }
  }
}
