package io.hearth.spark

import java.util.concurrent.{ConcurrentHashMap, Executors, TimeUnit}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import io.hearth.core.plan.ExecutorPlan

/**
 * An executor that runs in a place of the plan.
 *
 * @param startTicks field 22 of `/proc/PID/stat`
 * @param bound whether its CPUs and memory are bound as planned
 */
final case class Member(
    id: String,
    place: ExecutorPlan,
    process: Process,
    startTicks: Long,
    bound: Boolean
)

/** What the pool tells its owner; called on the pool's one thread. */
trait PoolListener {

  /** @param asked whether the pool had been asked to end it */
  def exited(member: Member, code: Int, asked: Boolean): Unit

  /** An executor could not be started at all. */
  def notStarted(place: ExecutorPlan, cause: Throwable): Unit
}

/** What is decided from: who holds which place, how many are wanted. */
final case class PoolSnapshot(
    places: Vector[ExecutorPlan],
    held: Set[Int],
    target: Int,
    stopping: Boolean
) {

  /**
   * Places to fill now. The host with the fewest executors comes first, so that few executors are spread
   * over all nodes; a lost executor's place, being the free one of a full plan, is filled again.
   */
  def toFill: Vector[ExecutorPlan] = {
    val wanted = if (stopping) 0 else math.min(target, places.size) - held.size
    fill(wanted, held, Vector.empty)
  }

  private def fill(n: Int, taken: Set[Int], chosen: Vector[ExecutorPlan]): Vector[ExecutorPlan] =
    if (n <= 0) chosen
    else {
      val onHost = places.filter(p => taken.contains(p.id)).groupMapReduce(_.host)(_ => 1)(_ + _)
      val next =
        places.filterNot(p => taken.contains(p.id)).minBy(p => (onHost.getOrElse(p.host, 0), p.id))
      fill(n - 1, taken + next.id, chosen :+ next)
    }
}

/**
 * Keeps as many executors running as are wanted, each in a place of the plan. One thread owns the state
 * and starts the processes; every method hands it work.
 *
 * @param start starts an executor with a new id in a place
 */
final class ExecutorPool(
    places: Vector[ExecutorPlan],
    start: (String, ExecutorPlan) => Member,
    listener: PoolListener
) {

  private val owner = Executors.newSingleThreadScheduledExecutor { work =>
    val thread = new Thread(work, "hearth-executor-pool")
    thread.setDaemon(true)
    thread
  }

  // Read by any thread, written by the owner.
  private val members = new ConcurrentHashMap[String, Member]()
  private val asked = ConcurrentHashMap.newKeySet[String]()

  // Set once, by any thread, and in force at once: even for the loss that is being dealt with.
  @volatile private var stopping = false

  // Owned by the owner thread.
  private var target = 0
  private var nextId = 0

  def running: Vector[Member] = members.values.asScala.toVector.sortBy(_.place.id)

  def setTarget(executors: Int): Unit = submit {
    target = executors
    fillPlaces()
  }

  /** Fills places until `executors` are started or one cannot be; to be called before any other. */
  def startInitial(executors: Int): Unit = {
    setTarget(executors)
    owner.submit((() => ()): Runnable).get()
    ()
  }

  /** Starts none any more, for lost ones neither. */
  def startNoMore(): Unit = stopping = true

  /** Ends executors: SIGTERM, and SIGKILL to those that are there `graceSeconds` later. */
  def end(ids: Seq[String], graceSeconds: Long): Unit = submit(terminate(ids, graceSeconds))

  /** Says that executors will end by themselves, so that their exit is not a failure. */
  def expectExit(ids: Seq[String]): Unit = asked.addAll(ids.asJava)

  /**
   * Starts none any more, lets those that are told to stop do so, ends the rest.
   *
   * @param graceSeconds how long an executor may take to end by itself
   */
  def stop(graceSeconds: Long): Unit = {
    startNoMore()
    // Whatever is being started meanwhile is known afterwards.
    owner.submit((() => ()): Runnable).get()
    expectExit(running.map(_.id))
    val deadline = System.nanoTime + TimeUnit.SECONDS.toNanos(graceSeconds)
    await(deadline)
    running.foreach(_.process.destroy())
    await(System.nanoTime + TimeUnit.SECONDS.toNanos(2))
    running.foreach(_.process.destroyForcibly())
    await(System.nanoTime + TimeUnit.SECONDS.toNanos(5))
    owner.shutdown()
  }

  private def await(deadline: Long): Unit =
    while (!members.isEmpty && System.nanoTime < deadline) Thread.sleep(10)

  private def submit(work: => Unit): Unit =
    if (!owner.isShutdown) owner.execute(() => work)

  private def terminate(ids: Seq[String], graceSeconds: Long): Unit = {
    expectExit(ids)
    ids.foreach(id => Option(members.get(id)).foreach(_.process.destroy()))
    owner.schedule(
      (
          () => ids.foreach(id => Option(members.get(id)).foreach(_.process.destroyForcibly()))
      ): Runnable,
      graceSeconds,
      TimeUnit.SECONDS
    )
    ()
  }

  private def fillPlaces(): Unit = {
    val held = running.map(_.place.id).toSet
    PoolSnapshot(places, held, target, stopping).toFill.foreach(startIn)
  }

  private def startIn(place: ExecutorPlan): Unit =
    try {
      val member = start(nextId.toString, place)
      nextId += 1
      members.put(member.id, member)
      member.process.onExit().thenAccept(p => submit(exited(member, p.exitValue)))
      ()
    } catch {
      case NonFatal(e) => listener.notStarted(place, e)
    }

  private def exited(member: Member, code: Int): Unit = {
    members.remove(member.id)
    listener.exited(member, code, asked.remove(member.id))
    fillPlaces()
  }
}
