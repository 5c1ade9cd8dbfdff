package io.hearth.core.plan

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.topology.{Device, DeviceKind, IdSet, MachineSpec, Scratch, Topology}

/** What a user gets for what he asks, on machines described in a line. */
class PlannerTest extends AnyFunSuite with Planning {
  private val power8 = "2 packages, 4 nodes of 256 GB, 6 cores x 8 threads"
  private val xeon = "2 packages, 2 nodes of 128 GB, 12 cores x 2 threads"
  private val gigabyte = 1L << 30

  private def tried(
      machine: String,
      limits: Limits = Limits.none,
      workload: Workload = Workload.unknown,
      occupied: IdSet = IdSet.empty,
      change: Topology => Topology = identity
  ): Either[Unfit, Plan] = Planner.plan(change(described(machine)), workload, limits, occupied)

  private def plan(
      machine: String,
      limits: Limits = Limits.none,
      workload: Workload = Workload.unknown,
      occupied: IdSet = IdSet.empty,
      change: Topology => Topology = identity
  ): Plan = planned(change(described(machine)), limits, workload, occupied)

  private def refused(machine: String, limits: Limits): Unfit =
    tried(machine, limits).swap.getOrElse(fail("it was planned"))

  private def shape(executors: Int, cores: Int) =
    Limits(Some(executors), Some(cores), None, Map.empty)
  private def executors(n: Int) = Limits(Some(n), None, None, Map.empty)
  private def conf(settings: (String, String)*) = Limits.none.copy(conf = settings.toMap)
  private def slots(plan: Plan) = plan.executors.map(_.taskSlots)
  private def nodes(plan: Plan) = plan.executors.map(_.memoryNodes.toString)
  private def because(plan: Plan, decision: String) = reasonOf(plan, decision).because

  test("executors are no more than the machine's GPUs allow, where they are known") {
    val each = "spark.executor.resource.gpu.amount"
    def gpus(n: Int)(t: Topology) =
      t.copy(devices = Vector.tabulate(n)(i => Device(s"$i", DeviceKind.Gpu, None, None)))
    def got(n: Int, amount: Int, limits: Limits = Limits.none) =
      plan(power8, limits.copy(conf = Map(each -> s"$amount")), change = gpus(n))
    assert(got(0, 2).executors.size > 2)
    for (limits <- Vector(Limits.none, Limits.none.copy(cores = Some(4)))) {
      assert(got(4, 2, limits).executors.size == 2)
      assert(because(got(4, 2, limits), "executors").contains("; 4 GPUs, 2 for each executor"))
      assert(!because(got(4, 2, limits), "executors").contains("memory suffices"))
      assert(got(1, 2, limits).executors.size == 1)
    }
    assert(got(100, 1).executors.size == got(0, 1).executors.size)
    // The script that finds GPUs may know of more, as of shared ones: the driver asks it.
    assert(got(4, 2, executors(3)).executors.size == 3)
  }

  test("a last-level cache that is wide enough keeps its executors to itself") {
    val got = plan("1 node of 256 GB, 24 cores x 2 threads, l3 of 6 cores")
    val caches = Vector.tabulate(4)(i =>
      IdSet.from(6 * i until 6 * i + 6) | IdSet.from(24 + 6 * i until 30 + 6 * i)
    )
    assert(got.executors.forall(e => caches.exists(e.cpus.subsetOf)))
    // Equal shares of these 21 cores would begin inside one cache and end in the next.
    val odd = plan("1 node of 256 GB, 21 cores x 2 threads, l3 of 7 cores")
    assert(odd.executors.size == 3)
    assert(odd.executors.forall(_.cpus.toVector.map(_ % 21 / 7).distinct.sizeIs == 1))
  }

  test(
    "GPUs and other custom resources get executors where one JVM would do, and the key is named"
  ) {
    for (of <- Seq("executor", "task")) {
      val key = s"spark.$of.resource.gpu.amount"
      val got = plan("1 node of 16 GB, 8 cores x 2 threads", conf(key -> "1"))
      assert(got.mode == PlanMode.Partitioned && got.executors.size == 1)
      assert(got.reasons.exists(_.because.contains(key)))
    }
  }

  test(
    "data that one heap holds runs native on one node, below the cores where one JVM stops scaling"
  ) {
    val small = Workload(None, Some(2 * gigabyte))
    assert(plan("1 node of 128 GB, 32 cores", workload = small).mode == PlanMode.Native)
    assert(plan("1 node of 128 GB, 60 cores", workload = small).mode == PlanMode.Partitioned)
    assert(plan("2 nodes of 128 GB, 16 cores", workload = small).mode == PlanMode.Partitioned)
    val large = Workload(None, Some(20 * gigabyte))
    assert(plan("1 node of 128 GB, 32 cores", workload = large).mode == PlanMode.Partitioned)
  }

