package io.hearth.driver

import java.nio.file.{Files, Path}
import java.util.concurrent.atomic.AtomicReference
import java.util.concurrent.{CountDownLatch, TimeUnit}

import scala.jdk.CollectionConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.node.ObjectNode

import io.hearth.core.json.Json

/**
 * What an application's tasks have done, added up.
 *
 * @param gcMs in which their JVM collected garbage, of their run time
 * @param killed executors that SIGKILL has ended, as the kernel's out-of-memory killer does
 */
final case class Work(
    tasks: Long = 0,
    failed: Long = 0,
    runMs: Long = 0,
    gcMs: Long = 0,
    killed: Vector[String] = Vector.empty
) {
  def ended(success: Boolean, taskMs: Long, taskGcMs: Long): Work = copy(
    tasks + 1,
    if (success) failed else failed + 1,
    runMs + taskMs,
    gcMs + taskGcMs
  )

  def lost(executorId: String, why: String): Work =
    if (why.contains(ExitStatus.Killed) && killed.sizeIs < Work.MostNamed)
      copy(killed = killed :+ executorId)
    else this

  def toJson(driverPeakMb: Option[Long]): ObjectNode = Json.obj(
    "tasks" -> tasks,
    "failed_tasks" -> failed,
    "task_seconds" -> runMs / 1000.0,
    "gc_seconds" -> gcMs / 1000.0,
    "driver_peak_mb" -> driverPeakMb,
    "killed_executors" -> killed
  )
}

object Work {
  private val MostNamed = 20

  /** The most memory that this process has had (`VmHWM`, proc_pid_status(5)). */
  def peakMb(): Option[Long] = Try {
    val lines = Files.readAllLines(Path.of("/proc/self/status")).asScala
    lines.collectFirst { case Peak(kb) => kb.toLong >> 10 }
  }.toOption.flatten

  private val Peak = """VmHWM:\s+(\d+) kB""".r
}

/** The work of an application that runs: one thread adds to it, any may ask. */
final class WorkSoFar {
  private val work = new AtomicReference(Work())
  private val over = new CountDownLatch(1)

  def add(change: Work => Work): Unit = {
    work.updateAndGet(change(_))
    ()
  }

  def close(): Unit = over.countDown()

  def now: Work = work.get

  /** When all that has happened is known, or nothing more has come for a moment. */
  def atItsEnd(): Work = {
    over.await(1, TimeUnit.SECONDS)
    now
  }
}
