package io.hearth.core.leases

import java.io.{FileNotFoundException, IOException}
import java.nio.file.AccessDeniedException

import com.fasterxml.jackson.databind.JsonNode

import io.hearth.core.json.Json
import io.hearth.core.topology.IdSet

/**
 * CPUs of its lease that an application leaves to others while it has nothing to do, `contract/offer.schema.json`.
 *
 * @param lease the name of its lease's file
 * @param place of its plan, whose CPUs they are
 * @param memoryNodes those of the place, near these CPUs
 * @param since ms since 1970
 */
final case class Offer(
    boot: String,
    appId: String,
    lease: String,
    place: Int,
    cpus: IdSet,
    memoryNodes: IdSet,
    since: Long
) {
  def toJson: JsonNode = Json.obj(
    "schema" -> Offer.Schema,
    "boot" -> boot,
    "app_id" -> appId,
    "lease" -> lease,
    "place" -> place,
    "cpus" -> cpus,
    "memory_nodes" -> memoryNodes,
    "since" -> since
  )
}

object Offer {
  val Schema = "hearth/offer/1"

  def read(text: String): Either[String, Offer] = RegistryDocument.read(text, Schema) { d =>
    for {
      boot <- d.text("boot")
      app <- d.shown("app_id")
      lease <- d.text("lease")
      place <- d.number("place").filter(_.isValidInt)
      cpus <- d.someIds("cpus")
      nodes <- d.someIds("memory_nodes")
      since <- d.ms("since")
    } yield Offer(boot, app, lease, place.toInt, cpus, nodes, since)
  }
}

/**
 * CPUs of another application's offer that an executor may use, `contract/loan.schema.json`.
 *
 * @param lease the name of the borrower's lease's file
 * @param offer the name of the offer's file
 * @param since ms since 1970
 */
final case class Loan(
    boot: String,
    appId: String,
    executorId: String,
    lease: String,
    offer: String,
    cpus: IdSet,
    since: Long
) {
  def toJson: JsonNode = Json.obj(
    "schema" -> Loan.Schema,
    "boot" -> boot,
    "app_id" -> appId,
    "executor_id" -> executorId,
    "lease" -> lease,
    "offer" -> offer,
    "cpus" -> cpus,
    "since" -> since
  )
}

object Loan {
  val Schema = "hearth/loan/1"

  def read(text: String): Either[String, Loan] = RegistryDocument.read(text, Schema) { d =>
    for {
      boot <- d.text("boot")
      app <- d.shown("app_id")
      executor <- d.shown("executor_id")
      lease <- d.text("lease")
      offer <- d.text("offer")
      cpus <- d.someIds("cpus")
      since <- d.ms("since")
    } yield Loan(boot, app, executor, lease, offer, cpus, since)
  }
}

/**
 * An offer whose lender lives and holds these CPUs.
 *
 * @param file its name in the registry
 * @param user the lender's
 */
final case class LiveOffer(file: String, offer: Offer, user: String, ours: Boolean)

/** A loan whose borrower, or an executor of it, lives. */
final case class LiveLoan(file: String, loan: Loan, user: String, ours: Boolean)

/**
 * What applications offer and have borrowed at one moment.
 *
 * @param problems what could not be believed or read, a sentence each
 */
final case class OffersAndLoans(
    leases: Leases,
    offers: Vector[LiveOffer],
    loans: Vector[LiveLoan],
    problems: Vector[String]
) {

  /** CPUs that nobody has borrowed yet, or not given back yet. */
  def free(offer: LiveOffer): IdSet = offer.offer.cpus &~ borrowed

  private lazy val borrowed = IdSet.union(loans.iterator.map(_.loan.cpus))

  def offered(loan: LiveLoan): Option[LiveOffer] = offers.find(_.file == loan.loan.offer)
}

/**
 * Idle CPUs that applications lend each other: a file for each offer and each loan, beside the leases and by
 * the same rules of trust (docs/decisions/0014-idle-cpus-are-offered-to-other-applications.md). An offer counts
 * while its lender's driver holds a write lock on it, and only for CPUs that a lease of the same user holds
 * and no other lease does; nothing but that lock is asked when it is withdrawn. A loan counts until its
 * borrower has removed it or its last process has ended.
 */
final class LoanRegistry(registry: LeaseRegistry) {
  import LeaseRegistry._

