package io.hearth.workloads

import java.nio.file.{Files, Path, StandardCopyOption}

/**
 * A file under a hidden name next to its own, which no other process uses, until it is complete.
 * This identifies what a killed process leaves, but not what a power failure leaves: nothing is
 * forced to the disk.
 */
object Draft {

  /** Puts what is written to the draft in the place of `file`, at once; a failure leaves no draft. */
  def write[A](file: Path)(content: Path => A): A = {
    val draft = file.resolveSibling(
      s".${file.getFileName}.${ProcessHandle.current.pid}-${System.nanoTime()}.draft"
    )
    try {
      val written = content(draft)
      Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE)
      written
    } finally {
      Files.deleteIfExists(draft)
      ()
    }
  }

  def is(file: Path): Boolean = {
    val name = file.getFileName.toString
    name.startsWith(".") && name.endsWith(".draft")
  }
}
