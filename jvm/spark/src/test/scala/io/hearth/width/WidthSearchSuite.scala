package io.hearth.width

import java.nio.file.{Files, Path}

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/**
 * Jobs of 50 waves in imagined time: as many tasks as run at once share a rate, and each is 10 % longer or shorter than
 * the others.
 */
class WidthSearchSuite extends AnyFunSuite {

  /**
   * @param rate tasks a second, by how many run at once
   * @param busy part of the CPUs, by the same
   * @param waits part of the tasks' time in which they wait
   */
  private case class Stage(rate: Double => Double, busy: Double => Double, waits: Double = 0)

  private def seconds(at: Double => Stage, planned: Int, start: Int, fixed: Boolean, seed: Int) = {
    val random = new Random(seed)
    val all = 50 * planned
    var left = all
    var now = 0.0
    var width = StageWidth.from(planned, start, 0)
    var (busy, since) = (0.0, 0.0)
    val running = mutable.Buffer.empty[Array[Double]] // work left, begin
    while (left > 0 || running.nonEmpty) {
      while (left > 0 && running.size < width.width) {
        running += Array(math.exp(0.1 * random.nextGaussian()), now)
        left -= 1
      }
      val stage = at(left.toDouble / all)
      val each = stage.rate(running.size) / running.size
      val next = running.minBy(_.head)
      val step = next.head / each
      running.foreach(task => task(0) -= step * each)
      running -= next
      now += step
      busy += step * math.min(1, stage.busy(running.size + 1.0))
      if (!fixed && left > 0) {
        val took = now - next(1)
        val task = EndedTask(took, 0, took * (1 - stage.waits), 0, spilled = false)
        val load = Load(busy / (now - since), left, () => Int.MaxValue)
        val ended = width.ended(task, (next(1) * 1e6).toLong, (now * 1e6).toLong, 1)(load)
        if (ended.trial.each.count < width.trial.each.count) {
          busy = 0
          since = now
        }
        width = ended
      }
    }
    now
  }

  /** How many times the best of these fixed widths an adaptive one takes, as a geometric mean of 20 jobs. */
  private def ratio(at: Double => Stage, planned: Int, start: Int, fixed: Seq[Int]): Double = {
    val best = fixed.map(width => seconds(at, planned, width, fixed = true, 0)).min
    val logs =
      (1 to 20).map(seed => math.log(seconds(at, planned, start, fixed = false, seed) / best))
    math.exp(logs.sum / logs.size)
  }

  /** Of eight CPUs and as many slots. */
  private val imagined = Map(
    "is CPU bound" -> Stage(n => math.min(n, 8), n => n / 8),
    "has no more bandwidth from 5 tasks on" -> Stage(n => math.min(n, 5), n => n / 8),
    "has less bandwidth from 5 tasks on" ->
      Stage(n => if (n <= 5) n else 5 * math.pow(5 / n, 0.3), n => n / 8),
    "reads a disk that is slower with each reader" ->
      Stage(n => math.pow(math.max(1, n), -0.3), _ => 0.1, 0.9),
    "reads a disk that is as fast for one" -> Stage(n => math.min(1, n), _ => 0.1, 0.9),
    "waits for a lock" -> Stage(n => math.min(n, 3), n => math.min(n, 3) / 8, 0.6),
    "waits for a service" -> Stage(n => n, n => n / 100, 0.99)
  )

  /** The same with more CPUs and slots. */
  private def wide(stage: Stage, planned: Int) =
    Stage(n => stage.rate(n * 8 / planned), n => stage.busy(n * 8 / planned), stage.waits)

  private def against(name: String, planned: Int): Double =
    ratio(_ => wide(imagined(name), planned), planned, planned, Seq(planned))

  for (name <- imagined.keys; planned <- Seq(8, 48))
    test(s"a stage with $planned slots that $name takes at most 1.03 of the plan's time") {
      assert(against(name, planned) <= 1.03)
    }

  test("tasks that wait for a service take at most 0.3 of the plan's time") {
    assert(against("waits for a service", 8) <= 0.3)
  }

  test(
    "a tenth is gained where the plan has too many tasks for memory, and a seventh with a disk"
  ) {
    assert(against("has less bandwidth from 5 tasks on", 48) <= 0.93)
    assert(against("reads a disk that is slower with each reader", 48) <= 0.86)
  }

  test(
    "a stage whose tasks cease to wait in the middle takes at most 1.2 of the better fixed width"
  ) {
    def at(left: Double) =
      imagined(if (left > 0.5) "waits for a service" else "has less bandwidth from 5 tasks on")
    assert(ratio(at, 8, 8, Seq(8, 32)) <= 1.2)
  }

  private def table(name: String): Seq[Array[String]] = {
    val file = Path.of("../../../shared/data/power8", name).toAbsolutePath
    assume(Files.isRegularFile(file), file)
    Files.readAllLines(file).asScala.toSeq.drop(1).map(_.split(","))
  }

  for (
    name <- Seq("table4_svm.csv", "table6_pagerank.csv");
    (executors, planned) <- Seq((12, 8), (8, 12));
    (part, most) <- Seq(1.0 -> 1.05, 0.25 -> 1.11, 4.0 -> 1.15)
  )
    test(
      s"with ${executors}x$planned of $name, from $part of that: at most $most of the best width"
    ) {
      val rows = table(name).filter(_(1).toInt == executors)
      val known = (0.0 -> 0.0) +: rows.map(row => row(2).toDouble -> 1 / row(5).toDouble).sorted
      val last = known.last._1
      def rate(n: Double) = known
        .zip(known.drop(1))
        .collectFirst {
          case ((low, slow), (high, fast)) if n <= high =>
            slow + (fast - slow) * (n - low) / (high - low)
        }
        .getOrElse(known.last._2)
      val stage = Stage(rate, n => n * executors / 192)
      val start = math.min(last, planned * part).toInt
      val fixed = planned / 4 to math.min(last, planned * 4.0).toInt
      def slower(left: Double) = stage.copy(rate = n => stage.rate(n) * (0.8 + 0.2 * left))
      assert(ratio(_ => stage, planned, start, fixed) <= most)
      assert(ratio(slower, planned, start, fixed) <= most)
    }

  private val waiting = EndedTask(1, 0, 0.01, 0, spilled = false)
  private def after(task: EndedTask, room: Int): Int = (1 to 40)
    .foldLeft(StageWidth(4, 0)) { (width, i) =>
      width.ended(task, i * 1000L, i * 1000L + 1000, 1)(Load(0.1, 1000, () => room))
    }
    .width

  test("a stage is no wider than memory allows, nor where its tasks spill or the JVM collects") {
    assert(after(waiting, room = 100) == 16)
    assert(after(waiting, room = 6) == 6)
    assert(after(waiting.copy(spilled = true), room = 100) == 4)
    assert(after(waiting.copy(collectedS = 0.5), room = 100) == 4)
  }

  test("one straggler among like tasks is no reason") {
    val tasks =
      Vector.fill(400)(waiting.copy(cpuS = 1)).updated(17, waiting.copy(seconds = 60, cpuS = 60))
    val end = tasks.zipWithIndex.foldLeft(StageWidth(8, 0)) { case (width, (task, i)) =>
      val next =
        width.ended(task.copy(seconds = task.seconds * width.width / 8), i * 1000L, i * 1000L, 1)(
          Load(1, 400, () => 100)
        )
      assert(next.width >= 5)
      next
    }
    assert(end.search.settled)
  }
}
