package io.hearth.core.plan

import io.hearth.core.Counted

/**
 * How many executors a pool of CPUs has.
 *
 * @param rule why so many
 */
final private[plan] case class Division(executors: Int, rule: WidthRule)

/** Why executors are as wide as they are, as a plan says it. */
sealed abstract private[plan] class WidthRule(val because: String, val source: String)

private[plan] object WidthRule {
  private val Measured =
    "executors of 8 to 30 slots were the fastest in the studies, and the range of 12 to 32 is hearth's judgement"
  private val Studies = "hearth; Baig 2018; Chiba 2015; Awan 2016; Kyong 2017"

  case object Cache
      extends WidthRule(
        s"a last-level cache with 12 to 32 task slots is an executor: $Measured",
        Studies
      )
  case object Node
      extends WidthRule(s"a node with 12 to 32 task slots is an executor: $Measured", Studies)
  case object NarrowNode
      extends WidthRule(
        "a node with 8 to 11 task slots is an executor, as one that spans nodes reads remote memory",
        "hearth; Awan 2016"
      )
  case object JoinedToMany
      extends WidthRule(
        s"on ${Widths.ManySlots} task slots or more, nodes of at most ${Widths.MaxSlots / 2} are joined with " +
          s"the nearest ones, up to ${Widths.MaxSlots}: on 120 cores partitions of two sockets (30 cores) ran 1.5 " +
          "times as fast as those of one, which had stragglers",
        "Kyong 2017; hearth"
      )
  case object JoinedNodes
      extends WidthRule(
        "nodes of fewer than 8 task slots are joined with the nearest ones, to about 16 slots: each JVM compiles " +
          "its own code, which costs narrow ones most",
        "hearth"
      )
  final case class Even(target: Int)
      extends WidthRule(
        if (target == Widths.Target)
          s"the even division nearest $target task slots, within one node: $Measured"
        else
          "the even division into 24 to 32 task slots, within one node: on 120 cores partitions of 30 ran 1.5 times " +
            "as fast as those of 15, which had stragglers",
        Studies
      )
  case object ManyThreads
      extends WidthRule(
        "a node whose cores have more than two task slots is divided evenly, nearest 16: one executor of 24 slots on " +
          "each such node took 1.5 and 2.3 times as long as the best, two of 12 at most 1.1 times",
        "Baig 2018; hearth"
      )
  final case class HeapOfKind(slots: Int)
      extends WidthRule(
        s"about ${Counted(slots, "task slot")} each: machine learning and graphs keep their data on the heap, and at 4 GB for " +
          "each slot (hearth's figure) a heap below the compressed-oops limit serves 8",
        "hearth; Baig 2018; JVM: compressed oops"
      )
  final case class HeapOfInput(needMb: Long)
      extends WidthRule(
        s"as many heaps of at most 31 GB as the input needs: ${Sizes.show(needMb)} at " +
          s"${HeapNeed.PerInputByte} bytes of heap for each byte, hearth's own figure",
        "hearth; JVM: compressed oops"
      )
  case object SmallInput
      extends WidthRule(
        s"one heap would hold the input, so executors are nodes, or even parts of nodes that have " +
          s"${Widths.OneJvmScales} task slots or more, at which one JVM stops getting faster; the study takes one JVM " +
          "for such an input on any number of cores; one for each of several nodes is hearth's rule",
        "Kyong 2017; hearth"
      )
}

/**
 * How wide executors are where the user left it open: by the place, then by what is known of the heap
 * that the application needs. Counts are task slots, whether a core has one thread or several
 * (docs/decisions/0020-executors-of-12-to-32-slots.md).
 */