  test("one executor gets the whole machine, two a package each, three on two nodes two and one") {
    assert(nodes(plan(power8, executors(1))) == Vector("0-3"))
    assert(nodes(plan(power8, executors(2))) == Vector("0-1", "2-3"))
    assert(nodes(plan(xeon, executors(3))) == Vector("0", "0", "1"))
    assert(plan(power8, executors(2)).executors.map(_.cpus.size) == Vector(96, 96))
  }

  private def inPackages(executors: Int, cores: Int) =
    shape(executors, cores).copy(conf = Map("spark.hearth.binding.scope" -> "package"))

  test("bound to packages, executors share its CPUs and nodes, and size their JVMs by their part") {
    val got = plan(power8, inPackages(6, 16))
    val packages = MachineSpec.parse(power8).packages.map(_.cpus)
    assert(got.executors.map(_.cpus) == packages.flatMap(Vector.fill(3)(_)))
    assert(nodes(got) == Vector("0-1", "0-1", "0-1", "2-3", "2-3", "2-3"))
    assert(got.executors.map(_.host).distinct.size == 2)
    val counted = got.executors.map(_.javaOptions.find(_.contains("ActiveProcessorCount")).get)
    assert(counted.forall(_.split("=").last.toInt <= 96 / 3), counted)
    assert(because(got, "placement").contains("shared by 3 executors"))
    assert(because(got, "hand-over").contains("share the CPUs of their package"))
  }

  test("an executor wider than a package is refused where it is to be bound to one") {
    val unfit = refused(power8, inPackages(1, 120))
    assert(unfit.name == "spark.hearth.binding.scope" && unfit.limit.contains("in 2 packages"))
  }

  test("idle CPUs of executors that share them already cannot be handed over") {
    for (mode <- HandOverMode.all.map(_.name) if mode != "off") {
      val both = Map("spark.hearth.binding.scope" -> "package", "spark.hearth.handOver" -> mode)
      assert(refused(power8, Limits.none.copy(conf = both)).name == "spark.hearth.handOver", mode)
    }
  }

  test("an executor with more tasks than a package is worth spans packages") {
    val got = plan(power8, shape(1, 96))
    assert(slots(got) == Vector(96) && nodes(got) == Vector("0-3"))
    assert(got.reasons.exists(r => r.decision == "placement" && r.value == "several NUMA nodes"))
    assert(because(got, "placement").startsWith("1 of 1 executor has CPUs on several NUMA nodes"))
    assert(
      because(got, "placement").endsWith(
        "an executor is wider than a node, or a node has too little usable memory"
      )
    )
  }

  test("one executor for each hardware thread is possible, one more is refused") {
    assert(slots(plan(power8, shape(192, 1))) == Vector.fill(192)(1))
    val unfit = refused(power8, shape(193, 1))
    assert(unfit.message.contains("--executors") && unfit.message.contains("192 CPUs"))
    assert(refused(power8, shape(100, 2)).message.contains("--executors x --cores: 100 x 2 = 200"))
  }

  test("cores alone get as many executors as the machine holds") {
    assert(plan(xeon, Limits(None, Some(6), None, Map.empty)).master == "local-numa[8x6]")
    assert(plan(power8, Limits(None, Some(48), None, Map.empty)).master == "local-numa[2x48]")
    assert(refused(xeon, Limits(None, Some(49), None, Map.empty)).name == "--cores")
  }

  test("a heap that does not fit is refused with the largest that does, and that one fits") {
    val asked = Limits(Some(12), None, Some(100000L), Map.empty)
    val unfit = refused(power8, asked)
    assert(unfit.name == "--memory" && unfit.value == "100000m (97 GB)")
    val largest = """at most (\d+)m""".r.findFirstMatchIn(unfit.remedy).map(_.group(1).toLong)
    assert(largest.exists(_ > 60000))
    assert(
      plan(power8, asked.copy(memoryMb = largest)).executors.forall(e => largest.contains(e.heapMb))
    )
    assert(tried(power8, asked.copy(memoryMb = largest.map(_ + 1))).isLeft)
  }

  test("a heap larger than a node's memory takes the memory of several nodes") {
    val got = plan(power8, Limits(None, None, Some(300L * 1024), Map.empty))
    assert(got.executors.size == 2 && nodes(got) == Vector("0-1", "2-3"))
    assert(got.executors.head.javaOptions.contains("-XX:+UseG1GC"))
  }

