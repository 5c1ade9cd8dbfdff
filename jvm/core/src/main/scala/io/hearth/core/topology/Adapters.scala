package io.hearth.core.topology

import java.util.{Optional, OptionalLong}

import scala.jdk.OptionConverters._

import io.hearth.affinity.Adapter
import io.hearth.core.topology.DeviceKind.{InfiniBand, Network}

/** Network devices in the terms of hearth's Java side. */
private object Adapters {

  /** What a topology tells of them: their names and places. */
  def known(topology: Topology): Vector[Adapter] =
    topology.devices.collect { case Device(name, kind @ (Network | InfiniBand), node, cpus) =>
      val locality = Option.when(node.nonEmpty || cpus.nonEmpty)(
        new Adapter.Locality(
          IdSet.from(node).toBitSet,
          if (node.nonEmpty) IdSet.empty.toBitSet else cpus.getOrElse(IdSet.empty).toBitSet,
          "the machine's description"
        )
      )
      new Adapter(
        name,
        if (kind == Network) "Ethernet" else "InfiniBand",
        locality.toJava,
        Optional.empty,
        OptionalLong.empty,
        java.util.List.of(),
        false
      )
    }
}
