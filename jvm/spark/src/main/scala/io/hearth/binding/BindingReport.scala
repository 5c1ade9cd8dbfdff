package io.hearth.binding

import com.fasterxml.jackson.databind.node.ObjectNode

import io.hearth.core.json.Json

/** What an executor tells its driver: text, which both sides read whatever their class paths are. */
object BindingReport {

  def of(executorId: String, machine: String, pid: Long, outcome: Outcome): ObjectNode = Json.obj(
    "executor_id" -> executorId,
    "machine" -> machine,
    "pid" -> pid,
    "state" -> outcome.state.name,
    "sentence" -> outcome.sentence,
    "cpus" -> outcome.place.cpus,
    "memory_nodes" -> outcome.place.memoryNodes,
    "refusal" -> outcome.refusal,
    "kernel" -> outcome.kernel.toOption.map(actual =>
      Json.obj(
        "cpus_allowed" -> actual.cpusAllowed,
        "threads" -> actual.threads.size,
        "mems_allowed" -> actual.memsAllowed,
        "anonymous_bytes" -> actual.anonymousBytes
      )
    ),
    "warnings" -> outcome.warnings
  )
}
