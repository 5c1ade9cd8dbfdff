package io.hearth.affinity

import java.util.{BitSet, Optional}

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

import org.scalatest.funsuite.AnyFunSuite

/** Which threads are bound, how often, and which are left alone: with a kernel made of maps. */
class BinderTest extends AnyFunSuite {

  private def cpus(list: String): BitSet = Ids.parse(list).get

  /** Threads by id: name, CPUs. */
  final private class Kernel extends Tree with Scheduling {
    val threads: mutable.Map[Int, (String, String)] =
      mutable.Map(1 -> (("hearth-affinity", "0-7")))
    val calls: mutable.Buffer[String] = mutable.Buffer.empty
    val read: mutable.Buffer[Int] = mutable.Buffer.empty
    var error = 0
    var nowNs = 0L

    override def names(directory: String): java.util.List[String] =
      threads.keys.map(_.toString).toVector.sorted.asJava
    override def resolved(path: String): Optional[String] = Optional.empty
    override def line(path: String): Optional[String] = {
      val parts = path.split('/')
      val (tid, file) = (parts(3), parts(4))
      read += tid.toInt
      threads
        .get(tid.toInt)
        .filter(_ => file == "comm")
        .map(_._1)
        .toJava
    }
    override def bind(tid: Int, mask: BitSet): Int = {
      calls += s"$tid ${Ids.show(mask)}"
      if (error == 0) threads(tid) = threads(tid).copy(_2 = Ids.show(mask))
      error
    }
    override def mask(tid: Int): Optional[BitSet] = threads.get(tid).map(t => cpus(t._2)).toJava

    val said: mutable.Buffer[String] = mutable.Buffer.empty
    private val plan = new AffinityPlan(
      Policy.parse("o2ocs", 8),
      Optional.empty,
      java.util.List.of(cpus("0-1"), cpus("2-3")),
      java.util.List.of()
    )
    val binder =
      new Binder(this, this, ThreadNames.all, plan, 0L, 1, text => said += text, () => nowNs)

    def add(tid: Int, name: String, cpus: String = "0-7"): Unit =
      threads(tid) = (name, cpus)
  }

  test("each communication thread is bound once, in turn; no other thread is touched") {
    val k = new Kernel
    Vector("rpc-server-1-1", "IPC Server hand", "main", "DataXceiver for").zipWithIndex.foreach {
      case (name, i) => k.add(10 + i, name)
    }
    assert(k.binder.look(), "new threads are looked at again")
    assert(k.calls == Vector("10 0-1", "11 2-3", "13 0-1"))
    k.nowNs = 2000000000L
    assert(!k.binder.look() && !k.binder.look())
    assert(k.calls.size == 3 && k.binder.bound == 3 && k.said.isEmpty)
  }

  test("a thread that the application bound itself is left alone and named") {
    val k = new Kernel
    k.add(10, "rpc-server-1-1", cpus = "5")
    k.binder.look()
    k.binder.look()
    assert(k.calls.isEmpty)
    assert(k.said == Vector("rpc-server-1-1 (10) stays on CPUs 5, which the application gave it"))
  }

  test(
    "what a thread inherits from a communication thread is taken from it, or replaced by its own turn"
  ) {
    val k = new Kernel
    k.add(10, "worker", cpus = "0-1")
    k.add(11, "shuffle-client-", cpus = "0-1")
    k.add(12, "worker", cpus = "6")
    k.binder.look()
    assert(k.calls == Vector("10 0-7"))
    assert(k.binder.bound == 1, "the first turn is the CPUs that thread 11 has already")
  }

  test("a thread that gets its name after its start is found; so is a later one with the same id") {
    val k = new Kernel
    k.add(10, "java")
    k.binder.look()
    k.add(10, "rpc-client-1-1")
    k.nowNs = 500000000L
    k.binder.look()
    assert(k.calls == Vector("10 0-1"))
    k.nowNs = 5000000000L
    k.threads -= 10
    k.binder.look()
    k.add(10, "rpc-client-1-2")
    k.binder.look()
    assert(k.calls == Vector("10 0-1", "10 2-3"))
  }

  test(
    "a thread that Java named is found whenever it gets a name, and its old one read each second"
  ) {
    val k = new Kernel
    k.add(10, "Thread-7")
    k.add(11, "worker")
    for (ms <- 0 to 60000 by 75) { k.nowNs = ms * 1000000L; k.binder.look() }
    assert(k.read.count(_ == 11) <= 15 && k.read.count(_ == 10) <= 15 + 60)
    k.add(10, "DataStreamer fo")
    k.add(11, "DataStreamer fo")
    k.nowNs += 1000000000L
    assert(!k.binder.look())
    assert(k.calls == Vector("10 0-1"), "a thread with a name of its own keeps it")
  }

  test(
    "what the kernel refuses is named once, and a thread that has just ended is nothing to say"
  ) {
    val k = new Kernel
    k.error = 22
    k.add(10, "rpc-client-1-1")
    k.binder.look()
    k.binder.look()
    assert(k.said.size == 1 && k.said.head.contains("the kernel refused CPUs 0-1 (errno 22)"))
    assert(k.said.head.contains("EINVAL: they must be online and inside the cpuset"))
    k.error = 1
    k.add(12, "rpc-client-1-3")
    k.binder.look()
    assert(k.said.last.contains("(errno 1): EPERM: a seccomp profile"))
    k.error = 3
    k.add(11, "rpc-client-1-2")
    k.binder.look()
    assert(k.said.size == 2 && k.binder.bound == 0)
  }
}
