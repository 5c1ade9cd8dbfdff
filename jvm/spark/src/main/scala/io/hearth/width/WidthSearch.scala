package io.hearth.width

/** How many, and mean and squared distances from it of what was added (Welford 1962). */
final case class Moments(count: Int = 0, mean: Double = 0, squares: Double = 0) {
  def +(value: Double): Moments = {
    val shift = (value - mean) / (count + 1)
    Moments(count + 1, mean + shift, squares + (value - mean) * (value - mean - shift))
  }
  def variance: Double = if (count > 1) squares / (count - 1) else 0
  def error: Double = math.sqrt(variance / math.max(1, count))
}

/**
 * A task that ended well.
 *
 * @param seconds that it ran
 * @param work bytes or records that it took; 0 where it counts none
 * @param cpuS seconds of them on a CPU
 * @param collectedS seconds of them in which its JVM collected garbage
 */
final case class EndedTask(
    seconds: Double,
    work: Long,
    cpuS: Double,
    collectedS: Double,
    spilled: Boolean
)

/**
 * Tasks that were all begun while so many ran at once in an executor.
 *
 * @param each logarithm of a task's seconds
 * @param unit logarithm of its seconds for a unit of work, of those that count it
 */
final case class Trial(
    width: Int,
    each: Moments = Moments(),
    unit: Moments = Moments(),
    seconds: Double = 0,
    cpuS: Double = 0,
    collectedS: Double = 0,
    spilled: Boolean = false
) {
  def +(task: EndedTask): Trial = {
    val log = math.log(math.max(1e-3, task.seconds))
    copy(
      each = each + log,
      unit = if (task.work > 0) unit + (log - math.log(task.work.toDouble)) else unit,
      seconds = seconds + task.seconds,
      cpuS = cpuS + task.cpuS,
      collectedS = collectedS + task.collectedS,
      spilled = spilled || task.spilled
    )
  }

  def waits: Double = part(math.max(0, seconds - cpuS - collectedS))
  def collects: Double = part(collectedS)
  private def part(of: Double) = if (seconds > 0) of / seconds else 0

  /** Whether seconds go by the work rather than by the task. */
  private def byWork: Boolean = unit.count == each.count && unit.variance < each.variance

  /**
   * The logarithm of how many times the work of that one is done in the same time, and its standard error. A straggler
   * moves the mean of logarithms little.
   */
  def over(that: Trial): (Double, Double) = {
    val work = byWork && that.unit.count == that.each.count
    val (mine, its) = if (work) (unit, that.unit) else (each, that.each)
    val gain = math.log(width.toDouble / that.width) + its.mean - mine.mean
    (gain, math.hypot(mine.error, its.error))
  }
}

/**
 * What is decided from, beside a trial.
 *
 * @param busy part of the executors' CPUs that was not idle in the trial
 * @param left how many more tasks are to be expected
 * @param room the widest for which there is memory; asked where more tasks may be tried
 */
final case class Load(busy: Double, left: Int, room: () => Int)

/**
 * How many tasks of a stage run at once in an executor: found while it runs, from one trial after another. Pure.
 *
 * Wider where CPUs are idle, narrower where that brings more work; each step is taken back that has not. Without a sign
 * that fewer tasks would do more, fewer are tried only where that costs little of what is left.
 *
 * @param planned the plan's slots; never fewer than a quarter run at once, nor more than four times as many
 * @param best the last trial of the best width so far
 * @param floor the widest of fewer tasks that has lost; 0 where none has
 * @param ceiling the narrowest of more tasks that has lost
 */
final case class WidthSearch(
    planned: Int,
    width: Int,
    best: Option[Trial] = None,
    floor: Int = 0,
    ceiling: Int = Int.MaxValue,
    settled: Boolean = false
) {
  import WidthSearch._

  /** @param trial a full one of this width */
  def next(trial: Trial, load: Load): WidthSearch = best match {
    case None => explore(trial, load, steady = false)
    case Some(before) if before.width == trial.width =>
      val (gain, error) = trial.over(before)
      val drifts = math.abs(gain) > math.max(Drift, 4 * error)
      val from = if (drifts) copy(floor = 0, ceiling = Int.MaxValue) else this
      from.explore(trial, load, steady = math.abs(gain) < math.max(Steady, 2 * error))
    case Some(before) if trial.width > before.width =>
      val (gain, error) = trial.over(before)
      val inProportion = gain > 0.7 * math.log(trial.width.toDouble / before.width)
      if (gain > math.max(GainUp, error))
        copy(floor = if (inProportion) trial.width - 1 else before.width)
          .explore(trial, load, steady = true)
      else copy(ceiling = trial.width).explore(before, load.copy(busy = 1), steady = true)
    case Some(before) =>
      val (gain, error) = trial.over(before)
      val towardsPlan = trial.width >= planned && gain > -GainDown
      if (towardsPlan || gain > math.max(GainDown, error))
        copy(ceiling = before.width).explore(trial, load, steady = true)
      else copy(floor = trial.width).explore(before, load.copy(busy = 1), steady = true)
  }

  /** Why so many. */
  def reason: String =
    if (width == planned) "no other number does more"
    else if (width > planned) "they wait, and CPUs had nothing to do"
    else {
      val what = best.fold("") { now =>
        if (now.spilled) "they write their data to disk"
        else if (now.collects > Collects) "the JVM collects garbage"
        else if (now.waits > 0.3) "they wait for a disk, a lock or each other"
        else "memory or caches have no more to give"
      }
      s"more do no more, as $what"
    }

  /** @param steady whether this width is known well enough to look for what fewer tasks gain */
  private def explore(now: Trial, load: Load, steady: Boolean): WidthSearch = {
    val up = wider(now, load)
    val down = if (steady) narrower(now, load) else None
    val to = if (ceiling < Int.MaxValue && floor == 0) down.orElse(up) else up.orElse(down)
    copy(width = to.getOrElse(now.width), best = Some(now), settled = to.isEmpty && steady)
  }

  private def wider(now: Trial, load: Load): Option[Int] = {
    val step = if (now.width < planned || now.waits > 0.5) StepUp else StepUpBusy
    val to =
      if (ceiling < Int.MaxValue) between(now.width, ceiling)
      else math.ceil(now.width * math.min(step, 1 / math.max(0.01, load.busy))).toInt
    val may = load.busy < Busy && !now.spilled && now.collects < Collects
    Option
      .when(may && to > now.width)(math.min(to, math.min(planned * Most, load.room())))
      .filter(_ > now.width)
  }

  private def narrower(now: Trial, load: Load): Option[Int] = {
    val to =
      if (floor > 0) between(floor, now.width)
      else math.max(math.max(1, planned / Most), (now.width * StepDown).round.toInt)
    val cost = math.max(to, MinTasks) * (now.width.toDouble / to - 1) / math.max(1, load.left)
    val most = if (now.width > planned) CostBeyond else Cost
    Option.when(to < now.width && to > floor && cost < most)(to)
  }

  /** The lower itself where they are close. */
  private def between(low: Int, high: Int): Int =
    if (high < low * Close) low else math.sqrt(low.toDouble * high).round.toInt
}