  /** Throws IOException */
  def read(): OffersAndLoans = {
    val leases = registry.readAll(LeaseKind)
    val offers = registry.readAll(LoanRegistry.OfferKind)
    val loans = registry.readAll(LoanRegistry.LoanKind, inUse)
    val held = leases.files.map(one => one.name -> one).toMap
    val isTheirs = new Holders(held)
    // Where not all leases and loans are known, nobody knows which CPUs are free.
    val unknown = leases.unread ++ loans.unread
    OffersAndLoans(
      registry.leases(leases),
      offers.files
        .filter(one => unknown.isEmpty && isTheirs(one))
        .map(one => LiveOffer(one.name, one.value, one.user, one.ours)),
      loans.files
        .filter(one => held.get(one.value.lease).exists(_.uid == one.uid))
        .map(one => LiveLoan(one.name, one.value, one.user, one.ours)),
      offers.problems ++ loans.problems ++ offers.unread ++ loans.unread
    )
  }

  /** Only CPUs that are the lender's, and nobody else's, can be lent. */
  private class Holders(leases: Map[String, Published[Lease]]) {

    /** CPUs that more than one holds. */
    private val contested = leases.values
      .filter(_.value.state == LeaseState.Holds)
      .toVector
      .distinctBy(_.inode)
      .foldLeft((IdSet.empty, IdSet.empty)) { case ((all, twice), one) =>
        (all | one.value.cpus, twice | (all & one.value.cpus))
      }
      ._2

    def apply(offer: Published[Offer]): Boolean = leases.get(offer.value.lease).exists { lease =>
      lease.uid == offer.uid && lease.value.state == LeaseState.Holds &&
      offer.value.cpus.subsetOf(lease.value.cpus) && !offer.value.cpus.intersects(contested)
    }
  }

  /** Its driver's lock, or its executors' on the lease: these use the CPUs for as long as they live. */
  private def inUse(open: OpenFile): Boolean = open.isWriteLocked ||
    Loan.read(LeaseFiles.text(open)).exists(loan => registry.isHeld(loan.lease))

  /** It ends when it is closed, or this process ends. Throws IOException */
  def offer(offer: Offer): ActiveLease =
    registry.publish(offer.copy(boot = registry.bootHere).toJson, OfferPrefix)

  /**
   * Borrows what is chosen, in one step: of two that do so at once, the second sees the first one's.
   *
   * @param choose from what is offered and free
   * @param waitMs how long another process may keep the registry locked
   * @param reserve leases what it takes beside CPUs, before it is borrowed
   * @return what is borrowed; not what was withdrawn meanwhile, and nothing where somebody keeps it longer
   * Throws IOException
   */
  def borrow(waitMs: Long, reserve: (Vector[Loan], Lease => ActiveLease) => Unit = (_, _) => ())(
      choose: OffersAndLoans => Vector[Loan]
  ): Vector[ActiveLoan] =
    registry
      .ifFree(waitMs) { exclusive =>
        val now = read()
        val chosen = choose(now)
        reserve(chosen, exclusive.take)
        chosen.foldLeft(Vector.empty[ActiveLoan]) { (taken, wanted) =>
          val gone = IdSet.union(taken.map(_.loan.cpus))
          val free = now.offers
            .find(_.file == wanted.offer)
            .filter(o => wanted.cpus.subsetOf(now.free(o) &~ gone))
          taken ++ free.flatMap(hold(_, wanted))
        }
      }
      .getOrElse(Vector.empty)

  private def hold(offer: LiveOffer, wanted: Loan): Option[ActiveLoan] = watched(offer.file)
    .flatMap { watch =>
      val document = wanted.copy(boot = registry.bootHere).toJson
      val held =
        try new ActiveLoan(wanted, offer, registry.publish(document, LoanPrefix), watch)
        catch { case e: IOException => watch.close(); throw e }
      // The lender looks for loans after it has withdrawn an offer: one of the two sees the other.
      if (held.stands) Some(held) else { held.close(); None }
    }

  private def watched(offer: String): Option[OpenFile] = registry
    .named(offer, OfferPrefix)
    .flatMap(file =>
      try Some(LinuxLocks.toRead(file))
      catch { case _: FileNotFoundException | _: AccessDeniedException => None }
    )
}

private[leases] object LoanRegistry {
  private val OfferKind = Kind[Offer](LeaseRegistry.OfferPrefix, Offer.read, _.boot)
  private val LoanKind =
    Kind[Loan](LeaseRegistry.LoanPrefix, Loan.read, _.boot, unlocked = true)
}

/** CPUs that this process has borrowed for an executor; it ends when it is closed, or the process ends. */
final class ActiveLoan private[leases] (
    val loan: Loan,
    val offer: LiveOffer,
    file: ActiveLease,
    watch: OpenFile
) extends AutoCloseable {

  def name: String = file.name

  /** Whether the lender still does without these CPUs, and lives: one system call. */
  def stands: Boolean = watch.isWriteLocked

  override def close(): Unit =
    try watch.close()
    finally file.close()

  /** As the kernel does when the process is killed. */
  private[hearth] def abandon(): Unit =
    try watch.close()
    finally file.abandon()
}
