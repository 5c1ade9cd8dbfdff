package io.hearth.core.plan

import org.scalatest.funsuite.AnyFunSuite

/** What a user gets who runs Spark SQL on a native engine. */
class EngineTest extends AnyFunSuite with Planning {
  private val server = "2 packages, 2 nodes of 128 GB, 12 cores x 2 threads"
  private val laptop = "1 node of 24 GB, 8 cores"
  private val comet = Engine.PluginsKey -> "org.apache.spark.CometPlugin"
  private val gluten = Engine.PluginsKey -> "org.apache.gluten.GlutenPlugin"
  private val rapids = Engine.PluginsKey -> "com.nvidia.spark.SQLPlugin"

  private def tried(machine: String, memoryMb: Option[Long], settings: (String, String)*) =
    planning(
      described(machine),
      Limits(None, None, memoryMb, settings.toMap),
      Workload(Some(WorkloadKind.Sql), None)
    )

  private def plan(machine: String, settings: (String, String)*): Plan =
    tried(machine, None, settings: _*).fold(u => fail(u.message), identity)

  private def footprint(e: ExecutorPlan) = e.memoryMb

  private def said(plan: Plan) = plan.reasons.find(_.decision == "native engine")

  test("a native engine is known by its plugin among others, or by its shuffle manager") {
    def named(settings: (String, String)*) = Engine.of(settings.toMap.get).map(_.name)
    assert(named().isEmpty)
    assert(named(Engine.PluginsKey -> "com.example.Plugin").isEmpty)
    for (engine <- Engine.All; plugin <- engine.plugins)
      assert(named(Engine.PluginsKey -> s"com.example.Plugin, $plugin").contains(engine.name))
    for (engine <- Engine.All; manager <- engine.shuffleManager)
      assert(named(Engine.ShuffleManagerKey -> manager).contains(engine.name))
    assert(named(Engine.ShuffleManagerKey -> "sort").isEmpty)
  }

  test("Comet and Gluten get a small heap and the rest off it, within what plain Spark would have") {
    for (machine <- Seq(server, laptop); engine <- Seq(comet, gluten)) {
      val (plain, own) = (plan(machine), plan(machine, engine))
      for (e <- own.executors) {
        assert(e.offHeapMb >= 2 * e.heapMb, s"$machine: $e")
        assert(e.heapMb >= 2048, "what Spark itself does needs a heap")
        assert(e.overheadMb == math.max(1024L, e.heapMb / 5))
      }
      assert(own.executors.map(footprint).sum <= plain.executors.map(footprint).sum * 11 / 10)
      assert(own.executors.map(_.taskSlots).sum == plain.executors.map(_.taskSlots).sum)
      assert(own.conf("spark.memory.offHeap.enabled") == "true")
      assert(own.conf("spark.memory.offHeap.size") == s"${own.executors.head.offHeapMb}m")
      assert(said(own).exists(_.because.contains("its own shuffle takes the place of hearth's")))
    }
  }

  test("an engine shuffles by its own manager, unless the user names another") {
    assert(plan(server, comet).conf(Engine.ShuffleManagerKey).contains("CometShuffleManager"))
    assert(plan(laptop, gluten).conf(Engine.ShuffleManagerKey).contains("ColumnarShuffleManager"))
    val users = plan(server, comet, Engine.ShuffleManagerKey -> "sort")
    assert(!users.conf.contains(Engine.ShuffleManagerKey))
    assert(!plan(server, rapids).conf.contains(Engine.ShuffleManagerKey))
    assert(!plan(server).conf.contains(Engine.ShuffleManagerKey))
  }

  test("an engine's shuffle, or another's, writes the files that it would without hearth") {
    def written(settings: (String, String)*) =
      plan(laptop, settings: _*).conf.get("spark.shuffle.sort.bypassMergeThreshold")
    assert(written().contains("31"))
    val manager = Engine.ShuffleManagerKey
    assert(written(manager -> "org.apache.spark.shuffle.wire.WireShuffleManager").contains("31"))
    assert(written(manager -> "SORT").contains("31"))
    val s3 = manager -> "org.apache.spark.shuffle.sort.S3ShuffleManager"
    for (other <- Seq(comet, gluten, rapids, s3)) assert(written(other).isEmpty, other)
  }