  test(
    "the user's Spark settings count as the options do, and contradictions are refused by name"
  ) {
    val set = conf(
      "spark.executor.instances" -> "4",
      "spark.executor.cores" -> "6",
      "spark.executor.memory" -> "10g"
    )
    val got = plan(xeon, set)
    assert(slots(got) == Vector(6, 6, 6, 6) && got.executors.forall(_.heapMb == 10240))
    assert(set.conf.keySet.intersect(got.conf.keySet).isEmpty)
    val twice = Limits(Some(4), None, None, Map("spark.executor.instances" -> "2"))
    assert(refused(xeon, twice).message.contains("spark.executor.instances says 2"))
    for (
      key <- Seq(
        "spark.executor.instances",
        "spark.executor.memory",
        "spark.task.cpus",
        "spark.driver.memory"
      )
    )
      assert(refused(xeon, conf(key -> "many")).message.startsWith(s"$key: 'many'"))
  }

  test("numbers below one are refused") {
    assert(refused(xeon, executors(0)).name == "--executors")
    assert(refused(xeon, Limits(None, Some(-1), None, Map.empty)).name == "--cores")
    assert(refused(xeon, Limits(None, None, Some(0L), Map.empty)).name == "--memory")
  }

  test("spark.cores.max bounds the task slots of all executors") {
    assert(slots(plan(power8, conf("spark.cores.max" -> "20"))).sum == 20)
    val unfit = refused(power8, shape(4, 12).copy(conf = Map("spark.cores.max" -> "20")))
    assert(unfit.name == "spark.cores.max" && unfit.limit.contains("48"))
  }

  test("no executor is narrower than a task") {
    val wide = plan(xeon, conf("spark.task.cpus" -> "20"))
    assert(wide.executors.forall(_.taskSlots >= 20))
    assert(refused(xeon, conf("spark.task.cpus" -> "49")).name == "spark.task.cpus")
  }

  test("dynamic allocation gets places for its maximum of executors") {
    val on = "spark.dynamicAllocation.enabled" -> "true"
    val got = plan(power8, conf(on, "spark.dynamicAllocation.maxExecutors" -> "4"))
    assert(got.executors.size == 4 && !got.conf.contains("spark.executor.instances"))
    assert(plan("1 node of 16 GB, 4 cores", conf(on)).mode == PlanMode.Partitioned)
    val low = conf(
      on,
      "spark.dynamicAllocation.maxExecutors" -> "2",
      "spark.dynamicAllocation.minExecutors" -> "3"
    )
    assert(refused(xeon, low).name == "spark.dynamicAllocation")
  }

  test(
    "occupied CPUs and their share of memory are left alone, and one free node is not run native"
  ) {
    val got = plan(xeon, occupied = IdSet.from((0 until 12) ++ (24 until 36)))
    assert(nodes(got).distinct == Vector("1"))
    val half = plan("1 node of 16 GB, 8 cores", occupied = IdSet.from(0 until 4))
    assert(half.mode == PlanMode.Partitioned && half.executors.forall(_.cpus.toString == "4-7"))
    assert(half.executors.map(e => e.heapMb + e.overheadMb).sum < 8 * 1024)
    assert(tried(xeon, occupied = IdSet.from(0 until 48)).left.exists(_.name == "CPUs"))
  }

  test("the cgroup's memory limit is shared by the nodes") {
    val got = plan(
      xeon,
      change = t => t.copy(allowed = t.allowed.copy(memoryLimitBytes = Some(32 * gigabyte)))
    )
    val all = got.executors.map(e => e.heapMb + e.overheadMb + e.offHeapMb).sum + got.driver.heapMb
    assert(all < 32 * 1024 && all > 23 * 1024)
    val tiny =
      tried(
        xeon,
        change = t => t.copy(allowed = t.allowed.copy(memoryLimitBytes = Some(gigabyte / 2)))
      )
    assert(tiny.left.exists(u => u.name == "memory" && u.remedy.contains("cgroup")))
  }

  test("a node without memory uses its nearest neighbour's, a node without CPUs serves nobody") {
    val poor = plan(
      "4 nodes of 64 GB, 8 cores, 1 memory-only node of 64 GB, " +
        "distances 10 30 20 30 40 / 30 10 30 30 40 / 20 30 10 30 40 / 30 30 30 10 40 / 40 40 40 40 10",
      change = t => t.copy(nodes = t.nodes.map(n => if (n.id == 0) n.copy(memoryBytes = 0) else n))
    )
    assert(nodes(poor) == Vector("2", "1", "2", "3"))
    assert(because(poor, "memory").contains("memory of node 4 is not used"))
    assert(because(poor, "memory").contains("CPUs of node 0 use the nearest node"))
  }

