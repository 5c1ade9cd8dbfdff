package io.hearth.workers

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.time.Instant
import java.time.temporal.ChronoUnit
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicReference

import org.apache.spark.scheduler.cluster.numa.WorkerResources

import sun.misc.Signal

import io.hearth.core.files.OwnFiles
import io.hearth.core.launch.Processes
import io.hearth.core.leases.{Lease, LeaseRegistry}
import io.hearth.core.plan.{
  BindingMode,
  Coexistence,
  Fitting,
  HearthKeys,
  Plan,
  PlanMode,
  PlanRequest,
  WhenFull
}
import io.hearth.core.topology._
import io.hearth.core.{Brief, UserError}
import io.hearth.driver._

/**
 * `Main REQUEST`: joins the places of a plan to a standalone cluster as bound Workers, and keeps them there until
 * SIGTERM or SIGINT. A `kill -9` leaves none behind: the `Reaper` ends them, and their executors end with them.
 *
 * Exit codes: 0 stopped; 2 the user can correct it, one line on standard error; 70 a fault of hearth.
 */
object Main {
  private val MaxChars = 1500
  private val GraceSeconds = 20L

  def main(args: Array[String]): Unit = {
    val code =
      try {
        supervise(WorkersRequest.parse(Files.readString(Path.of(args.head), UTF_8)))
        0
      } catch {
        case e: UserError =>
          Console.err.println(Brief(e.getMessage, MaxChars))
          2
        case e: Throwable =>
          e.printStackTrace(Console.err)
          70
      }
    sys.exit(code)
  }

  private def supervise(request: WorkersRequest): Unit = {
    val jvm = DriverJvm.here()
    val id = s"workers-${request.name}"
    val bestEffort =
      new BestEffort("The workers run, but their records cannot all be written", ConsoleLog.warn)
    val leased = lease(request, jvm, id)
    leased.plan.reasons
      .filter(reason => Coexistence.Full(reason.decision))
      .foreach(reason => ConsoleLog.warn(s"${reason.value}: ${reason.because}"))
    val reaper = new Reaper(bestEffort)
    reaper.open()
    try run(request, jvm, id, leased, reaper, bestEffort)
    finally {
      leased.release(bestEffort)
      reaper.close()
    }
  }

  private def run(
      request: WorkersRequest,
      jvm: DriverJvm,
      id: String,
      leased: Leased,
      reaper: Reaper,
      bestEffort: BestEffort
  ): Unit = {
    val plan = leased.plan
    val kernel = new LiveKernel(Path.of("/"))
    val localDirs = plan.conf.get("spark.local.dir").orElse(sys.env.get("SPARK_LOCAL_DIRS"))
    val launch = new WorkerLaunch(
      request,
      id,
      localDirs,
      sys.env,
      plan.executors.head.id,
      resources(request, plan)
    )
    val logs = new WorkerLogs(WorkerLogs.LimitBytes)
    val launcher = new PlacementLauncher(binding(request, leased), Processes, kernel, ConsoleLog)
    val began = Instant.now().truncatedTo(ChronoUnit.MILLIS).toString
    val record =
      new WorkersRecord(request, jvm, began, launch.directory)
    val last = new AtomicReference(Vector.empty[PlaceState])
    val workers = new Workers(
      plan.executors,
      place => {
        logs.setAside(OwnFiles.claim(launch.directory(place)))
        val worker = launcher.start(s"worker-${place.id}", place)(launch.compose(place, _))
        reaper.watch(worker.process.pid, worker.startTicks)
        ConsoleLog.info(s"Started a worker in place ${place.id} as process ${worker.process.pid}")
        worker
      },
      states => {
        last.set(states)
        val _ = bestEffort.attempt(record.write(RunState.Running, states))
      },
      ConsoleLog,
      () => System.nanoTime / 1000000
    )
    reaper.markAbandoned(record.file)
    Vector("TERM", "INT", "HUP").foreach { name =>
      val _ = Signal.handle(new Signal(name), _ => workers.stop(GraceSeconds))
    }
    try {
      workers.begin()
      watch(logs, plan.executors.map(launch.directory))
      workers.keep()
    } catch {
      case e: Throwable => // such as no more threads: none runs on without its lease and its supervisor
        workers.stop(0)
        throw e
    } finally {
      val _ =
        bestEffort.attempt(record.write(RunState.Finished, last.get.map(_.copy(running = None))))
    }
  }

  private def resources(request: WorkersRequest, plan: Plan): Map[Int, Vector[String]] =
    WorkerResources.options(
      request.javaOptions,
      plan.executors,
      place => request.folder(place.id).resolve("resources"),
      new GpuNodes(new SysTree(Path.of("/"))).nodeOf
    )

  private def watch(logs: WorkerLogs, directories: Vector[Path]): Unit = {
    val unattended = new Unattended("A worker's logs could not be rotated", ConsoleLog)
    val rolled: Runnable = () => directories.foreach(each => unattended(logs.roll(each)))
    val _ = DaemonThread.scheduled("logs").scheduleWithFixedDelay(rolled, 1, 1, TimeUnit.MINUTES)
  }

  /** One JVM of plain Spark has the whole machine: there is nothing to bind. */
  private def binding(request: WorkersRequest, leased: Leased): BindingMode =
    if (leased.unbound || leased.plan.mode == PlanMode.Native) BindingMode.Off
    else HearthKeys.Binding.in(request.plan.limits.conf.get)

  /** Workers stay for days: on CPUs that somebody else holds they start only where the user says so. */
  private def lease(
      request: WorkersRequest,
      jvm: DriverJvm,
      id: String
  ): Leased = {
    val whenFull = HearthKeys.WhenFull.set(request.plan.limits.conf.get).getOrElse(WhenFull.Refuse)
    val mine = Lease.of(id, s"workers of ${request.master}", jvm.pid, jvm.startTicks)
    val bestEffort = new BestEffort(Leasing.NotSeen, ConsoleLog.warn)
    new Leasing(() => LeaseRegistry.here(sys.env.get), whenFull, mine, bestEffort, ConsoleLog)
      .take(fitting(request.plan))
  }

  private def fitting(request: PlanRequest): Fitting = new Fitting(
    TopologyReader.load(request.machine),
    request.workload,
    request.limits,
    if (request.ignoresOthers) Neighbours.none else Neighbours.running(Path.of("/")),
    Scratch.live(),
    request.occupied
  )
}

/** Standard output: a line for each event, with its time. */
private object ConsoleLog extends Log {
  override def info(sentence: String): Unit = say("INFO", sentence)
  override def warn(sentence: String): Unit = say("WARN", sentence)
  override def error(sentence: String): Unit = say("ERROR", sentence)
  override def fault(sentence: String, cause: Throwable): Unit = say("ERROR", s"$sentence: $cause")

  private def say(level: String, sentence: String): Unit =
    println(s"${Instant.now().truncatedTo(ChronoUnit.SECONDS)} $level $sentence")
}
