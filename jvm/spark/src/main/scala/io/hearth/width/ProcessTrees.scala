package io.hearth.width

import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.{Files, Path}

import scala.util.Try

import io.hearth.core.procfs.{ProcFs, ProcStat}

/** CPU time that was used in some time, both in seconds. */
final case class CpuUse(used: Double = 0, in: Double = 0) {
  def +(that: CpuUse): CpuUse = CpuUse(used + that.used, in + that.in)
  def -(that: CpuUse): CpuUse = CpuUse(used - that.used, in - that.in)

  /** The part of so many CPUs; all, where nothing can be said, as when a process has ended. */
  def of(cpus: Int): Double = if (in > 0 && used >= 0) used / (in * cpus) else 1
}

/** JVMs and the processes that they have started, as Python's workers. */
final class ProcessTrees(jvms: () => Iterable[Long], proc: Path = Path.of("/proc")) {

  /** A driver's own program is none of the workers. */
  private val before = ProcFs.ids(proc).toSet

  /** So far, of all of them, and the time now. */
  def cpu(): CpuUse = {
    val all = ProcFs.stats(proc)
    val ticks = ProcFs
      .descendants(all, jvms().toSet)
      .iterator
      .flatMap(all.get)
      .map(p => p.ticks + p.reapedTicks)
    CpuUse(ticks.sum / ProcStat.TicksPerSecond, System.nanoTime / 1e9)
  }

  /** Bytes of each JVM's workers, of shared pages each process's part (proc_pid_smaps(5)). */
  def workersBytes(): Iterable[Long] = {
    val all = ProcFs.stats(proc)
    jvms().map(jvm =>
      (ProcFs.descendants(all, Set(jvm)) - jvm -- before).iterator.map(proportional).sum
    )
  }

  private def proportional(process: Long): Long =
    Try(Files.readString(proc.resolve(s"$process/smaps_rollup"), ISO_8859_1)).toOption
      .flatMap(ProcessTrees.Pss.findFirstMatchIn(_))
      .fold(0L)(_.group(1).toLong << 10)
}

private object ProcessTrees {
  val Pss = """(?m)^Pss:\s+(\d+) kB""".r
}