object WidthSearch {

  /** From a quarter of the plan's slots to four times as many. */
  val Most = 4

  /** Fewer tasks are no trial. */
  private val MinTasks = 4

  /** Of shorter tasks, on average, scheduling takes too much for their times to say what more of them do. */
  private[width] val MinSeconds = 0.1
  private val MinMs = 200L
  private val SettledMs = 5000L

  /** CPUs that are this busy have no room for more tasks. */
  private val Busy = 0.8
  private val Collects = 0.1

  /** By how many times, at most; tasks that do not wait are few enough by the plan. */
  private val StepUp = 3.0
  private val StepUpBusy = 1.3
  private val StepDown = 0.7

  /** Of a floor or a ceiling: nothing between is tried. */
  private val Close = 1.45

  /** Logarithms: what more tasks, and what fewer, must gain to be kept, or may lose on the way back to the plan; what is no change, and what is one. */
  private val GainUp = 0.08
  private val GainDown = 0.02
  private val Steady = 0.1
  private val Drift = 0.3

  /** Part of what is left that a look at fewer tasks may cost; the plan is more likely right than more tasks than it has. */
  private val Cost = 0.01
  private val CostBeyond = 0.05

  /**
   * Whether it says enough: a wave of tasks, and up to three where they differ. Where a search has settled, four, as
   * each look costs some milliseconds.
   *
   * @param ms since it began
   */
  private[width] def isFull(
      search: WidthSearch,
      trial: Trial,
      executors: Int,
      ms: Long
  ): Boolean = {
    val (tasks, wave) = (trial.each.count, trial.width * executors)
    def precise = trial.each.error < 0.05 || (trial.unit.count == tasks && trial.unit.error < 0.05)
    if (search.settled) tasks >= math.max(4 * wave, MinTasks) && ms >= SettledMs
    else
      tasks >= math.max(wave, MinTasks) && ms >= MinMs &&
      (search.best.isEmpty || precise || tasks >= 3 * wave)
  }
}

/**
 * The search of a stage as its tasks end.
 *
 * @param trial so far, of tasks begun since then
 * @param since when no more tasks ran than of this width, in ms
 * @param from when the trial began
 * @param beyond tasks that have to end before, which say nothing of this one
 */
final case class StageWidth(
    search: WidthSearch,
    trial: Trial,
    since: Long,
    from: Long,
    beyond: Int = 0
) {
  def width: Int = search.width

  /** Tasks of a wider trial slow the first of the next; of more tasks that wait, the first may start a Python worker. */
  private def before(next: Int, trial: Trial): Int =
    if (next < width) width - next else if (next > width && trial.waits > 0.5) next else 0

  /**
   * @param began in ms
   * @param executors that run the stage
   * @param load since this trial began
   */
  def ended(task: EndedTask, began: Long, now: Long, executors: Int)(load: => Load): StageWidth =
    if (beyond > 0) copy(since = now, from = now, beyond = beyond - 1)
    else if (began < since) this
    else {
      val grown = trial + task
      if (!WidthSearch.isFull(search, grown, executors, now - from)) copy(trial = grown)
      else if (grown.seconds < WidthSearch.MinSeconds * grown.each.count)
        StageWidth(search.planned, now)
      else {
        val next = search.next(grown, load)
        val since = if (next.width == width) this.since else now
        StageWidth(next, Trial(next.width), since, now, before(next.width, grown) * executors)
      }
    }
}

object StageWidth {
  def apply(planned: Int, now: Long): StageWidth = from(planned, planned, now)

  private[width] def from(planned: Int, width: Int, now: Long): StageWidth =
    StageWidth(WidthSearch(planned, width), Trial(width), now, now)
}
