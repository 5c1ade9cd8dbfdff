package io.hearth.width

import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.{Files, Path}

import scala.util.Try

import io.hearth.core.procfs.ProcFs

/**
 * Memory of the processes that JVMs have started since this was made, as Python's workers; a driver's own program was
 * there before.
 */
final class WorkersMemory(proc: Path = Path.of("/proc")) {
  private val before = ProcFs.ids(proc).toSet

  /** Bytes, of shared pages each process's part (proc_pid_smaps_rollup(5)); 0 of a process that may not be read. */
  def of(jvm: Long): Long =
    (ProcFs.descendants(ProcFs.stats(proc), Set(jvm)) - jvm -- before).iterator
      .map(proportional)
      .sum

  private def proportional(process: Long): Long =
    Try(Files.readString(proc.resolve(s"$process/smaps_rollup"), ISO_8859_1)).toOption
      .flatMap(WorkersMemory.Pss.findFirstMatchIn(_))
      .fold(0L)(_.group(1).toLong << 10)
}

private object WorkersMemory {
  val Pss = """(?m)^Pss:\s+(\d+) kB""".r
}
