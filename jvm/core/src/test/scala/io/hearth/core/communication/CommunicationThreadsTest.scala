package io.hearth.core.communication

import java.nio.file.{Files, Path, StandardCopyOption}

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.UserError
import io.hearth.core.testing.Temporary
import io.hearth.core.topology.MachineSpec

/** What is read of a process's communication threads: from files as the kernel writes them. */
class CommunicationThreadsTest extends AnyFunSuite {
  private val machine = MachineSpec.parse("2 nodes of 1 GB, 4 cores")

  private def thread(proc: Path, tid: Int, name: String, cpus: String, lastCpu: Int): Unit = {
    val task = Files.createDirectories(proc.resolve(s"7/task/$tid"))
    Files.writeString(task.resolve("status"), s"Name:\t$name\nCpus_allowed_list:\t$cpus\n")
    ran(proc, tid, lastCpu)
  }

  /** Whole at every moment, as the kernel's files are. */
  private def ran(proc: Path, tid: Int, lastCpu: Int): Unit = {
    val part = Files.writeString(proc.resolve("part"), s"$tid (it) S ${"0 " * 35}$lastCpu 0\n")
    Files.move(part, proc.resolve(s"7/task/$tid/stat"), StandardCopyOption.ATOMIC_MOVE)
    ()
  }

  private def watch(proc: Path, pid: Long, seconds: Double, words: String*) =
    CommunicationThreads.watch(
      proc,
      pid,
      CommunicationThreads.names(words.toVector),
      seconds,
      machine
    )

  test("communication threads are shown with their CPUs, other threads are counted") {
    Temporary.directory { proc =>
      thread(proc, 10, "rpc-server-1-1", "0-3", 2)
      thread(proc, 11, "IPC Server hand", "4-7", 6)
      thread(proc, 12, "GC Thread#0", "0-7", 1)
      val all = watch(proc, 7, 0.05)
      assert(
        all.threads.map(t => (t.thread.tid, t.software)) == Vector(10 -> "spark", 11 -> "hadoop")
      )
      assert(all.others == 1)
      val row = all.write(machine).get("threads").get(1)
      assert(
        row.get("cpus").asText == "4-7" && row.get("last_cpu").asInt == 6 && row
          .get("node")
          .asInt == 1
      )
      assert(watch(proc, 7, 0.05, "GC").threads.map(_.thread.tid) == Vector(12))
    }
  }

  test("a thread that is seen on the other node has moved; one that stays within its node has not") {
    Temporary.directory { proc =>
      val end = System.nanoTime + 400000000L
      thread(proc, 10, "rpc-server-1-1", "0-7", 0)
      thread(proc, 11, "rpc-server-1-2", "0-7", 0)
      val mover = new Thread(() =>
        while (System.nanoTime < end) {
          Thread.sleep(80)
          ran(proc, 10, 5)
          ran(proc, 11, 3)
        }
      )
      mover.start()
      val moves = watch(proc, 7, 0.5).threads.map(_.nodeMoves)
      mover.join()
      assert(moves == Vector(1, 0))
    }
  }

  test("a process that is not there is refused by its id") {
    Temporary.directory { proc =>
      assert(
        intercept[UserError](watch(proc, 9, 0.05)).getMessage.startsWith("process 9 is not running")
      )
    }
  }
}
