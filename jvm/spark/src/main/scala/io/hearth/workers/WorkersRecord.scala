package io.hearth.workers

import java.nio.file.Path

import io.hearth.core.files.OwnFiles
import io.hearth.core.json.Json
import io.hearth.core.plan.ExecutorPlan
import io.hearth.driver.{DriverJvm, RunState}

/** `workers.json` (`hearth schema workers`): what `hearth workers status` and `stop` read. */
final class WorkersRecord(
    request: WorkersRequest,
    supervisor: DriverJvm,
    startedAt: String,
    logsOf: ExecutorPlan => Path
) {
  val file: Path = request.directory.resolve("workers.json")

  def write(state: RunState, places: Vector[PlaceState]): Unit = {
    val document = Json.obj(
      "schema" -> "hearth/workers/1",
      "name" -> request.name,
      "master" -> request.master,
      "state" -> state.name,
      "machine" -> supervisor.machine,
      "started_at" -> startedAt,
      "pid" -> supervisor.pid,
      "start_ticks" -> supervisor.startTicks,
      "places" -> places.map(described)
    )
    OwnFiles.write(file, Json.pretty(document))
  }

  private def described(state: PlaceState) = {
    val place = state.place
    Json.obj(
      "id" -> place.id,
      "cpus" -> place.cpus,
      "memory_nodes" -> place.memoryNodes,
      "cores" -> place.taskSlots,
      "memory_mb" -> place.heapMb,
      "logs" -> logsOf(place).toString,
      "restarts" -> state.restarts,
      "pid" -> state.running.map(_.process.pid),
      "start_ticks" -> state.running.map(_.startTicks),
      "bound" -> state.running.map(_.bound),
      "memory_bound" -> state.running.map(_.memoryBound),
      "last_exit" -> state.lastExit
    )
  }
}