  test("Comet has as many worker threads as task slots in one JVM too, where it would have one") {
    val one = plan(laptop, comet)
    assert(one.mode == PlanMode.Native)
    assert(one.conf("spark.executor.cores") == s"${one.executors.head.taskSlots}")
    assert(!plan(laptop, gluten).conf.contains("spark.executor.cores"))
    val several = plan(server, comet)
    assert(several.conf("spark.executor.cores") == s"${several.executors.head.taskSlots}")
  }

  test("RAPIDS keeps Spark's heap, beside which its pinned memory counts") {
    val pinned = "spark.rapids.memory.pinnedPool.size"
    val (plain, own) = (plan(server), plan(server, rapids, pinned -> "8g"))
    for ((a, b) <- plain.executors.zip(own.executors)) {
      assert(b.heapMb == a.heapMb && b.overheadMb == a.overheadMb + (8 << 10))
      assert(footprint(b) <= footprint(a), "off-heap memory gives way")
    }
    val refused = tried(laptop, None, rapids, pinned -> "40g").swap.getOrElse(fail("planned"))
    assert(refused.name == pinned && refused.value.contains("40"))
  }

  test("of RAPIDS' sizes of host memory the largest counts, and a negative one is none") {
    val pinned = "spark.rapids.memory.pinnedPool.size" -> "4g"
    val usual = plan(server, rapids).executors.head.overheadMb
    for (key <- Seq("offHeapLimit.size", "spillStorageSize")) {
      val more = s"spark.rapids.memory.host.$key"
      assert(plan(server, rapids, pinned, more -> "8g").executors.head.overheadMb == usual + 8192)
      assert(plan(server, rapids, pinned, more -> "-1").executors.head.overheadMb == usual + 4096)
    }
  }

  test("where Gluten sizes off-heap memory itself, the heap is all of an executor's memory") {
    val dynamic = "spark.gluten.memory.dynamic.offHeap.sizing.enabled" -> "true"
    val ignored = Seq("spark.memory.offHeap.enabled" -> "true", "spark.memory.offHeap.size" -> "9g")
    val usual = plan(server, gluten)
    for (settings <- Seq(Nil, Seq("spark.memory.offHeap.enabled" -> "false"), ignored)) {
      val own = plan(server, gluten +: dynamic +: settings: _*)
      assert(own.executors.forall(_.offHeapMb == 0))
      assert(!own.conf.contains("spark.memory.offHeap.size"))
      val (mine, theirs) = (own.executors.map(footprint).sum, usual.executors.map(footprint).sum)
      assert((mine - theirs).abs * 50 < theirs, s"$mine of $theirs MB")
      assert(!said(own).exists(_.because.contains("warning")))
    }
  }

  test("the user's sizes stand, and what does not fit together is refused by name with the most") {
    val off = Seq("spark.memory.offHeap.enabled" -> "true", "spark.memory.offHeap.size" -> "6g")
    val users = plan(laptop, comet +: off: _*)
    assert(users.executors.forall(_.offHeapMb == 6144))
    assert(!users.conf.contains("spark.memory.offHeap.size"))
    val heap = tried(laptop, Some(30720), comet).swap.getOrElse(fail("planned"))
    assert(heap.name == "--memory" && heap.remedy.startsWith("ask for at most "))
    val max = tried(laptop, Some(8192), comet +: off: _*).fold(u => fail(u.message), identity)
    assert(max.executors.map(footprint).sum <= (24 << 10))
    val all = Seq("spark.memory.offHeap.enabled" -> "true", "spark.memory.offHeap.size" -> "60g")
    val much = tried(laptop, None, comet +: all: _*).swap.getOrElse(fail("planned"))
    assert(much.name == "spark.memory.offHeap.size")
    assert(much.remedy.startsWith("ask for at most "), much.remedy)
  }

  test("who turns off-heap memory off is told that the engine then does nothing") {
    val without = plan(laptop, comet, "spark.memory.offHeap.enabled" -> "false")
    assert(without.executors.forall(_.offHeapMb == 0))
    assert(said(without).exists(_.because.startsWith("warning")))
  }
}
