package io.hearth.driver.testing

import java.time.Instant

import io.hearth.core.placement._
import io.hearth.core.topology.IdSet
import io.hearth.driver.Kernel

/** A kernel whose processes run where a test says; each has ten threads. */
final class FakeKernel extends Kernel {

  /** CPUs of each thread, by process. */
  var threads: Map[Long, Vector[IdSet]] = Map.empty
  var readings: Vector[Vector[String]] = Vector.empty
  var looks = 0
  var whileReading: () => Unit = () => ()

  def run(pid: Long, cpus: IdSet): Unit = threads += pid -> Vector.fill(10)(cpus)
  def move(pid: Long, cpus: IdSet): Unit = threads += pid -> threads(pid).updated(0, cpus)

  override def startTicks(pid: Long): Long = if (threads.contains(pid)) pid else 0

  var onlyNodes: IdSet = IdSet(0, 1)
  override def hasOnlyNodes(nodes: IdSet): Boolean = onlyNodes.subsetOf(nodes)

  override def sample(pid: Long): Option[PlacementSample] = {
    looks += 1
    threads.get(pid).map(all => PlacementSample(all.groupMapReduce(identity)(_ => 1)(_ + _), nodes))
  }

  override def placement(appId: String, subjects: Vector[Subject]): PlacementReport = {
    readings :+= subjects.map(_.executorId)
    whileReading()
    PlacementReport(appId, Instant.EPOCH, subjects.map(s => Finding(s, reading(s))))
  }

  private def reading(subject: Subject): Option[Either[String, ProcessPlacement]] =
    threads.get(subject.pid).map { all =>
      val shown = all.zipWithIndex.map { case (cpus, n) =>
        ThreadPlacement(subject.pid.toInt + n, "java", cpus, cpus.iterator.next())
      }
      val bound = Map(s"bind:${subject.planned.memoryNodes}" -> 5)
      Right(ProcessPlacement(subject.pid, shown, None, nodes, bound, Map.empty))
    }

  private val nodes = IdSet(0, 1)
}
