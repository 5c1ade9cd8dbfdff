package io.hearth.driver.testing

import java.util
import java.util.concurrent.{AbstractExecutorService, Callable, Delayed, FutureTask}
import java.util.concurrent.{RejectedExecutionException, RunnableScheduledFuture}
import java.util.concurrent.{ScheduledExecutorService, ScheduledFuture, TimeUnit}

/** An executor service whose work runs when a test says, in order of time, and the clock that goes with it. */
final class HandDriven private (time: HandDriven.Time)
    extends AbstractExecutorService
    with ScheduledExecutorService {
  private var closed = false

  def this() = this(new HandDriven.Time)

  /** Another one, as of another thread, by the same clock. */
  def beside: HandDriven = new HandDriven(time)

  def nanoTime: Long = time.now

  /** Runs what is due. A failure of the work is the test's. */
  def run(): Unit = advance(0)

  def advance(seconds: Double): Unit = {
    val end = time.now + (seconds * 1e9).toLong
    Iterator
      .continually(time.waiting.filter(_.due <= end).minByOption(_.due))
      .takeWhile(_.nonEmpty)
      .flatten
      .foreach { task =>
        time.waiting = time.waiting.filterNot(_ eq task)
        time.now = math.max(time.now, task.due)
        task.step()
      }
    time.now = end
  }

  final private class Task[V](work: Callable[V], var due: Long, period: Long)
      extends FutureTask[V](work)
      with RunnableScheduledFuture[V]
      with HandDriven.Waiting {
    override def of: HandDriven = HandDriven.this
    def step(): Unit =
      if (!isCancelled && (period == 0 || !closed)) {
        work.call()
        if (period > 0) {
          due = time.now + period
          time.waiting :+= this
        }
      }
    override def isPeriodic: Boolean = period > 0
    override def getDelay(unit: TimeUnit): Long = unit.convert(due - time.now, TimeUnit.NANOSECONDS)
    override def compareTo(other: Delayed): Int =
      getDelay(TimeUnit.NANOSECONDS).compareTo(other.getDelay(TimeUnit.NANOSECONDS))
  }

  private def add[V](work: Callable[V], delay: Long, period: Long): ScheduledFuture[V] = {
    if (closed) throw new RejectedExecutionException("it is shut down")
    val task = new Task(work, time.now + delay, period)
    time.waiting :+= task
    task
  }

  private def callable(work: Runnable): Callable[Unit] = () => work.run()

  override def execute(work: Runnable): Unit = {
    add(callable(work), 0, 0)
    ()
  }
  override def schedule(work: Runnable, delay: Long, unit: TimeUnit): ScheduledFuture[_] =
    add(callable(work), unit.toNanos(delay), 0)
  override def schedule[V](work: Callable[V], delay: Long, unit: TimeUnit): ScheduledFuture[V] =
    add(work, unit.toNanos(delay), 0)
  override def scheduleWithFixedDelay(
      work: Runnable,
      first: Long,
      delay: Long,
      unit: TimeUnit
  ): ScheduledFuture[_] = add(callable(work), unit.toNanos(first), unit.toNanos(delay))
  override def scheduleAtFixedRate(
      work: Runnable,
      first: Long,
      period: Long,
      unit: TimeUnit
  ): ScheduledFuture[_] = scheduleWithFixedDelay(work, first, period, unit)

  override def shutdown(): Unit = closed = true
  override def shutdownNow(): util.List[Runnable] = {
    closed = true
    time.waiting = time.waiting.filterNot(_.of == this)
    util.List.of()
  }
  override def isShutdown: Boolean = closed
  override def isTerminated: Boolean = closed && !time.waiting.exists(_.of == this)
  override def awaitTermination(limit: Long, unit: TimeUnit): Boolean = true
}

object HandDriven {

  private trait Waiting {
    def due: Long
    def of: HandDriven
    def step(): Unit
  }

  final private class Time {
    var now = 0L
    var waiting: Vector[Waiting] = Vector.empty
  }
}
