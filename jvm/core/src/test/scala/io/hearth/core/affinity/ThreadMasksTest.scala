package io.hearth.core.affinity

import java.nio.file.{Files, Path}
import java.util.concurrent.{CountDownLatch, SynchronousQueue, TimeUnit}

import scala.jdk.OptionConverters._

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.testing.{Child, Required, Temporary}
import io.hearth.core.topology.IdSet

/** On real processes of this machine. */
class ThreadMasksTest extends AnyFunSuite {
  private val cpus = LinuxScheduling.cpusOfThread()

  private def waited(pid: Long) = ThreadMasks.waited(Vector(pid)).get(pid)

  /** Ends with its whole session. */
  private def running(script: String)(test: Process => Unit): Unit = {
    Required("setsid", Child.has("setsid"), "the command setsid (util-linux)")
    val process = new ProcessBuilder("setsid", "sh", "-c", script).start()
    try {
      assert(process.inputReader.readLine() == "ready")
      test(process)
    } finally {
      ThreadMasks.family(process.pid).flatMap(ProcessHandle.of(_).toScala).foreach(_.destroy())
      process.destroyForcibly()
      process.waitFor(60, TimeUnit.SECONDS)
      ()
    }
  }

  test("a refused call is explained by what it asked for: CPUs, or memory nodes") {
    assert(LinuxScheduling.meaning("sched_setaffinity", 22).startsWith("EINVAL: CPUs must be"))
    for (call <- Vector("set_mempolicy", "migrate_pages"))
      assert(
        LinuxScheduling
          .meaning(call, 22)
          .startsWith("EINVAL: no") && !LinuxScheduling.meaning(call, 1).contains("thread")
      )
  }

  test(
    "a thread that has been bound keeps its CPUs where its whole process is bound to these and others"
  ) {
    Required("two CPUs", cpus.size > 1, "a second CPU")
    val (bound, end) = (new SynchronousQueue[Int], new CountDownLatch(1))
    val thread = new Thread(() => {
      bound.put(Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName.toString.toInt)
      end.await()
    })
    thread.start()
    try {
      val tid = bound.take()
      LinuxScheduling.bindToCpus(tid, IdSet(cpus.head))
      LinuxScheduling.bindProcessToCpus(cpus)
      assert(LinuxScheduling.cpusOf(tid).contains(IdSet(cpus.head)))
    } finally end.countDown()
  }

  test("what a process has started gets the mask too, also where its parent has ended") {
    Required("two CPUs", cpus.size > 1, "a second CPU")
    val one = IdSet(cpus.last)
    running("(sleep 60 & echo >/dev/null) ; sleep 60 & echo ready; wait") { process =>
      assert(ThreadMasks.family(process.pid).size == 3)
      assert(ThreadMasks.of(process.pid).values.toSet == Set(cpus))
      assert(ThreadMasks.change(process.pid)((_, _) => one).isEmpty)
      assert(ThreadMasks.of(process.pid).values.toVector == Vector.fill(3)(one))
    }
  }

  test("soon after a change all of an executor's processes are found without a look at all others") {
    Temporary.directory { proc =>
      def process(pid: Int, session: Int, children: String): Unit = {
        val task = Files.createDirectories(proc.resolve(s"$pid/task/$pid"))
        Files.writeString(task.resolve("children"), children)
        val rest = Vector.fill(34)("0").mkString(" ")
        Files.writeString(proc.resolve(s"$pid/stat"), s"$pid (a) S 1 1 $session $rest")
      }
      process(10, 10, "11 ")
      process(11, 10, "12 13 ")
      process(12, 12, "")
      process(20, 10, "21 ")
      process(21, 10, "")
      process(30, 30, "")
      process(40, 10, "")
      val known = Set(10L, 11L, 20L, 30L)
      assert(ProcessFamily.grown(10, known, proc) == Set(10, 11, 12, 13, 20, 21))
      Files.delete(proc.resolve("10/task/10/children"))
      assert(ProcessFamily.grown(10, known, proc).contains(40), "where the kernel lists none")
    }
  }

  test("a process that starts others all the time has none that keeps the mask of before") {
    Required("two CPUs", cpus.size > 1, "a second CPU")
    val one = IdSet(cpus.head)
    running("echo ready; while :; do sleep 0.2 & sleep 0.001; done") { process =>
      for (to <- Seq(one, cpus, one, cpus, one)) {
        // As its callers do: one that was being made has its maker's mask of before.
        val looks = Iterator.fill(50) {
          ThreadMasks.change(process.pid)((_, _) => to)
          Thread.sleep(20)
          ThreadMasks.of(process.pid).values.toSet
        }
        assert(looks.contains(Set(to)))
      }
    }
  }

  test("a mask that the kernel refuses is named, once for each thread") {
    running("sleep 60 & echo ready; wait") { process =>
      val refused = ThreadMasks.change(process.pid)((_, _) => IdSet(4000))
      assert(refused.size == 2)
      assert(
        refused.values.forall(_.contains("the kernel refused sched_setaffinity for CPUs 4000"))
      )
    }
  }

  test("threads that share a CPU wait for it, as the kernel counts") {
    val counted = waited(ProcessHandle.current.pid)
    Required("schedstat", counted.nonEmpty, "/proc/PID/schedstat (CONFIG_SCHED_INFO)")
    running("(while :; do :; done) & (while :; do :; done) & echo ready; wait") { process =>
      val one = IdSet(cpus.head)
      ThreadMasks.change(process.pid)((_, _) => one)
      val before = waited(process.pid).get
      Thread.sleep(500)
      assert(waited(process.pid).get - before > TimeUnit.MILLISECONDS.toNanos(250))
    }
  }

  test("a process that is gone has no threads") {
    val process = new ProcessBuilder("true").start()
    process.waitFor()
    assert(ThreadMasks.of(process.pid).isEmpty && waited(process.pid).isEmpty)
    assert(ThreadMasks.change(process.pid)((_, _) => cpus).isEmpty)
  }
}