  test("a node whose memory belongs to occupied CPUs serves nobody, and the reason names them") {
    def beside(occupied: Int) =
      plan("2 nodes of 16 GB, 52 cores", occupied = IdSet.from(1 to occupied))
    assert(nodes(beside(40)).toSet == Set("0", "1")) // 12 of 52 CPUs: 3.7 GB
    assert(nodes(beside(51)).toSet == Set("1")) // one of 52 CPUs: 300 MB
    assert(because(beside(51), "memory").contains("memory (without the share of occupied CPUs)"))
  }

  test("memory is shared by what runs: the input's pages, Python workers, and the heap") {
    val laptop = "1 node of 24 GB, 2 cores"
    def heapOf(workload: Workload) = plan(laptop, workload = workload).executors.head.heapMb
    val unknown = plan(laptop)
    val first = unknown.executors.head
    assert(first.heapMb + first.overheadMb <= (24 << 10) * 3 / 4)
    assert(heapOf(Workload(None, Some(gigabyte))) > heapOf(Workload.unknown))
    assert(heapOf(Workload(None, Some(100 * gigabyte))) < heapOf(Workload.unknown))
    val inPython = plan(laptop, workload = Workload(None, None, python = true))
    val python = inPython.executors.head
    assert(python.heapMb < first.heapMb)
    assert(python.overheadMb == (python.heapMb * 0.4).toLong)
    assert(inPython.reasons.find(_.decision == "overhead").get.because.contains("Python workers"))
    val small = plan("1 node of 3 GB, 2 cores").executors.head
    assert(small.heapMb >= 2048, "a comfortable heap comes first")
  }

  test("on one or two CPUs a JVM asks for its second compiler later, unless the user has a say") {
    val later = "-XX:Tier4InvocationThreshold=15000"
    def ofExecutors(p: Plan) = p.executors.count(_.javaOptions.contains(later))
    def ofDriver(p: Plan) = p.conf.get("spark.driver.extraJavaOptions").exists(_.contains(later))
    val two = plan("1 node of 16 GB, 2 cores")
    assert(ofDriver(two) && because(two, "second compiler").contains("sooner"))
    val parted = plan("1 node of 16 GB, 2 cores", shape(2, 1))
    assert(ofExecutors(parted) == 2 && ofDriver(parted))
    val wide = plan("1 node of 16 GB, 3 cores")
    assert(!ofDriver(wide) && !wide.reasons.exists(_.decision == "second compiler"))
    assert(!ofDriver(plan(xeon)) && ofExecutors(plan(xeon)) == 0)
    val beside = plan("1 node of 16 GB, 8 cores", shape(2, 3))
    assert(beside.driver.bound && beside.driver.cpus.size == 2 && !ofDriver(beside))
    for (mine <- Seq("-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation", "-XX:Tier0Delay=9")) {
      val users = conf("spark.driver.extraJavaOptions" -> mine)
      assert(!ofDriver(plan("1 node of 16 GB, 2 cores", users)), mine)
    }
  }

  test("on one or two CPUs the young generation has a limit, unless the user has a say") {
    def limits(p: Plan) =
      p.executors.flatMap(_.javaOptions.filter(_.startsWith("-XX:MaxNewSize=")))
    val limit = "-XX:MaxNewSize=1024m"
    val two = plan("1 node of 16 GB, 2 cores")
    assert(two.conf("spark.driver.extraJavaOptions").contains(limit))
    assert(because(two, "young generation").contains("sooner"))
    assert(
      limits(plan("1 node of 16 GB, 2 cores", shape(2, 1))) == Vector.fill(2)("-XX:MaxNewSize=512m")
    )
    for (none <- Seq(plan("1 node of 16 GB, 3 cores"), plan("1 node of 3 GB, 2 cores"), plan(xeon)))
      assert(limits(none).isEmpty && !none.reasons.exists(_.decision == "young generation"))
    for (mine <- Seq("-Xmn2g", "-XX:NewRatio=1", "-XX:MaxNewSize=3g", "-XX:+UseG1GC")) {
      val users = conf("spark.driver.extraJavaOptions" -> mine)
      val options = plan("1 node of 16 GB, 2 cores", users).conf("spark.driver.extraJavaOptions")
      assert(!options.contains(limit), mine)
    }
    val parallel = conf("spark.driver.extraJavaOptions" -> "-XX:+UseParallelGC")
    val theirs = plan("1 node of 16 GB, 2 cores", parallel)
    assert(theirs.conf("spark.driver.extraJavaOptions").contains(limit))
  }

