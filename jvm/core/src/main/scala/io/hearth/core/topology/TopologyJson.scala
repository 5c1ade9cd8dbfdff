package io.hearth.core.topology

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import io.hearth.core.{Brief, UserError}
import io.hearth.core.json.Json

/** The document of `contract/topology.schema.json`. */
object TopologyJson {
  val Schema = "hearth/topology/1"

  def write(topology: Topology): ObjectNode = {
    val root = Json.obj().put("schema", Schema).put("source", topology.source)
    topology.architecture.foreach(root.put("architecture", _))
    topology.processor.foreach(root.put("processor", _))
    root.put("cpus", topology.cpus.toString)
    root.set[JsonNode]("packages", Json.array(topology.packages.map(writePackage)))
    root.set[JsonNode]("nodes", Json.array(topology.nodes.map(writeNode)))
    root.set[JsonNode]("caches", Json.array(topology.caches.map(writeCache)))
    root.set[JsonNode]("cores", Json.array(topology.cores.map(writeCore)))
    root.set[JsonNode]("devices", Json.array(topology.devices.map(writeDevice)))
    root.set[JsonNode]("allowed", writeAllowed(topology.allowed))
    if (topology.isolated.nonEmpty) root.put("isolated", topology.isolated.toString)
    if (topology.tickless.nonEmpty) root.put("nohz_full", topology.tickless.toString)
    root.set[JsonNode]("warnings", Json.texts(topology.warnings))
    root
  }

