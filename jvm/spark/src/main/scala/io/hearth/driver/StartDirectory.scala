package io.hearth.driver

import java.nio.file.{Files, Path}
import java.util.concurrent.ConcurrentHashMap

/**
 * Where executors start: in the directory of their driver, in which tasks of `local[n]` run too, so that relative
 * paths and the modules there are found. Each starts in its own directory where that cannot be, which is logged once.
 *
 * @param drivers the driver's
 * @param python what runs Python workers: where it is a relative path and not there, it is in an archive that the
 *               application sends (`spark.archives`), so in the executor's own directory
 * @param sees whether executors see a directory of this machine
 */
final class StartDirectory(
    drivers: Path,
    python: Option[String],
    sees: Path => Boolean,
    log: Log
) extends (Path => Path) {
  private val said = ConcurrentHashMap.newKeySet[String]()

  /** @param own the executor's own directory */
  override def apply(own: Path): Path = obstacle.fold(drivers) { why =>
    if (said.add(why))
      log.warn(
        s"Executors start in directories of their own, not in the driver's ($drivers), because $why; relative paths " +
          "of the driver's do not work in tasks"
      )
    own
  }

  private def obstacle: Option[String] =
    if (!Files.isDirectory(drivers) || !Files.isExecutable(drivers)) Some("it cannot be entered")
    else if (!sees(drivers))
      Some(
        s"their containers do not see it: set spark.hearth.docker.mounts=$drivers:rw, or start elsewhere"
      )
    else
      python
        .filter(name => name.contains('/') && !Files.exists(drivers.resolve(name)))
        .map(name => s"'$name', which is to run Python workers, is not there")
}