  test("what several executors gain is said where a study's machine was like this one only") {
    def gain(machine: String, workload: Workload = Workload.unknown) = {
      val reason =
        plan(machine, workload = workload).reasons.find(_.decision == "expected gain").get
      (reason.value, reason.source)
    }
    val ml = Workload(Some(WorkloadKind.Ml), None)
    val awan = "up to 26 % less time than one JVM"
    assert(gain("2 nodes of 64 GB, 12 cores", ml)._1.startsWith(awan))
    assert(!gain(xeon, ml)._1.contains(awan), "two threads a core")
    assert(!gain("2 nodes of 64 GB, 12 cores")._1.contains("one JVM"), "of two workloads only")
    val large = Workload(None, Some(300 * gigabyte))
    assert(gain("1 node of 128 GB, 40 cores")._1 == "unknown")
    assert(gain("1 node of 128 GB, 16 cores", large)._1 == "unknown")
    val eight = "8 packages, 8 nodes of 100 GB, 15 cores"
    assert(gain(eight) == ("up to 1.5 times as fast as one JVM" -> "Kyong 2017"))
    assert(gain(eight, Workload(Some(WorkloadKind.Sql), None))._1 == "unknown", "executors span")
  }

  test("the collector's threads are the executor's, and the user's collector leaves out ours") {
    val ours = plan(xeon).executors.head.javaOptions
    assert(
      ours == Vector(
        "-XX:+UseParallelGC",
        "-XX:ParallelGCThreads=18",
        "-XX:ActiveProcessorCount=24",
        "-XX:-UseNUMA"
      )
    )
    val users = plan(
      xeon,
      conf("spark.executor.extraJavaOptions" -> "-XX:+UseZGC -Dnote='a b'")
    ).executors.head.javaOptions
    assert(users == ours.tail, "the user's own are no part of the plan")
    assert(
      refused(xeon, conf("spark.executor.extraJavaOptions" -> "-Xmx9g")).message
        .contains("--memory")
    )
  }

  test("shuffle partitions are a multiple of the tasks at once, whatever the input") {
    for (input <- Seq(0L, 24 * gigabyte, 1000 * gigabyte, Long.MaxValue)) {
      val planned = plan(power8, workload = Workload(None, Some(input)))
      val n = planned.conf("spark.sql.shuffle.partitions").toInt
      assert(n >= 96 && n % 96 == 0, input)
    }
    val asked = plan(power8, conf("spark.sql.shuffle.partitions" -> "7"))
    assert(!asked.conf.contains("spark.sql.shuffle.partitions"))
  }

  test(
    "of an unknown input Spark's own number of shuffle partitions stands, unless it is too few"
  ) {
    val small = plan(power8)
    assert(!small.conf.contains("spark.sql.shuffle.partitions"))
    assert(because(small, "shuffle partitions").contains("at least two for each of the 96 tasks"))
    val large = plan("4 packages, 8 nodes of 256 GB, 20 cores")
    assert(large.conf("spark.sql.shuffle.partitions") == "320")
    assert(because(large, "shuffle partitions").contains("Spark's own number of 200 is less"))
  }

  test(
    "classes of queries are kept by the size of the smallest heap, unless the user says how many"
  ) {
    val key = "spark.sql.codegen.cache.maxEntries"
    val settings = plan(xeon).conf
    assert(settings(key) == "1000" && because(plan(xeon), "generated classes").contains("100"))
    val small = plan(xeon, conf("spark.driver.memory" -> "600m"))
    assert(small.conf(key) == "600", "the driver has classes of its own")
    assert(!plan("1 node of 16 GB, 2 cores", conf(key -> "7")).conf.contains(key))
    assert(!plan(xeon, conf("spark.plugins" -> "org.apache.spark.CometPlugin")).conf.contains(key))
  }

