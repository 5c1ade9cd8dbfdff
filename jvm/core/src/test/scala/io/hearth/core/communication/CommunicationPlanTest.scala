package io.hearth.core.communication

import scala.jdk.CollectionConverters._

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.hearth.affinity.{AffinityPlan, Policy}
import io.hearth.core.UserError
import io.hearth.core.plan.GeneratedMachines
import io.hearth.core.topology._

/** Which CPUs the policies give to communication threads. */
class CommunicationPlanTest extends AnyFunSuite with ScalaCheckPropertyChecks {
  implicit override val generatorDrivenConfig: PropertyCheckConfiguration =
    PropertyCheckConfiguration(minSuccessful = 300)

  private case class Case(
      topology: Topology,
      node: Option[Int],
      policy: Policy.Kind,
      threads: Int
  ) {
    private val written = policy.written.replace("N", threads.toString)
    private val device = node.map(n => Device("eth0", DeviceKind.Network, Some(n), None))
    private val on = topology.copy(devices = device.toVector)
    lazy val plan: AffinityPlan =
      CommunicationPlan.plan(
        on,
        TopologyReader.adapters(Some("described in 1 line"), on),
        None,
        None,
        Some(written)
      )
    lazy val groups: Vector[IdSet] = CommunicationPlanTest.groups(plan)
    val allowed: IdSet = topology.allowed.cpus
    val near: IdSet = node.flatMap(topology.node).fold(allowed) { n =>
      val sockets = topology.packages.map(_.cpus).filter(ofSocket && _.intersects(n.cpus))
      IdSet.union(n.cpus +: sockets) & allowed
    }
    private def ofSocket: Boolean = policy.plain.startsWith("socket")
    def nearPolicy: Boolean = ofSocket || policy.plain.startsWith("near")
    def counted: Boolean = written.contains(":")
  }

  private val cases: Gen[Case] = for {
    (topology, _) <- GeneratedMachines.restricted
    node <- Gen.option(Gen.oneOf(topology.nodes.map(_.id)))
    policy <- Gen.oneOf(Policy.Kind.values.toVector)
    threads <- Gen.choose(1, 20)
  } yield Case(topology, node, policy, threads)

  test("every thread gets CPUs that it may use, as many as the policy says") {
    forAll(cases) { c =>
      assert(c.groups.nonEmpty)
      c.groups.foreach { group =>
        assert(group.nonEmpty && group.subsetOf(c.allowed))
        if (c.counted) assert(group.size == math.min(c.threads, c.allowed.size))
      }
    }
  }

  test(
    "where the device's node or socket has enough CPUs, near policies use all of them and no other"
  ) {
    forAll(cases) { c =>
      val enough = c.near.nonEmpty && (!c.counted || c.near.size >= c.threads)
      if (c.nearPolicy && enough) assert(IdSet.union(c.groups) == c.near)
      if (!c.nearPolicy) assert(IdSet.union(c.groups) == c.allowed)
    }
  }

  test("a policy of whole cores gives each core once, as far as it may be used") {
    forAll(cases) { c =>
      if (c.policy.plain.endsWith("core")) {
        assert(c.groups.map(_.size).sum == IdSet.union(c.groups).size)
        val own = c.topology.cores.map(_.cpus & c.allowed).toSet
        assert(c.groups.forall(own))
      }
    }
  }

  test("without a device that is said, and the whole machine is used") {
    forAll(cases) { c =>
      val unknown = c.node.isEmpty && c.nearPolicy
      val whole = "there is no network device: the whole machine is used"
      assert(c.plan.remarks.asScala.contains(whole) == unknown)
      if (unknown && c.policy.plain.endsWith("all")) assert(c.groups == Vector(c.allowed))
    }
  }

