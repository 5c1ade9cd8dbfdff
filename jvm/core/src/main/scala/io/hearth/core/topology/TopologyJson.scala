package io.hearth.core.topology

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import io.hearth.core.UserError
import io.hearth.core.json.{Field, Json}

/** The document of `hearth schema topology`. */
object TopologyJson {
  val Schema = "hearth/topology/1"

  def write(t: Topology): ObjectNode = Json.obj(
    "schema" -> Schema,
    "source" -> t.source,
    "architecture" -> t.architecture,
    "processor" -> t.processor,
    "cpus" -> t.cpus,
    "packages" -> t.packages.map { p =>
      val dies = p.dies.map(die => Json.obj("id" -> die.id, "cpus" -> die.cpus))
      Json.obj("id" -> p.id, "cpus" -> p.cpus, "dies" -> dies)
    },
    "nodes" -> t.nodes.map(writeNode),
    "caches" -> t.caches.map(c =>
      Json.obj("level" -> c.level, "cpus" -> c.cpus, "size_bytes" -> c.sizeBytes)
    ),
    "cores" -> t.cores.map { c =>
      Json.obj(
        "id" -> c.id,
        "package" -> c.packageId,
        "die" -> c.dieId,
        "cpus" -> c.cpus,
        "kind" -> c.kind,
        "efficient" -> Option.when(c.efficient)(true)
      )
    },
    "devices" -> t.devices.map { d =>
      Json.obj(
        "name" -> d.name,
        "kind" -> d.kind.name,
        "node" -> d.node,
        "local_cpus" -> d.localCpus
      )
    },
    "allowed" -> writeAllowed(t.allowed),
    "isolated" -> some(t.isolated),
    "nohz_full" -> some(t.tickless),
    "warnings" -> t.warnings
  )

  private def writeNode(n: NumaNode): ObjectNode = Json.obj(
    "id" -> n.id,
    "cpus" -> n.cpus,
    "memory_bytes" -> n.memoryBytes,
    "free_bytes" -> n.freeBytes,
    "gpu_memory" -> Option.when(n.gpuMemory)(true),
    "huge_page_bytes" -> Option.when(n.hugePageBytes > 0)(n.hugePageBytes),
    "tier" -> n.tier.map(_.name),
    "distances" -> n.distances
  )

  private def writeAllowed(a: Allowed): ObjectNode = Json.obj(
    "cpus" -> a.cpus,
    "nodes" -> a.nodes,
    "memory_limit_bytes" -> a.memoryLimitBytes,
    "cpu_quota" -> a.cpuQuota.map { quota =>
      Json.obj(
        "cpus" -> quota.cpus,
        "throttled_periods" -> quota.throttledPeriods,
        "throttled_usec" -> quota.throttledUsec
      )
    },
    "task_limits" -> Option.when(a.taskLimits.nonEmpty)(
      a.taskLimits.map(t => Json.obj("name" -> t.name, "most" -> t.max, "current" -> t.current))
    ),
    "batch_limits" -> Option.when(a.batch.nonEmpty)(
      a.batch.map(b =>
        Json.obj(
          "system" -> b.system,
          "name" -> b.name,
          "cpus" -> b.cpus,
          "memory_bytes" -> b.memoryBytes,
          "ignored" -> b.ignored
        )
      )
    )
  )

  private def some(ids: IdSet): Option[IdSet] = Option.when(ids.nonEmpty)(ids)

  /** @throws UserError naming the field that is missing or wrong */
  def read(document: JsonNode): Topology = {
    val root = Field.of(document, "the topology", "`hearth schema topology`")
    root.schemaIs(Schema)
    checked(
      Topology(
        root("source").text,
        root.get("architecture").map(_.text),
        root("packages").items.map(p =>
          CpuPackage(
            p("id").int,
            ids(p("cpus")),
            p("dies").items.map(die => Die(die("id").int, ids(die("cpus"))))
          )
        ),
        root("nodes").items.map(readNode),
        root("caches").items.map(c =>
          CacheGroup(c("level").int, c.get("size_bytes").map(_.long), ids(c("cpus")))
        ),
        root("cores").items.map(readCore),
        root("devices").items.map(d =>
          Device(
            d("name").text,
            d("kind").oneOf(DeviceKind.all)(_.name),
            d.get("node").map(_.int),
            d.get("local_cpus").map(ids)
          )
        ),
        readAllowed(root("allowed")),
        root("warnings").texts,
        root.get("processor").map(_.text),
        root.get("isolated").fold(IdSet.empty)(ids),
        root.get("nohz_full").fold(IdSet.empty)(ids)
      )
    )
  }

  private def ids(field: Field): IdSet = field.parsed(IdSet.parse)