  test(
    "a task's 8192 pages hold all of any heap; small heaps, heaps beside off-heap memory and users keep Spark's pages"
  ) {
    val key = "spark.buffer.pageSize"
    def page(gb: Int, more: (String, String)*): Option[Long] = plan(
      "1 node of 16 TB, 8 cores",
      conf((more :+ ("spark.driver.memory" -> s"${gb}g")): _*)
    ).conf.get(key).map(_.stripSuffix("m").toLong)
    assert(page(12) == Some(4) && page(31) == Some(8) && page(1).isEmpty)
    for (gb <- Seq(12, 31, 100, 300, 1000)) assert(page(gb).forall(_ * 8192 >= gb * 1024L), gb)
    assert(
      page(
        31,
        "spark.memory.offHeap.enabled" -> "true",
        "spark.memory.offHeap.size" -> "1g"
      ).isEmpty
    )
    assert(page(31, key -> "64m").isEmpty)
  }

  test("one wait for locality that the user set holds at every level") {
    def waits(got: Plan) = got.conf.filter { case (key, _) => key.startsWith("spark.locality") }
    assert(waits(plan(power8))("spark.locality.wait.process") == "100ms")
    val asked = plan(power8, conf("spark.locality.wait" -> "5s"))
    assert(waits(asked).isEmpty)
    assert(!asked.reasons.exists(_.decision == "locality wait"))
  }

  test(
    "shuffle files stay in memory where the input is known and small, else the directory is left alone"
  ) {
    val known = Workload(None, Some(10 * gigabyte))
    assert(plan(power8, workload = known).conf.get("spark.local.dir").contains("/dev/shm"))
    assert(!plan(power8).conf.contains("spark.local.dir"))
    assert(
      !plan(xeon, workload = known.copy(inputBytes = Some(300 * gigabyte))).conf
        .contains("spark.local.dir")
    )
    val tmpfs = Some(Scratch("/dev/shm", freeMb = 100000))
    def chosen(gigabytes: Int) =
      ScratchChoice.byInput(Workload(None, Some(gigabytes * gigabyte)), 10 * 1024, tmpfs).value
    assert(chosen(2).contains("/dev/shm") && chosen(3).isEmpty, "twice 3 GB is over half of 10 GB")
    val uneven = (t: Topology) =>
      t.copy(nodes = t.nodes.map(n => if (n.id == 1) n.copy(memoryBytes = 40 * gigabyte) else n))
    assert(plan(xeon, workload = known).conf.contains("spark.local.dir"))
    val tight = plan(xeon, workload = known, change = uneven)
    assert(!tight.conf.contains("spark.local.dir"), "files of node 1 fall on node 1")
    val live = plan(power8, workload = known, change = _.copy(source = "live"))
    assert(!live.conf.contains("spark.local.dir"))
    assert(!plan(power8, conf("spark.local.dir" -> "/ssd"), known).conf.contains("spark.local.dir"))
  }

  test(
    "a node is a host, and on one node each executor is a host, by addresses that can be dialled"
  ) {
    assert(plan(power8).executors.map(_.host).distinct.size == 4)
    val one = plan("1 node of 256 GB, 32 cores").executors.map(_.host)
    assert(one.distinct.size == one.size && one.forall(_.startsWith("127.78.")))
    val names = Hosts.of(Vector.range(0, 600), shared = false).value
    assert(names.forall(h => !h.endsWith(".0") && !h.endsWith(".255")))
    assert(names.distinct.size == 600)
  }

  test("the driver takes the CPUs that executors leave, and is unbound where they leave none") {
    assert(!plan(xeon).driver.bound)
    val some = plan(xeon, shape(2, 4)).driver
    assert(some.bound && some.cpus.size == 32)
  }

  test("the settings read back give the same executors") {
    val tiered = "2 nodes of 100 GB, 10 cores x 2 threads, 1 memory-only node of 9 GB"
    for (machine <- Seq(power8, xeon, tiered)) {
      val first = plan(machine)
      val again = plan(machine, Limits.none.copy(conf = first.conf))
      if (slots(first).distinct.size == 1)
        assert(again.executors == first.executors)
    }
  }

  test("spark-submit's arguments quote what a shell would take apart") {
    val set = conf("spark.executor.extraJavaOptions" -> "-Da='b c'")
    val got = plan(xeon, set)
    val text = PlanFormat.SparkSubmit.render(got, set.conf)
    assert(text.startsWith("--master 'local-numa[2x24]'"))
    assert(text.contains("""--conf 'spark.executor.extraJavaOptions=-Da='\''b c'\'''"""))
    assert(PlanFormat.Conf.render(got, set.conf).contains("spark.executor.cores 24\n"))
  }

  test("a small cgroup on many CPUs gets as many tasks as it has memory for, with the figures") {
    for (limit <- Seq(2, 3, 4)) {
      val got = plan(
        "1 node of 256 GB, 64 cores",
        change = t => t.copy(allowed = t.allowed.copy(memoryLimitBytes = Some(limit * gigabyte)))
      )
      val heap = got.executors.head.heapMb
      assert(got.mode == PlanMode.Native && slots(got).sum == ((heap - 300) / 128).toInt)
      assert(because(got, "executors").contains(s"${slots(got).sum} of 64 worthwhile threads"))
    }
  }

