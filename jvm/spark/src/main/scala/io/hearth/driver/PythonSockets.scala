package io.hearth.driver

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Path

/**
 * Unix sockets between executors and their Python workers (Spark 4.1 and later, where the user asks for them).
 * Spark makes them in the temporary directory of the executor's JVM, whose path is too long under most local
 * directories: a socket's has at most 108 bytes (unix(7)).
 */
object PythonSockets {
  private val Enabled = "spark.python.unix.domain.socket.enabled"
  private val Directory = "spark.python.unix.domain.socket.dir"

  /** Spark's own limit (`PYTHON_UNIX_DOMAIN_SOCKET_DIR`): 104 bytes without `/.UUID.sock`. */
  private val MaxBytes = 61

  /**
   * @param parents where it may be, best first
   * @return a directory of the application's own; none without such sockets, where the user names a directory, or
   *         below parents whose own paths leave no room
   */
  def directory(
      appId: String,
      settings: String => Option[String],
      environment: String => Option[String],
      parents: Vector[Path]
  ): Option[Path] = {
    val enabled =
      settings(Enabled).orElse(environment("PYSPARK_UDS_MODE")).exists(_.equalsIgnoreCase("true"))
    val name = f"hearth-${appId.hashCode}%08x"
    if (!enabled || settings(Directory).nonEmpty) None
    else parents.map(_.resolve(name)).find(_.toString.getBytes(UTF_8).length <= MaxBytes)
  }

  /** The JVM option of executors that names it; what the driver sends them goes before. */
  def option(directory: Path): String = s"-D$Directory=$directory"
}