  /** @throws UserError naming the field that is missing or wrong */
  def read(document: JsonNode): Topology = {
    val root = new Field(document, "the topology")
    val schema = root.text("schema")
    if (schema != Schema)
      throw new UserError(s"the document's schema is '${Brief(schema)}': a topology has '$Schema'")
    val topology = Topology(
      root.text("source"),
      root.optional("architecture").map(_.asText),
      root.items("packages").map(readPackage),
      root.items("nodes").map(readNode),
      root.items("caches").map(readCache),
      root.items("cores").map(readCore),
      root.items("devices").map(readDevice),
      readAllowed(root.child("allowed")),
      root.items("warnings").map(_.value.asText),
      root.optional("processor").map(_ => root.text("processor")),
      root.optionalIds("isolated"),
      root.optionalIds("nohz_full")
    )
    checked(topology)
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

  private def writePackage(p: CpuPackage): ObjectNode = {
    val node = Json.obj().put("id", p.id).put("cpus", p.cpus.toString)
    val dies =
      Json.array(p.dies.map(d => Json.obj().put("id", d.id).put("cpus", d.cpus.toString)))
    node.set[ObjectNode]("dies", dies)
  }

  private def readPackage(field: Field): CpuPackage = CpuPackage(
    field.int("id"),
    field.ids("cpus"),
    field.items("dies").map(die => Die(die.int("id"), die.ids("cpus")))
  )

  private def writeNode(n: NumaNode): ObjectNode = {
    val node =
      Json.obj().put("id", n.id).put("cpus", n.cpus.toString).put("memory_bytes", n.memoryBytes)
    n.freeBytes.foreach(node.put("free_bytes", _))
    if (n.gpuMemory) node.put("gpu_memory", true)
    if (n.hugePageBytes > 0) node.put("huge_page_bytes", n.hugePageBytes)
    n.tier.foreach(tier => node.put("tier", tier.name))
    val distances = Json.obj()
    n.distances.toVector.sorted.foreach { case (to, distance) => distances.put(s"$to", distance) }
    node.set[ObjectNode]("distances", distances)
  }

  private def readNode(field: Field): NumaNode = NumaNode(
    field.int("id"),
    field.ids("cpus"),
    field.long("memory_bytes"),
    field.optionalLong("free_bytes"),
    field.numbers("distances"),
    field.optional("gpu_memory").exists(_.asBoolean),
    field.count("huge_page_bytes").getOrElse(0L),
    field.optional("tier").map(_ => readTier(field))
  )

  private def readTier(field: Field): MemoryTier = {
    val name = field.text("tier")
    def problem = s"is '${Brief(name)}', not one of ${MemoryTier.all.map(_.name).mkString(", ")}"
    MemoryTier.all.find(_.name == name).getOrElse(field.refuse("tier", problem))
  }

  private def writeCache(c: CacheGroup): ObjectNode = {
    val node = Json.obj().put("level", c.level).put("cpus", c.cpus.toString)
    c.sizeBytes.foreach(node.put("size_bytes", _))
    node
  }

  private def readCache(field: Field): CacheGroup =
    CacheGroup(field.int("level"), field.optionalLong("size_bytes"), field.ids("cpus"))

  private def writeCore(c: Core): ObjectNode = {
    val node = Json
      .obj()
      .put("id", c.id)
      .put("package", c.packageId)
      .put("die", c.dieId)
      .put("cpus", c.cpus.toString)
    c.kind.foreach(node.put("kind", _))
    if (c.efficient) node.put("efficient", true)
    node
  }

  private def readCore(field: Field): Core = Core(
    field.int("id"),
    field.int("package"),
    field.int("die"),
    field.ids("cpus"),
    field.optional("kind").map(_.asText),
    field.optional("efficient").exists(_.asBoolean)
  )

  private def writeDevice(d: Device): ObjectNode = {
    val node = Json.obj().put("name", d.name).put("kind", d.kind.name)
    d.node.foreach(node.put("node", _))
    d.localCpus.foreach(cpus => node.put("local_cpus", cpus.toString))
    node
  }

  private def readDevice(field: Field): Device = {
    val kind = field.text("kind")
    Device(
      field.text("name"),
      DeviceKind.all
        .find(_.name == kind)
        .getOrElse(
          field
            .refuse(
              "kind",
              s"is '${Brief(kind)}', not one of ${DeviceKind.all.map(_.name).mkString(", ")}"
            )
        ),
      field.optional("node").map(_ => field.int("node")),
      field.optional("local_cpus").map(_ => field.ids("local_cpus"))
    )
  }

  private def writeAllowed(a: Allowed): ObjectNode = {
    val node = Json.obj().put("cpus", a.cpus.toString).put("nodes", a.nodes.toString)
    a.memoryLimitBytes.foreach(node.put("memory_limit_bytes", _))
    a.cpuQuota.foreach { quota =>
      val entry = node.putObject("cpu_quota").put("cpus", quota.cpus)
      quota.throttledPeriods.foreach(entry.put("throttled_periods", _))
      quota.throttledUsec.foreach(entry.put("throttled_usec", _))
    }
    if (a.taskLimits.nonEmpty)
      node.set[JsonNode]("task_limits", Json.array(a.taskLimits.map(writeTasks)))
    node
  }

  private def writeTasks(limit: TaskLimit): ObjectNode = {
    val node = Json.obj().put("name", limit.name).put("most", limit.most)
    limit.current.foreach(node.put("current", _))
    node
  }

  private def readAllowed(field: Field): Allowed = Allowed(
    field.ids("cpus"),
    field.ids("nodes"),
    field.optionalLong("memory_limit_bytes"),
    field.optional("cpu_quota").map(_ => readQuota(field.child("cpu_quota"))),
    field.optional("task_limits").fold(Vector.empty[TaskLimit]) { _ =>
      field
        .items("task_limits")
        .map(t => TaskLimit(t.text("name"), t.positive("most"), t.count("current")))
    }
  )

  private def readQuota(field: Field): CpuQuota = {
    val cpus = field.number("cpus")
    if (cpus > 0 && cpus <= IdSet.MaxId + 1)
      CpuQuota(cpus, field.count("throttled_periods"), field.count("throttled_usec"))
    else field.refuse("cpus", s"is $cpus, not between 0 and ${IdSet.MaxId + 1} CPUs")
  }

  /** One object of the document; `where` names it in messages. */
  final private class Field(val value: JsonNode, where: String) {

    def optional(name: String): Option[JsonNode] = Option(value.get(name)).filterNot(_.isNull)

    def child(name: String): Field = new Field(required(name), s"$where.$name")

    def text(name: String): String = {
      val node = required(name)
      if (node.isTextual) node.asText else refuse(name, "is not a text")
    }

    def int(name: String): Int = {
      val node = required(name)
      if (node.canConvertToInt) node.asInt else refuse(name, "is not a whole number")
    }

    def long(name: String): Long = {
      val node = required(name)
      if (node.isIntegralNumber && node.canConvertToLong) node.asLong
      else refuse(name, "is not a whole number")
    }

    def optionalLong(name: String): Option[Long] = optional(name).map(_ => long(name))

    /** Where it is there, a whole number of at least 0. */
    def count(name: String): Option[Long] = {
      val value = optionalLong(name)
      if (value.exists(_ < 0)) refuse(name, "is below 0") else value
    }

    def positive(name: String): Long = {
      val value = long(name)
      if (value < 1) refuse(name, "is below 1") else value
    }

    def number(name: String): Double = {
      val node = required(name)
      if (node.isNumber) node.asDouble else refuse(name, "is not a number")
    }

    /** Empty where it is absent. */
    def optionalIds(name: String): IdSet = optional(name).fold(IdSet.empty)(_ => ids(name))

    def ids(name: String): IdSet =
      IdSet.parse(text(name)).fold(problem => refuse(name, s"is wrong: $problem"), identity)

    def items(name: String): Vector[Field] = {
      val node = required(name)
      if (node.isArray)
        node.iterator.asScala.zipWithIndex.map { case (item, at) =>
          new Field(item, s"$where.$name[$at]")
        }.toVector
      else refuse(name, "is not a list")
    }

    /** An object whose keys and values are whole numbers. */
    def numbers(name: String): Map[Int, Int] =
      required(name).properties.asScala.iterator.map { entry =>
        val key = entry.getKey.toIntOption
        key.filter(_ => entry.getValue.canConvertToInt).map(_ -> entry.getValue.asInt) match {
          case Some(pair) => pair
          case None => refuse(name, s"has the wrong entry '${Brief(entry.getKey)}'")
        }
      }.toMap

    def refuse(name: String, problem: String): Nothing =
      throw new UserError(
        s"$where has no usable '${Brief(name)}': it $problem (contract/topology.schema.json)"
      )

    private def required(name: String): JsonNode =
      optional(name).getOrElse(refuse(name, "is absent"))
  }
}
