package io.hearth.width

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Try

import io.hearth.core.topology.IdSet

/** What the kernel has counted of some CPUs, in ticks: time in all, and that of it in which they had nothing to do. */
final case class CpuTicks(all: Long = 0, idle: Long = 0) {
  def +(that: CpuTicks): CpuTicks = CpuTicks(all + that.all, idle + that.idle)
  def -(that: CpuTicks): CpuTicks = CpuTicks(all - that.all, idle - that.idle)

  /** 1 where nothing was counted, so that nobody takes CPUs for idle that are not. */
  def busy: Double = if (all > 0) 1 - idle.toDouble / all else 1
}

object CpuTicks {

  /** Of `/proc/stat` (proc_stat(5)): idle are the fourth and the fifth number, that of waiting for a disk. */
  def of(cpus: IdSet): CpuTicks = Try(Files.readAllLines(Path.of("/proc/stat"))).toOption
    .fold(CpuTicks()) { lines =>
      lines.asScala.iterator
        .map(_.split(" +"))
        .filter(row => Cpu.findFirstMatchIn(row.head).exists(m => cpus.contains(m.group(1).toInt)))
        .map(row => row.slice(1, 9).map(_.toLong))
        .map(ticks => CpuTicks(ticks.sum, ticks(3) + ticks(4)))
        .foldLeft(CpuTicks())(_ + _)
    }

  private val Cpu = "^cpu([0-9]+)$".r
}
