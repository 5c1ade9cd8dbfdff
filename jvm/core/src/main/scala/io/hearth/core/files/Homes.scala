package io.hearth.core.files

import java.nio.file.Path

/** Where hearth keeps a user's files; `hearth.machine.paths` does the same for the command line. */
object Homes {
  type Environment = String => Option[String]

  /** `HEARTH_STATE`, else `~/.local/state/hearth` (XDG Base Directory Specification). */
  def state(environment: Environment, ofUser: String): Path =
    environment("HEARTH_STATE").filter(_.nonEmpty).map(Path.of(_).toAbsolutePath).getOrElse {
      base("XDG_STATE_HOME", ".local/state", environment, ofUser)
    }

  /** `~/.cache/hearth`. */
  def cache(environment: Environment, ofUser: String): Path =
    base("XDG_CACHE_HOME", ".cache", environment, ofUser)

  /** A relative path is ignored; `user.home`, of the user database, comes after HOME. */
  private def base(name: String, below: String, environment: Environment, ofUser: String): Path = {
    def absolute(variable: String) = environment(variable).filter(_.startsWith("/")).map(Path.of(_))
    absolute(name)
      .getOrElse(absolute("HOME").getOrElse(Path.of(ofUser)).resolve(below))
      .resolve("hearth")
  }
}