  test("a device whose place is unknown is named, and the whole machine is used") {
    val all = MachineSpec.parse(power)
    val lost = all.copy(devices = all.devices.map(_.copy(node = None, localCpus = None)))
    val adapters = TopologyReader.adapters(Some(power), lost)
    val plan = CommunicationPlan.plan(lost, adapters, None, None, Some("o2acs"))
    val remark = "where mlx5_0 is attached is unknown: the whole machine is used"
    assert(plan.remarks.asScala == Vector(remark))
    assert(CommunicationPlanTest.groups(plan) == Vector(all.allowed.cpus))
  }

  private val power =
    "2 packages, 4 nodes of 64 GB, 2 cores x 8 threads, POWER, mlx5_0 on node 2, " +
      "distances 10 20 40 40 / 20 10 40 40 / 40 30 10 20 / 40 40 20 10"

  private def groups(policy: String, change: Topology => Topology = identity): Vector[String] = {
    val topology = change(MachineSpec.parse(power))
    val adapters = TopologyReader.adapters(Some(power), topology)
    CommunicationPlanTest
      .groups(CommunicationPlan.plan(topology, adapters, None, None, Some(policy)))
      .map(_.toString)
  }

  private def allowing(cpus: String)(t: Topology): Topology =
    t.copy(allowed = t.allowed.copy(cpus = IdSet.parse(cpus).fold(fail(_), identity)))

  test("near policies are of the device's node, on four nodes with two cores of eight threads") {
    assert(groups("near-all") == Vector("32-47"))
    assert(groups("near-core") == Vector("32-39", "40-47"))
    assert(groups("NEAR-threads:4") == Vector("32-35", "36-39", "40-43", "44-47"))
    assert(groups("near-threads:6") == Vector("32-37", "38-43", "32-33,44-47"))
    assert(groups("near-threads") == groups("near-core"), "POWER's usual number is a core's eight")
    assert(groups("o2occ").size == 8 && groups("any-threads:16").head == "0-15")
  }

  test("the study's policies are of the device's socket, which has two nodes there") {
    assert(groups("o2acs") == Vector("32-63") && groups("socket-all") == groups("O2ACS"))
    assert(groups("o2ocs") == Vector("32-39", "40-47", "48-55", "56-63"))
    assert(groups("o2nts:20") == Vector("32-51", "32-39,52-63"))
    assert(groups("o2nts") == groups("socket-core"))
    assert(groups("o2acs", allowing("0-31")) == Vector("0-31"), "the other socket")
    assert(groups("o2acs", allowing("0-15,56")) == Vector("56"))
  }

  test("where the near node has too few CPUs, those of the nearest others are added, by distance") {
    assert(groups("near-threads:20") == Vector("32-51"))
    assert(groups("near-threads:20", allowing("0-31,40-41")) == Vector("0-1,16-31,40-41"))
    assert(groups("near-all", allowing("0-31")) == Vector("16-31"), "node 1 is at 30, node 0 at 40")
    assert(groups("near-all", allowing("0-15,56")) == Vector("56"))
  }

  test("cores of which some threads are offline or not allowed are used as far as they go") {
    assert(groups("near-core", allowing("32,34,41-42,63")) == Vector("32,34", "41-42"))
  }

  test("a policy or a device that does not exist is refused by name") {
    def refusal(policy: String) = intercept[UserError](groups(policy)).getMessage
    assert(
      refusal("o2xyz").contains("policy 'o2xyz' is unknown: use o2nts:N (socket-threads), o2acs")
    )
    assert(refusal("o2acs:4").contains("takes no number"))
    assert(refusal("o2nts:0").contains("'0' is not a number of hardware threads from 1 to 65536"))
    val topology = MachineSpec.parse(power)
    val adapters = TopologyReader.adapters(Some(power), topology)
    val refused =
      intercept[UserError](CommunicationPlan.plan(topology, adapters, Some("eth9"), None, None))
    assert(refused.getMessage == "device 'eth9' is not on this machine: it has mlx5_0")
  }
}

private object CommunicationPlanTest {
  def groups(plan: AffinityPlan): Vector[IdSet] =
    plan.groups.asScala.map(set => IdSet.from(set.stream.iterator.asScala.map(_.intValue))).toVector
}