  private def readNode(field: Field): NumaNode = NumaNode(
    field("id").int,
    ids(field("cpus")),
    field("memory_bytes").long,
    field.get("free_bytes").map(_.long),
    field("distances").fields.map { case (node, distance) =>
      node.toIntOption.getOrElse(distance.refuse("is not the distance of a node")) -> distance.int
    },
    field.get("gpu_memory").exists(_.flag),
    field.get("huge_page_bytes").fold(0L)(_.atLeast(0)),
    field.get("tier").map(_.oneOf(MemoryTier.all)(_.name))
  )

  private def readCore(field: Field): Core = Core(
    field("id").int,
    field("package").int,
    field("die").int,
    ids(field("cpus")),
    field.get("kind").map(_.text),
    field.get("efficient").exists(_.flag)
  )

  private def readAllowed(field: Field): Allowed = Allowed(
    ids(field("cpus")),
    ids(field("nodes")),
    field.get("memory_limit_bytes").map(_.long),
    field.get("cpu_quota").map(readQuota),
    field
      .get("task_limits")
      .fold(Vector.empty[TaskLimit])(
        _.items.map(t =>
          TaskLimit(t("name").text, t("most").atLeast(1), t.get("current").map(_.atLeast(0)))
        )
      ),
    field.get("batch_limits").fold(Vector.empty[BatchLimit])(_.items.map(readBatch))
  )

  private def readBatch(field: Field): BatchLimit = BatchLimit(
    field("system").text,
    field("name").text,
    field.get("cpus").map(cpuTime),
    field.get("memory_bytes").map(_.atLeast(1)),
    field.get("ignored").map(_.text)
  )

  private def readQuota(field: Field): CpuQuota = {
    def count(name: String) = field.get(name).map(_.atLeast(0))
    CpuQuota(cpuTime(field("cpus")), count("throttled_periods"), count("throttled_usec"))
  }

  private def cpuTime(field: Field): Double = {
    val cpus = field.number
    if (cpus <= 0 || cpus > IdSet.MaxId + 1)
      field.refuse(s"is $cpus, not between 0 and ${IdSet.MaxId + 1} CPUs")
    cpus
  }

  /** What the planner may rely on: known ids and parts that do not overlap. */
  private def checked(topology: Topology): Topology = {
    def refuse(problem: String) = throw new UserError(s"the topology contradicts itself: $problem")
    def disjoint(sets: Vector[IdSet], what: String): Unit =
      if (sets.iterator.map(_.size).sum != IdSet.union(sets).size) refuse(s"two $what share a CPU")
    if (topology.cpus.isEmpty) refuse("its cores hold no CPU")
    if (topology.nodes.isEmpty) refuse("it has no NUMA node")
    if (topology.nodes.size > NodeReader.MaxNodes)
      refuse(s"${topology.nodes.size} nodes, and Linux supports at most ${NodeReader.MaxNodes}")
    topology.nodes.foreach(node => problemOf(node).foreach(refuse))
    if (topology.nodes.map(_.id).distinct.size != topology.nodes.size) refuse("a node occurs twice")
    disjoint(topology.cores.map(_.cpus), "cores")
    disjoint(topology.nodes.map(_.cpus), "nodes")
    val packages = topology.packages.map(_.id).toSet
    topology.cores.find(core => !packages(core.packageId)).foreach { core =>
      refuse(
        s"the core of CPUs ${core.cpus} is in package ${core.packageId}, which is not described"
      )
    }
    val cpus = topology.allowed.cpus & topology.cpus
    val nodes = topology.allowed.nodes & IdSet.from(topology.nodes.map(_.id))
    if (cpus.isEmpty)
      refuse(s"no CPU is allowed: it has ${topology.cpus}, not ${topology.allowed.cpus}")
    if (nodes.isEmpty)
      refuse(s"no memory node is allowed: '${topology.allowed.nodes}' are not known")
    topology.copy(allowed = topology.allowed.copy(cpus = cpus, nodes = nodes))
  }

  private def problemOf(node: NumaNode): Option[String] = {
    def bytes(n: Long) = n >= 0 && n <= MemInfo.MaxBytes
    val distance = node.distances.values.find(_ < NodeReader.LocalDistance)
    if (node.id < 0 || node.id > IdSet.MaxId) Some(s"there is no node ${node.id}")
    else if (node.hugePageBytes > node.memoryBytes)
      Some(s"the huge pages of node ${node.id} are more than its memory")
    else if (!bytes(node.memoryBytes) || !node.freeBytes.forall(bytes))
      Some(s"the memory of node ${node.id} is below 0 or above ${MemInfo.MaxBytes} bytes")
    else
      distance.map(d => s"node ${node.id} has a distance of $d, below ${NodeReader.LocalDistance}")
  }
}
