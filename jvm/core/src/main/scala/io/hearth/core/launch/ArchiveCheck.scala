package io.hearth.core.launch

import java.io.File
import java.lang.ProcessBuilder.Redirect
import java.nio.file.Path
import java.util.concurrent.TimeUnit

/**
 * Asks a JVM whether it would start from a new class-data archive; it compares the checksums that it has
 * written into it. Takes less than a second, once for each archive.
 *
 * @param options of the JVM that wrote it: those that decide whether an archive fits are used
 * @param classPath of that JVM
 */
final class ArchiveCheck(java: String, options: Vector[String], classPath: Vector[String]) {
  import ArchiveCheck._

  def sound(archive: Path): Boolean = {
    val command = (java +: Strict :+ s"-XX:SharedArchiveFile=$archive") ++
      options.filter(Decisive.matches) ++ Vector("-cp", classPath.mkString(":"), "-version")
    val process = new ProcessBuilder(command: _*)
      .redirectErrorStream(true)
      .redirectOutput(Redirect.to(new File("/dev/null")))
      .start()
    try process.waitFor(LimitS, TimeUnit.SECONDS) && process.exitValue == 0
    finally process.destroyForcibly()
  }
}

object ArchiveCheck {
  private val LimitS = 60L
  private val Decisive = "-Xmx.*|-XX:[+-](Use|Unlock).*|-XX:ObjectAlignmentInBytes=.*".r

  /** A truncated archive ends the JVM by a signal: that leaves neither a report nor a core file. */
  private val Strict = Vector(
    "-Xshare:on",
    "-XX:+VerifySharedSpaces",
    "-XX:ErrorFile=/dev/null",
    "-XX:-CreateCoredumpOnCrash"
  )
}