final private[plan] class Widths(
    usable: UsableMachine,
    pools: Pools,
    constraints: UserConstraints,
    workload: Workload
) {
  import Widths._

  private val need = HeapNeed.of(workload)
  private val wide = usable.quotaSlots.getOrElse(usable.slots) >= ManySlots

  /** The number of slots to come near where no place decides, and what is near enough. */
  private val open =
    if (wide) Aim(WideTarget, WideMin, MaxSlots) else Aim(Target, MinOfPlace, MaxSlots)

  /** What executors do not leave: a pool's CPUs of one node and kind, with their share of its memory. */
  private val parts: Vector[Vector[Pool]] = pools.all.map { pool =>
    pool.cores.groupBy(core => (core.node, core.efficient)).values.toVector.map { cores =>
      val slots = cores.iterator.map(_.slots).sum
      pool.copy(cores = cores, memoryMb = pool.memoryMb * slots / pool.slots)
    }
  }

  private val divisions: Vector[Vector[Division]] = parts.map(_.map(of))

  /** Nodes too narrow for an executor of their own are divided together. */
  private val joins: Boolean = parts.flatten.sizeIs > 1 && (joinsMany ||
    parts.flatten.forall(_.slots < math.max(MinSlots, constraints.taskCpus)))

  /** Where two nodes or more make one executor of many, and its work does not need the heap of each. */
  private def joinsMany: Boolean = wide && need.perSlotMb.isEmpty &&
    (need.small || need.mb.isEmpty) && divisions.flatten.forall(_.executors == 1) &&
    parts.flatten.forall(_.slots <= MaxSlots / 2)

  /** Executors of each pool; none where pools are joined. */
  def perPool: Option[Vector[Int]] = Option.unless(joins)(divisions.map(_.map(_.executors).sum))

  /** All of the machine's; fewer where the user or a quota leaves fewer slots. */
  def count(slots: Int): Int =
    if (joins && joinsMany) {
      val node = parts.flatten.iterator.map(_.slots).max
      val each = MaxSlots / node * node
      (slots + each - 1) / each
    } else if (joins) math.max(1, math.round(slots.toDouble / Target).toInt)
    else if (slots >= usable.slots) divisions.flatten.map(_.executors).sum
    else (slots + widest - 1) / widest

  private lazy val widest: Int = math.max(
    1,
    parts.flatten.zip(divisions.flatten).map { case (part, d) => part.slots / d.executors }.max
  )

  def rules: Vector[WidthRule] =
    if (joins) Vector(if (joinsMany) WidthRule.JoinedToMany else WidthRule.JoinedNodes)
    else divisions.flatten.map(_.rule).distinct

  private def of(pool: Pool): Division =
    if (need.small) whole(pool)
    else {
      val place = byPlace(pool)
      val more = need.perSlotMb.map(_ => byKind(pool)).orElse(need.mb.map(byInput(pool, _)))
      more.filter(_.executors > place.executors).getOrElse(place)
    }

  private def byPlace(pool: Pool): Division = {
    val widths = pool.cores.groupBy(_.cache).values.map(_.iterator.map(_.slots).sum)
    val threads = pool.cores.iterator.map(_.slots).max
    val known = pool.cores.forall(_.cache >= 0)
    def fits(slots: Int) = slots >= math.max(min, open.min) && slots <= MaxSlots
    if (known && widths.forall(fits) && widths.sizeIs > 1)
      Division(widths.size, WidthRule.Cache)
    else if (pool.slots < min) Division(1, WidthRule.NarrowNode)
    else if (threads > TwoThreads && !wide) Division(even(pool, open), WidthRule.ManyThreads)
    else if (pool.slots <= MaxSlots) Division(1, WidthRule.Node)
    else Division(even(pool, open), WidthRule.Even(open.target))
  }

  private def min: Int = math.max(MinOfPlace, constraints.taskCpus)

  /** One for each node, or the fewest alike that are narrower than one JVM scales. */
  private def whole(pool: Pool): Division = {
    val n = if (pool.slots < OneJvmScales) 1 else even(pool, Below)
    Division(n, WidthRule.SmallInput)
  }

  /** Executors of about eight slots, as far as there is memory for their heaps. */
  private def byKind(pool: Pool): Division = {
    val n = near(pool, HeapNeed.heapsIn(pool.memoryMb, constraints), MinSlots)
    Division(n, WidthRule.HeapOfKind(math.max(MinSlots, constraints.taskCpus)))
  }

  private def byInput(pool: Pool, mb: Long): Division = {
    val heaps = BigInt(mb) * pool.slots / usable.slots / Memory.CompressedOopsMb + 1
    val inMemory = HeapNeed.heapsIn(pool.memoryMb, constraints)
    Division(near(pool, heaps.min(inMemory).toInt, MinSlots), WidthRule.HeapOfInput(mb))
  }

  /** An even division near so many heaps, with executors of about so many slots where there are more heaps. */
  private def near(pool: Pool, heaps: Int, slots: Int): Int = {
    val max = even(pool, Aim(slots, slots * 3 / 4, slots * 3 / 2))
    if (heaps >= max) max
    else even(pool, Aim(math.max(slots, pool.slots / heaps), slots * 3 / 4, pool.slots))
  }

  /**
   * The number of executors whose width is near enough, of those one that leaves last-level caches
   * whole, then one that gives all the same number of cores, then the one nearest the target.
   */
  private def even(pool: Pool, aim: Aim): Int = {
    val groups = pool.cores.groupBy(_.cache).values.toVector
    val each = groups.head.size
    val alike = groups.sizeIs > 1 && each > 1 && groups.forall(_.size == each)
    def wholeCaches(n: Int) = !alike || groups.size % n == 0 ||
      n % groups.size == 0 && each % (n / groups.size) == 0
    val target = math.max(aim.target, constraints.taskCpus)
    val max = math.max(1, pool.slots / math.max(1, constraints.taskCpus))
    (1 to math.min(pool.cores.size, max)).minBy { n =>
      val width = pool.slots.toDouble / n
      val far = width < math.min(aim.min, target) || width > math.max(aim.max, target)
      (far, !wholeCaches(n), pool.cores.size % n != 0, math.max(width / target, target / width), n)
    }
  }
}

private[plan] object Widths {

  /** Task slots of an executor, at least and at most, of a place that is one: hearth's judgement. */
  val MinOfPlace = 12
  val MaxSlots = 32

  /** What an even division comes near to: 12 (Chiba 2015), 15 (Kyong 2017), 8 to 24 (Awan 2016). */
  val Target = 16

  /** Slots in all of which narrow partitions made stragglers, and the width that did not (Kyong 2017). */
  val ManySlots = 120
  val WideTarget = 30

  /** The least that counts as so wide: hearth's judgement, nothing between 15 and 30 was tried. */
  val WideMin = 24

  /** The narrowest that measured best (Baig 2018). */
  val MinSlots = 8

  /** Slots beyond which one JVM stopped getting faster (Kyong 2017); as a limit it is hearth's. */
  val OneJvmScales = 60

  private val TwoThreads = 2

  final private case class Aim(target: Int, min: Int, max: Int)
  private val Below = Aim(OneJvmScales - 1, MinOfPlace, OneJvmScales - 1)
}
