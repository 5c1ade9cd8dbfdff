package io.hearth.binding

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import io.hearth.core.json.Json

/** What an executor tells its driver: text, which both sides read whatever their class paths are. */
object BindingReport {

  def of(executorId: String, machine: String, pid: Long, outcome: Outcome): ObjectNode = {
    val node = Json
      .obj()
      .put("executor_id", executorId)
      .put("machine", machine)
      .put("pid", pid)
      .put("state", outcome.state.name)
      .put("sentence", outcome.sentence)
      .put("cpus", outcome.place.cpus.toString)
      .put("memory_nodes", outcome.place.memoryNodes.toString)
    outcome.refusal.foreach(node.put("refusal", _))
    outcome.kernel.foreach { actual =>
      val kernel = Json
        .obj()
        .put("cpus_allowed", actual.cpusAllowed.toString)
        .put("threads", actual.threads.size)
        .put("mems_allowed", actual.memsAllowed.toString)
      val bytes = Json.obj()
      actual.anonymousBytes.toVector.sorted.foreach { case (n, b) => bytes.put(s"$n", b) }
      kernel.set[JsonNode]("anonymous_bytes", bytes)
      node.set[JsonNode]("kernel", kernel)
    }
    node.set[JsonNode]("warnings", Json.texts(outcome.warnings))
    node
  }
}