  test(
    "memory of nodes without CPUs serves where nodes are poor, and is left out with the reason"
  ) {
    val poor = plan("2 nodes of 1 GB, 8 cores, 1 memory-only node of 256 GB")
    assert(slots(poor) == Vector(8, 8) && poor.executors.forall(_.memoryNodes.contains(2)))
    val rich = plan("2 nodes of 64 GB, 8 cores, 1 memory-only node of 256 GB")
    assert(
      because(rich, "memory").contains("memory of node 2 is not used: no executor runs there")
    )
  }

  test("a heap that Spark would refuse is refused by the plan, by the name that fixed it") {
    assert(
      refused(xeon, Limits(None, None, Some(100L), Map.empty)).message.startsWith("--memory: 100m")
    )
    for (key <- Seq("spark.executor.memory", "spark.driver.memory"))
      assert(refused(xeon, conf(key -> "400m")).message.startsWith(s"$key: 400m"))
    // The parallel collector counts eight ninths of -Xmx, G1 all of it.
    assert(refused(xeon, conf("spark.executor.memory" -> "500m")).remedy.contains("512m"))
    val g1 =
      conf("spark.executor.memory" -> "450m", "spark.executor.extraJavaOptions" -> "-XX:+UseG1GC")
    assert(plan(xeon, g1).executors.forall(_.heapMb == 450))
  }

