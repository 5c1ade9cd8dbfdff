package io.hearth.spark.testing

import java.util
import java.util.concurrent.{AbstractExecutorService, Callable, Delayed, FutureTask}
import java.util.concurrent.{RejectedExecutionException, RunnableScheduledFuture}
import java.util.concurrent.{ScheduledExecutorService, ScheduledFuture, TimeUnit}

/** An executor service whose work runs when a test says, in order of time, and the clock that goes with it. */
final class HandDriven extends AbstractExecutorService with ScheduledExecutorService {
  private var now = 0L
  private var waiting = Vector.empty[Task[_]]
  private var closed = false

  def nanoTime: Long = now

  /** Runs what is due. A failure of the work is the test's. */
  def run(): Unit = advance(0)

  def advance(seconds: Double): Unit = {
    val end = now + (seconds * 1e9).toLong
    Iterator
      .continually(waiting.filter(_.due <= end).minByOption(_.due))
      .takeWhile(_.nonEmpty)
      .flatten
      .foreach { task =>
        waiting = waiting.filterNot(_ eq task)
        now = math.max(now, task.due)
        task.step()
      }
    now = end
  }

  final private class Task[V](work: Callable[V], var due: Long, period: Long)
      extends FutureTask[V](work)
      with RunnableScheduledFuture[V] {
    def step(): Unit =
      if (!isCancelled && (period == 0 || !closed)) {
        work.call()
        if (period > 0) {
          due = now + period
          waiting :+= this
        }
      }
    override def isPeriodic: Boolean = period > 0
    override def getDelay(unit: TimeUnit): Long = unit.convert(due - now, TimeUnit.NANOSECONDS)
    override def compareTo(other: Delayed): Int =
      getDelay(TimeUnit.NANOSECONDS).compareTo(other.getDelay(TimeUnit.NANOSECONDS))
  }

  private def add[V](work: Callable[V], delay: Long, period: Long): ScheduledFuture[V] = {
    if (closed) throw new RejectedExecutionException("it is shut down")
    val task = new Task(work, now + delay, period)
    waiting :+= task
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
    waiting = Vector.empty
    util.List.of()
  }
  override def isShutdown: Boolean = closed
  override def isTerminated: Boolean = closed && waiting.isEmpty
  override def awaitTermination(limit: Long, unit: TimeUnit): Boolean = true
}

/** One of several threads, as it were, that the same clock drives. */
final class HandDrivenBy(clock: HandDriven)
    extends AbstractExecutorService
    with ScheduledExecutorService {
  private var closed = false

  private def unlessClosed(work: Runnable): Runnable = () => if (!closed) work.run()

  override def execute(work: Runnable): Unit = {
    if (closed) throw new RejectedExecutionException("it is shut down")
    clock.execute(unlessClosed(work))
  }
  override def scheduleWithFixedDelay(
      work: Runnable,
      first: Long,
      delay: Long,
      unit: TimeUnit
  ): ScheduledFuture[_] = clock.scheduleWithFixedDelay(unlessClosed(work), first, delay, unit)
  override def scheduleAtFixedRate(
      work: Runnable,
      first: Long,
      period: Long,
      unit: TimeUnit
  ): ScheduledFuture[_] = scheduleWithFixedDelay(work, first, period, unit)
  override def schedule(work: Runnable, delay: Long, unit: TimeUnit): ScheduledFuture[_] =
    clock.schedule(unlessClosed(work), delay, unit)
  override def schedule[V](work: Callable[V], delay: Long, unit: TimeUnit): ScheduledFuture[V] =
    clock.schedule(work, delay, unit)
  override def shutdown(): Unit = closed = true
  override def shutdownNow(): util.List[Runnable] = {
    closed = true
    util.List.of()
  }
  override def isShutdown: Boolean = closed
  override def isTerminated: Boolean = closed
  override def awaitTermination(limit: Long, unit: TimeUnit): Boolean = true
}
