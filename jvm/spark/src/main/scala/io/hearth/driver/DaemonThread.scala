package io.hearth.driver

import java.util.concurrent.{Executors, ScheduledExecutorService}

object DaemonThread {

  /** One thread of this name, which keeps no JVM from ending. */
  def scheduled(name: String): ScheduledExecutorService =
    Executors.newSingleThreadScheduledExecutor { work =>
      val thread = new Thread(work, name)
      thread.setDaemon(true)
      thread
    }
}
