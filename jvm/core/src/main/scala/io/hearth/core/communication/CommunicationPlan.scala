package io.hearth.core.communication

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

import com.fasterxml.jackson.databind.node.ObjectNode

import io.hearth.affinity.{
  Adapter,
  AffinityPlan,
  Defaults,
  NetworkDevice,
  Ids,
  Machine,
  Policy,
  Refused
}
import io.hearth.core.UserError
import io.hearth.core.json.Json
import io.hearth.core.topology.Topology

/** Where the communication threads of a JVM may run on a machine: hearth's Java side, asked for it. */
object CommunicationPlan {

  def machine(topology: Topology, adapters: Vector[Adapter]): Machine = new Machine(
    topology.allowed.cpus.toBitSet,
    topology.cores.map(_.cpus.toBitSet).asJava,
    topology.packages.map(_.cpus.toBitSet).asJava,
    topology.nodes
      .map(node =>
        new Machine.Node(
          node.id,
          node.cpus.toBitSet,
          node.distances.map { case (to, d) => Int.box(to) -> Int.box(d) }.asJava
        )
      )
      .asJava,
    adapters.asJava
  )

  /**
   * @param device the user's choice
   * @param carrier the interface that carries the route to the peer
   * @param policy as the user writes it; the default of the architecture where none is given
   * @throws UserError where the machine lacks the device, or for an unknown policy
   */
  def plan(
      topology: Topology,
      adapters: Vector[Adapter],
      device: Option[String],
      carrier: Option[String],
      policy: Option[String]
  ): AffinityPlan =
    try {
      val defaults = Defaults.of(topology.architecture.toJava)
      val parsed = Policy.parse(policy.getOrElse(defaults.policy), defaults.threads)
      val on = machine(topology, adapters)
      AffinityPlan.of(on, parsed, NetworkDevice.choose(on, device.toJava, carrier.toJava))
    } catch { case e: Refused => throw new UserError(e.getMessage, Some(e)) }

  /** The document of `contract/affinity-plan.schema.json`. */
  def write(topology: Topology, plan: AffinityPlan): ObjectNode = {
    val document = Json
      .obj()
      .put("schema", "hearth/affinity-plan/1")
      .put("source", topology.source)
      .put("policy", plan.policy.toString)
      .put("plain", plan.policy.kind.plain)
      .put("meaning", plan.policy.kind.meaning)
    plan.device.toScala.foreach { d =>
      val device = document.putObject("device")
      device.put("name", d.name).put("why", d.why)
      device.set[ObjectNode]("lowest", Json.texts(d.lowest.asScala))
      device.put("nodes", Ids.show(d.nodes)).put("cpus", Ids.show(d.cpus)).put("place", d.source)
    }
    document.set[ObjectNode]("groups", Json.texts(plan.groups.asScala.map(Ids.show)))
    document.set[ObjectNode]("remarks", Json.texts(plan.remarks.asScala))
    document
  }
}
