package io.hearth.core.procfs

import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.{Files, Path}

import scala.util.Try

/**
 * What `/proc/PID/stat`, or that of a thread, says (proc(5)).
 *
 * @param startTicks when it started: another process of this id has another value
 * @param ticks CPU time that it has used, in hundredths of a second (USER_HZ)
 * @param lastCpu the CPU that it last ran on
 * @param session the id of its session's leader
 * @param reapedTicks CPU time of the children that have ended
 */
final case class ProcStat(
    state: Char,
    parent: Long,
    ticks: Long,
    startTicks: Long,
    lastCpu: Int,
    session: Long,
    reapedTicks: Long
)

object ProcStat {
  val TicksPerSecond = 100.0

  /** Absent when there is no such process or thread, or not any more. */
  def read(directory: Path): Option[ProcStat] =
    Try(parse(Files.readString(directory.resolve("stat"), ISO_8859_1))).toOption

  /** The fields are counted from the end of the name, which may contain blanks and brackets. */
  private[procfs] def parse(text: String): ProcStat = {
    val fields = text.substring(text.lastIndexOf(')') + 2).trim.split(' ')
    def field(number: Int) = fields(number - 3).toLong
    ProcStat(
      fields(0).head,
      parent = field(4),
      ticks = field(14) + field(15),
      startTicks = field(22),
      lastCpu = field(39).toInt,
      session = field(6),
      reapedTicks = field(16) + field(17)
    )
  }
}
