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

  /** The document of `contract/examples/affinity-plan.json`. */
  def write(topology: Topology, plan: AffinityPlan): ObjectNode = Json.obj(
    "schema" -> "hearth/affinity-plan/1",
    "source" -> topology.source,
    "policy" -> plan.policy.toString,
    "plain" -> plan.policy.kind.plain,
    "meaning" -> plan.policy.kind.meaning,
    "device" -> plan.device.toScala.map(d =>
      Json.obj(
        "name" -> d.name,
        "why" -> d.why,
        "lowest" -> d.lowest.asScala.toVector,
        "nodes" -> Ids.show(d.nodes),
        "cpus" -> Ids.show(d.cpus),
        "place" -> d.source
      )
    ),
    "groups" -> plan.groups.asScala.map(Ids.show),
    "remarks" -> plan.remarks.asScala
  )
}
