package io.hearth.driver

import java.nio.charset.StandardCharsets.UTF_8

import io.hearth.core.{Terminal, UserError}

/** An application's id, which names its directories: one word of a path. */
object ApplicationId {

  /** Directories put something before it; a name has 255 bytes at most (path_resolution(7), NAME_MAX). */
  private val MaxBytes = 200

  /** Throws UserError where no directory can have that name, or it leads elsewhere */
  def checked(id: String): String = {
    val problem =
      if (id.isEmpty) Some("is empty")
      else if (id == "." || id == "..") Some("leads to another directory")
      else if (id.contains('/')) Some("contains '/'")
      else if (id.exists(_.isControl)) Some("contains a control character")
      else if (id.getBytes(UTF_8).length > MaxBytes) Some(s"has more than $MaxBytes bytes")
      else None
    val shown = Terminal.escaped(id).replace("\n", "\\n").replace("\t", "\\t")
    problem.foreach(why =>
      throw new UserError(
        s"spark.app.id: '$shown' $why, and it names this run's directories; choose another, or " +
          "leave it out"
      )
    )
    id
  }
}
