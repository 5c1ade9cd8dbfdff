package io.hearth.core.leases

import java.time.Instant

import com.fasterxml.jackson.databind.node.ObjectNode

import io.hearth.core.json.Json
import io.hearth.core.topology.IdSet

/** What an application does with the machine, by its lease. */
sealed abstract class LeaseState(val name: String)

object LeaseState {

  /** Its CPUs are its own. */
  case object Holds extends LeaseState("holds")

  /** Only memory is leased: it runs unbound beside others, as nothing was free. */
  case object Shares extends LeaseState("shares")

  /** It has not started, and takes its turn by its ticket. */
  case object Waits extends LeaseState("waits")
  val all: Vector[LeaseState] = Vector(Holds, Shares, Waits)
}

/**
 * What one application says that it uses of a machine, `contract/examples/lease.json`.
 *
 * @param boot the boot of the machine on which it was taken
 * @param pid the driver's, in its own PID namespace
 * @param startTicks field 22 of the driver's `/proc/PID/stat`
 * @param since seconds since 1970
 * @param cpus those that its executors are bound to; empty unless it holds
 * @param memoryBytes by memory node, what its processes may take there
 * @param ticket its turn among those that wait, where it waits
 */
final case class Lease(
    boot: String,
    state: LeaseState,
    appId: String,
    name: String,
    pid: Long,
    startTicks: Long,
    since: Long,
    cpus: IdSet,
    memoryBytes: Map[Int, Long],
    ticket: Option[Long] = None
) {

  def toJson: ObjectNode = Json.obj(
    "schema" -> Lease.Schema,
    "boot" -> boot,
    "state" -> state.name,
    "app_id" -> appId,
    "name" -> name,
    "pid" -> pid,
    "start_ticks" -> startTicks,
    "since" -> since,
    "cpus" -> cpus,
    "memory_bytes" -> memoryBytes,
    "ticket" -> ticket
  )
}

object Lease {
  val Schema = "hearth/lease/1"

  /** Of an application that takes nothing yet, from now on; the registry knows the boot. */
  def of(appId: String, name: String, pid: Long, startTicks: Long): Lease = {
    val now = Instant.now().getEpochSecond
    Lease("", LeaseState.Holds, appId, name, pid, startTicks, now, IdSet.empty, Map.empty)
  }

  /** More than any machine has, and few enough that the sum of all leases is a number. */
  private[leases] val MaxBytes = 1L << 50

  /** @return why it is none; anybody can have written anything there */
  def read(text: String): Either[String, Lease] = RegistryDocument.read(text, Schema)(d =>
    for {
      boot <- d.text("boot")
      stated <- d.text("state")
      state <- LeaseState.all.find(_.name == stated)
      app <- d.shown("app_id")
      name <- d.shown("name")
      pid <- d.number("pid")
      ticks <- d.number("start_ticks")
      since <- d.number("since").filter(_ <= RegistryDocument.LatestSecond)
      cpus <- d.ids("cpus")
      memory <- memory(d)
    } yield Lease(boot, state, app, name, pid, ticks, since, cpus, memory, d.number("ticket"))
  )

  private def memory(lease: RegistryDocument): Option[Map[Int, Long]] =
    lease.child("memory_bytes").flatMap { document =>
      val entries = document.names
      val read = entries.flatMap { node =>
        val id = node.toIntOption.filter(id => id >= 0 && id <= IdSet.MaxId)
        id.zip(document.number(node).map(math.min(_, MaxBytes)))
      }
      Option.when(read.sizeIs == entries.size)(read.toMap)
    }
}

/**
 * A lease whose holder lives.
 *
 * @param user the owner of its file, by name where there is one
 * @param ours whether that is the user of this process
 */
final case class LiveLease(lease: Lease, user: String, ours: Boolean) {
  def who: String = s"${lease.appId} of $user (process ${lease.pid})"
}

/**
 * The leases of a machine at one moment.
 *
 * @param problems what could not be believed or read, a sentence each
 * @param unknown why others may hold more than is known here: then no CPU is known to be free
 */
final case class Leases(
    live: Vector[LiveLease],
    problems: Vector[String] = Vector.empty,
    unknown: Vector[String] = Vector.empty
) {
  def isEmpty: Boolean = live.isEmpty && unknown.isEmpty

  /** Without those that wait behind a turn. @param ticket absent for one that has no turn: all are before it */
  def before(ticket: Option[Long]): Leases = copy(live =
    live.filter(one =>
      one.lease.state != LeaseState.Waits || ticket.forall(turn =>
        one.lease.ticket.exists(_ < turn)
      )
    )
  )

  def holding: Vector[LiveLease] = live.filter(_.lease.state == LeaseState.Holds)
  def waiting: Vector[LiveLease] =
    live.filter(_.lease.state == LeaseState.Waits).sortBy(_.lease.ticket.getOrElse(Long.MaxValue))

  def cpus: IdSet = IdSet.union(holding.iterator.map(_.lease.cpus))

  /** What those that run may take, on each node. */
  def memoryBytes: Map[Int, Long] = Leases.memory(running)

  /** The same of this user's alone, which count against the limit of a cgroup that they share. */
  def ownMemoryBytes: Long = Leases.sum(Leases.memory(running.filter(_.ours)).values)

  private def running = live.filter(_.lease.state != LeaseState.Waits)

  /** Those that hold any of these CPUs, or any memory; a few, and how many more there are. */
  def who(cpus: IdSet): String = {
    val all = holding.filter(_.lease.cpus.intersects(cpus)).sortBy(-_.lease.cpus.size)
    val named = all.take(Leases.Named).map(one => s"${one.who} on CPUs ${one.lease.cpus & cpus}")
    val more = all.size - named.size
    (named ++ Option.when(more > 0)(s"$more more applications")).mkString(", ")
  }
}

object Leases {
  val none: Leases = Leases(Vector.empty)

  /** Where leases cannot be read or taken. */
  def failing(why: String): Leases = none.copy(unknown =
    Vector(s"leases cannot be kept: $why (${LeaseRegistry.Variable} can name another directory)")
  )
  private val Named = 3

  private def memory(leases: Vector[LiveLease]): Map[Int, Long] =
    leases.flatMap(_.lease.memoryBytes).groupMap(_._1)(_._2).view.mapValues(sum).toMap

  /** Of numbers that anybody may have written. */
  private def sum(bytes: Iterable[Long]): Long =
    bytes.foldLeft(0L)((sum, next) => math.min(sum + next, Lease.MaxBytes))
}
