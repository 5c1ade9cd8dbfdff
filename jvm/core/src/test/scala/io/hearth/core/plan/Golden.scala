package io.hearth.core.plan

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

import org.scalatest.Assertions

/** Agreed texts in files. `HEARTH_UPDATE_GOLDEN=1` writes them: read the difference before you commit. */
object Golden extends Assertions {

  /** Whether this run writes. */
  val update: Boolean = sys.env.get("HEARTH_UPDATE_GOLDEN").exists(_.nonEmpty)

  def check(file: Path, text: String): Unit = {
    if (update) {
      Files.createDirectories(file.getParent)
      Files.write(file, text.getBytes(UTF_8))
    }
    assert(Files.exists(file), s"$file is missing: HEARTH_UPDATE_GOLDEN=1 writes it")
    assert(
      Files.readString(file) == text,
      s"$file: HEARTH_UPDATE_GOLDEN=1 writes what is given now"
    )
    ()
  }
}
