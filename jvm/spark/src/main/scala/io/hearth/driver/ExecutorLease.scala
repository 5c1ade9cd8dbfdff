package io.hearth.driver

import java.io.IOException
import java.nio.file.{Files, Path}

import io.hearth.core.leases.LeaseRegistry

/** An executor keeps its application's lease while it lives: it may outlive a killed driver by seconds. */
object ExecutorLease {

  /** The first byte is the driver's. */
  private val First = 1L

  /**
   * Locks the executor's own byte until this process ends.
   *
   * @param environment the executor's, with the file of the lease; nothing is kept without one
   * @return why it could not; the executor does not depend on it
   */
  def keep(environment: Map[String, String], executorId: String): Option[String] =
    environment.get(LeaseRegistry.FileVariable).map(Path.of(_)).filter(Files.exists(_)).flatMap {
      file =>
        try {
          // Not closed: the kernel does that.
          val _ = LeaseRegistry.join(file, First + executorId.toLongOption.getOrElse(0L))
          None
        } catch { case e: IOException => Some(s"The lease $file: ${e.getMessage}") }
    }
}
