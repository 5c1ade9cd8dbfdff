package io.hearth.driver

import java.util.concurrent.{ScheduledExecutorService, TimeUnit}

/**
 * Removes what executors wrote that have ended. Spark drops their outputs then, but tasks that run already may know
 * these still, and read the files: they are waited for.
 *
 * @param thread ends with this
 */
final class EndedExecutors(scratch: ScratchDirectories, thread: ScheduledExecutorService, log: Log)
    extends AutoCloseable {
  import EndedExecutors._

  private val unattended = new Unattended("What ended executors wrote could not be removed", log)
  @volatile private var closed = false

  /** @param runningTasks ids of the application's tasks that run now */
  def ended(executorId: String, runningTasks: () => Set[Long]): Unit =
    later(HandledSeconds) {
      val readers = runningTasks()
      later(PauseSeconds)(removeUnread(executorId, readers, runningTasks))
    }

  private def removeUnread(id: String, readers: Set[Long], runningTasks: () => Set[Long]): Unit =
    if (readers.exists(runningTasks())) later(PauseSeconds)(removeUnread(id, readers, runningTasks))
    else scratch.removeOf(id)

  private def later(seconds: Long)(work: => Unit): Unit = if (!closed) {
    val _ =
      thread.schedule((() => if (!closed) unattended(work)): Runnable, seconds, TimeUnit.SECONDS)
  }

  override def close(): Unit = {
    closed = true
    thread.shutdown()
  }
}

private object EndedExecutors {

  /**
   * Spark has handled a loss by then: tasks that it starts later know nothing of these outputs. A new executor's tasks
   * start after it.
   */
  val HandledSeconds = 1L
  val PauseSeconds = 5L
}
