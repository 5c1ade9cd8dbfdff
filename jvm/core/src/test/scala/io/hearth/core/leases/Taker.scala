package io.hearth.core.leases

import java.nio.file.{FileAlreadyExistsException, Files, Path}

import scala.util.Random

import io.hearth.core.topology.IdSet

/** A process that takes leases. */
object Taker {
  val Boot = "test-boot"

  def lease(app: String, cpus: IdSet): Lease = Lease(
    boot = Boot,
    state = LeaseState.Holds,
    appId = app,
    name = "test",
    pid = ProcessHandle.current.pid,
    startTicks = 0,
    since = 0,
    cpus = cpus,
    memoryBytes = Map(0 -> (1L << 30))
  )

  /** `rounds`, `hold`, `join` or `lock`, see below; says so when it is ready, ends with its input. */
  def main(words: Array[String]): Unit = words.toVector match {
    case Vector("rounds", directory, marks, cpus, rounds) =>
      println("ready")
      System.in.read()
      val registry = new LeaseRegistry(Path.of(directory), Boot)
      println(compete(registry, Path.of(marks), cpus.toInt, rounds.toInt))
    case Vector("hold", directory) =>
      val registry = new LeaseRegistry(Path.of(directory), Boot)
      println(registry.exclusively()(_.take(lease("app", IdSet(0, 1)))).file)
      System.in.read()
    case Vector("join", file) =>
      val _ = LeaseRegistry.join(Path.of(file), 1)
      println("ready")
      System.in.read()
    case Vector("lock", directory) =>
      new LeaseRegistry(Path.of(directory), Boot).exclusively() { _ =>
        println("ready")
        System.in.read()
      }
    case other => sys.error(s"unknown: $other")
  }

  /** Takes a free CPU, marks it with a file that only one can make, gives it back; how often that failed. */
  private def compete(registry: LeaseRegistry, marks: Path, cpus: Int, rounds: Int): String = {
    var taken, clashes = 0
    for (_ <- 1 to rounds) {
      val mine = registry.exclusively() { registry =>
        val free = IdSet.from(0 until cpus) &~ registry.leases.cpus
        Option.when(free.nonEmpty)(free.head -> registry.take(lease("app", IdSet(free.head))))
      }
      mine.foreach { case (cpu, held) =>
        taken += 1
        val mark = marks.resolve(s"$cpu")
        try {
          Files.createFile(mark)
          Thread.sleep(Random.nextInt(4).toLong)
          Files.delete(mark)
        } catch { case _: FileAlreadyExistsException => clashes += 1 }
        held.close()
      }
    }
    s"$taken taken, $clashes clashes"
  }
}