  test("what the environment gives every JVM is the user's: no flag of the plan contradicts it") {
    val named = Vector("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
    def with1(variable: String, text: String, limits: Limits = Limits.none) =
      limits.copy(environment = Map(variable -> text))
    for (variable <- named) {
      val users = with1(variable, "-XX:+UseG1GC -Dlicence.key=hush -XX:-UseNUMA")
      val bound = plan(xeon, users.copy(executors = Some(2)))
      val flags = bound.executors.flatMap(_.javaOptions)
      assert(!flags.exists(f => f.endsWith("GC") || f.contains("UseNUMA")))
      assert(because(bound, "collector") == s"set in $variable")
      val one = plan("1 node of 16 GB, 2 cores", users)
      assert(!one.conf(DerivedSettings.DriverOptions).contains("GC "), one.conf)
      assert(!Seq(bound, one).mkString.contains("hush"))
      assert(one.reasons.find(_.decision == "collector").exists(_.value == "G1GC"))
    }
    val submit = with1("SPARK_SUBMIT_OPTS", "-XX:+UseG1GC")
    assert(!plan("1 node of 16 GB, 2 cores", submit).executors.head.javaOptions.exists(parallel))
    assert(plan(xeon, submit.copy(executors = Some(2))).executors.head.javaOptions.exists(parallel))
    val other = submit.copy(
      executors = Some(2),
      conf = Map("spark.executorEnv.JAVA_TOOL_OPTIONS" -> "-XX:+UseSerialGC")
    )
    assert(!plan(xeon, other).executors.head.javaOptions.exists(parallel))
    for (of <- Seq("executor", "driver")) {
      val default = conf(s"spark.$of.defaultJavaOptions" -> "-XX:+UseG1GC")
      val asked = if (of == "driver") default else default.copy(executors = Some(2))
      val machine = if (of == "driver") "1 node of 16 GB, 2 cores" else xeon
      assert(!plan(machine, asked).executors.head.javaOptions.exists(parallel), of)
    }
  }

  private def parallel(flag: String) = flag == "-XX:+UseParallelGC"

  test("a heap that the environment gives every JVM is the plan's, unless Spark's settings say") {
    def environment(variable: String, flag: String) =
      executors(2).copy(environment = Map(variable -> s"-Dx $flag"))
    for (variable <- Seq("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")) {
      val got = plan(xeon, environment(variable, "-Xmx3g"))
      assert(got.executors.map(_.heapMb) == Vector(3072, 3072) && got.driver.heapMb == 3072)
      assert(got.conf("spark.executor.memory") == "3072m")
      assert(because(got, "heap").contains(s"-Xmx in $variable"))
    }
    val set = Map("spark.executor.memory" -> "5g", "spark.driver.memory" -> "5g")
    val before = environment("JAVA_TOOL_OPTIONS", "-Xmx3g").copy(conf = set)
    assert(plan(xeon, before).executors.map(_.heapMb) == Vector(5120, 5120))
    val after = refused(xeon, environment("_JAVA_OPTIONS", "-Xmx3g").copy(conf = set))
    assert(after.name == "spark.executor.memory" && after.message.contains("_JAVA_OPTIONS is 3g"))
    val little = plan(xeon, environment("JAVA_TOOL_OPTIONS", "-Xmx128m"))
    assert(little.executors.forall(_.heapMb > 512), "Spark's own -Xmx comes after it")
  }

  test("memory that Spark grants Python workers is in the plan and in its lease") {
    val got = plan(xeon, conf("spark.executor.pyspark.memory" -> "8g"))
    val document = PlanJson.write(got)
    document.get("executors").forEach(e => assert(e.path("pyspark_mb").asLong == 8192))
    assert(PlanJson.read(document) == got)
    val python =
      plan(xeon, conf("spark.executor.pyspark.memory" -> "8g"), Workload(None, None, python = true))
    assert(python.executors == got.executors, "workers count once")
    val own = got.executors.map(e => e.heapMb + e.offHeapMb + e.overheadMb + 8192).sum
    val leased = PlanLease.memoryBytes(got).values.sum >> 20
    assert((leased - own - got.driver.heapMb - math.max(384, got.driver.heapMb / 10)).abs < 8)
  }

  test("what a driver takes beside its heap is in the plan and in its lease") {
    def leased(settings: (String, String)*) =
      PlanLease
        .memoryBytes(
          plan(xeon, shape(2, 4).copy(conf = settings.toMap + ("spark.driver.memory" -> "8g")))
        )
        .values
        .sum >> 30
    val usual = leased("spark.executor.memory" -> "8g")
    for (
      more <- Seq(
        "spark.driver.memoryOverhead" -> "20g",
        "spark.driver.memoryOverheadFactor" -> "2.5",
        "spark.driver.minMemoryOverhead" -> "20g",
        "spark.yarn.driver.memoryOverhead" -> "20g"
      )
    ) assert(leased("spark.executor.memory" -> "8g", more) - usual == 19, more)
  }

  test("an overhead that the user sets under an older name or for Kubernetes counts") {
    for (
      (key, value) <- Seq(
        "spark.yarn.executor.memoryOverhead" -> "4g",
        "spark.kubernetes.memoryOverheadFactor" -> "0.5"
      )
    ) {
      val got = plan(xeon, conf(key -> value, "spark.executor.memory" -> "8g"))
      assert(got.executors.forall(_.overheadMb == 4096), key)
    }
    val both = conf(
      "spark.kubernetes.memoryOverheadFactor" -> "0.5",
      "spark.executor.memoryOverheadFactor" -> "0.25",
      "spark.executor.memory" -> "8g"
    )
    assert(plan(xeon, both).executors.forall(_.overheadMb == 2048))
  }

  test("memory for the wire that the user sets is a part of the overhead where the wire is used") {
    val wire = "spark.shuffle.manager" -> "org.apache.spark.shuffle.wire.WireShuffleManager"
    val heap = "spark.executor.memory" -> "10g"
    def overhead(settings: (String, String)*) =
      plan(xeon, conf(heap +: settings: _*)).executors.head.overheadMb
    val size = "spark.hearth.shuffle.memory" -> "2g"
    assert(overhead(wire, size) == overhead() + 2048 && overhead(size) == overhead())
  }

  test(
    "a driver's heap that the user fixes is the one JVM's, and the reason where it leaves no other"
  ) {
    val small = plan("1 node of 32 GB, 8 cores", conf("spark.driver.memory" -> "2g"))
    assert(small.mode == PlanMode.Native && small.executors.map(_.heapMb) == Vector(2048))
    assert(small.driver.heapMb == 2048 && because(small, "heap").contains("spark.driver.memory"))
    val large =
      plan("2 nodes of 32 GB, 8 cores x 2 threads", conf("spark.driver.memory" -> "51200m"))
    assert(large.executors.map(_.heapMb) == Vector(51200))
    assert(
      because(large, "partition").startsWith("spark.driver.memory leaves no memory for several")
    )
  }

  test("the driver's memory is blamed where all else fits without it, with a size that fits") {
    val unfit = refused(
      "1 node of 64 GB, 16 cores",
      executors(2).copy(conf = Map("spark.driver.memory" -> "100g"))
    )
    assert(unfit.name == "spark.driver.memory" && unfit.value == "100g")
    assert(unfit.remedy.startsWith("ask for at most ") && unfit.limit.contains("57 GB"))
  }
}
