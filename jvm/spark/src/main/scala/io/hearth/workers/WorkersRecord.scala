package io.hearth.workers

import java.nio.file.Path

import io.hearth.core.files.OwnFiles
import io.hearth.core.json.Json
import io.hearth.core.plan.ExecutorPlan
import io.hearth.driver.{DriverJvm, RunState}

/** `workers.json` (contract/workers.schema.json): what `hearth workers status` and `stop` read. */
final class WorkersRecord(
    request: WorkersRequest,
    supervisor: DriverJvm,
    startedAt: String,
    logsOf: ExecutorPlan => Path
) {
  val file: Path = request.directory.resolve("workers.json")

  def write(state: RunState, places: Vector[PlaceState]): Unit = {
    val document = Json
      .obj()
      .put("schema", "hearth/workers/1")
      .put("name", request.name)
      .put("master", request.master)
      .put("state", state.name)
      .put("machine", supervisor.machine)
      .put("started_at", startedAt)
      .put("pid", supervisor.pid)
      .put("start_ticks", supervisor.startTicks)
    document
      .set[com.fasterxml.jackson.databind.JsonNode]("places", Json.array(places.map(described)))
    OwnFiles.write(file, Json.pretty(document))
  }

  private def described(state: PlaceState) = {
    val place = state.place
    val node = Json
      .obj()
      .put("id", place.id)
      .put("cpus", place.cpus.toString)
      .put("memory_nodes", place.memoryNodes.toString)
      .put("cores", place.taskSlots)
      .put("memory_mb", place.heapMb)
      .put("logs", logsOf(place).toString)
      .put("restarts", state.restarts)
    state.running.foreach { worker =>
      node
        .put("pid", worker.process.pid)
        .put("start_ticks", worker.startTicks)
        .put("bound", worker.bound)
        .put("memory_bound", worker.memoryBound)
    }
    state.lastExit.foreach(node.put("last_exit", _))
    node
  }
}
