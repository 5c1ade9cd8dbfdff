package io.hearth.core.leases

import java.nio.file.{Files, Path}

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.testing.Temporary
import io.hearth.core.topology.IdSet

/** Offers and loans of CPUs in a directory of each test's own; `abandon` is what the kernel does to the killed. */
class LoanRegistryTest extends AnyFunSuite {

  private class World(directory: Path) {
    val leases = new LeaseRegistry(directory, Taker.Boot)
    val loans = new LoanRegistry(leases)

    def lease(app: String, cpus: IdSet): ActiveLease =
      leases.exclusively()(_.take(Taker.lease(app, cpus)))

    def offer(lease: ActiveLease, cpus: IdSet): ActiveLease =
      loans.offer(Offer("", "lender", lease.name, 0, cpus, IdSet(0), 1))

    def wants(lease: ActiveLease, offer: String, cpus: IdSet): Loan =
      Loan("", "borrower", "0", lease.name, offer, cpus, 2)

    def borrow(lease: ActiveLease, offer: ActiveLease, cpus: IdSet): Option[ActiveLoan] =
      loans.borrow(1000)(_ => Vector(wants(lease, offer.name, cpus))).headOption

    def offered: Vector[IdSet] = { val now = loans.read(); now.offers.map(now.free) }
    def lent: Vector[IdSet] = loans.read().loans.map(_.loan.cpus)
  }

  private def world(test: World => Unit): Unit =
    Temporary.directory(directory => test(new World(directory)))

  test("what a lender offers is lent once, free again when it is given back, gone when withdrawn") {
    world { world =>
      val (lender, borrower) = (world.lease("a", IdSet(0, 1)), world.lease("b", IdSet(2)))
      val offer = world.offer(lender, IdSet(0, 1))
      assert(world.offered == Vector(IdSet(0, 1)))
      val loan = world.borrow(borrower, offer, IdSet(0)).get
      assert(loan.stands && world.offered == Vector(IdSet(1)) && world.lent == Vector(IdSet(0)))
      assert(world.borrow(borrower, offer, IdSet(0, 1)).isEmpty, "one of them is lent")
      val second = world.borrow(borrower, offer, IdSet(1)).get
      second.close()
      assert(world.offered == Vector(IdSet(1)))
      offer.close()
      assert(!loan.stands && world.offered.isEmpty && world.lent == Vector(IdSet(0)))
      val anew = world.offer(lender, IdSet(0, 1))
      assert(world.offered == Vector(IdSet(1)), "CPU 0 is not given back yet")
      loan.close()
      assert(world.borrow(borrower, anew, IdSet(0, 1)).nonEmpty)
    }
  }

  test("a killed lender's offer is void at once, and its file goes when its user next starts") {
    world { world =>
      val (lender, borrower) = (world.lease("a", IdSet(0, 1)), world.lease("b", IdSet(2)))
      val offer = world.offer(lender, IdSet(0, 1))
      val loan = world.borrow(borrower, offer, IdSet(0, 1)).get
      offer.abandon()
      assert(!loan.stands && world.offered.isEmpty)
      assert(world.borrow(borrower, offer, IdSet(0)).isEmpty)
      loan.close()
      world.leases.exclusively()(_ => ())
      assert(!Files.exists(offer.file))
    }
  }

  test("what a killed borrower had is in use until the last of its executors has ended") {
    world { world =>
      val (lender, borrower) = (world.lease("a", IdSet(0, 1)), world.lease("b", IdSet(2)))
      val offer = world.offer(lender, IdSet(0, 1))
      val loan = world.borrow(borrower, offer, IdSet(0)).get
      val executor = LeaseRegistry.join(borrower.file, 1)
      borrower.abandon()
      loan.abandon()
      assert(world.offered == Vector(IdSet(1)) && world.lent == Vector(IdSet(0)))
      world.leases.exclusively()(_ => ())
      assert(world.lent == Vector(IdSet(0)), "and its file is not swept away")
      executor.close()
      assert(world.offered == Vector(IdSet(0, 1)) && world.lent.isEmpty)
      world.leases.exclusively()(_ => ())
      assert(Files.list(offer.file.getParent).count() == 2, "the lender's lease and its offer")
    }
  }

  test("CPUs that are not the lender's, or another's too, are nobody's to lend") {
    world { world =>
      val lender = world.lease("a", IdSet(0, 1))
      world.lease("b", IdSet(1, 2))
      val offers = Vector(IdSet(3), IdSet(0, 3), IdSet(1), IdSet(0)).map(world.offer(lender, _))
      assert(world.loans.read().offers.map(_.file) == Vector(offers.last.name))
      for (
        forged <- Vector(
          "../" + lender.name,
          "hearth-lease-none.json",
          "",
          offers.head.name,
          s"\u0000${lender.name}"
        )
      )
        world.loans.offer(Offer("", "x", forged, 0, IdSet(0), IdSet(0), 1))
      assert(world.offered == Vector(IdSet(0)))
      lender.abandon()
      assert(world.offered.isEmpty, "a lease without a holder holds nothing")
    }
  }

  test("a loan without a living lease keeps nobody from these CPUs") {
    world { world =>
      val (lender, borrower) = (world.lease("a", IdSet(0, 1)), world.lease("b", IdSet(2)))
      val offer = world.offer(lender, IdSet(0, 1))
      val loan = world.borrow(borrower, offer, IdSet(0)).get
      borrower.close()
      assert(world.offered == Vector(IdSet(0, 1)))
      loan.close()
    }
  }

  test("a loan of a lease that no file can have breaks nobody's look at the others") {
    world { world =>
      val lender = world.lease("a", IdSet(0, 1))
      val offer = world.offer(lender, IdSet(0))
      val forged = world.wants(lender, offer.name, IdSet(0)).copy(boot = Taker.Boot)
      for (
        (lease, n) <- Vector("hearth-lease-\u0000.json", "hearth-lease-\u00fc.json").zipWithIndex
      )
        Files.writeString(
          offer.file.getParent.resolve(s"hearth-loan-$n.json"),
          forged.copy(lease = lease).toJson.toString
        )
      assert(world.offered == Vector(IdSet(0)) && world.lent.isEmpty)
    }
  }

  test("damaged offers and loans are named and do no harm") {
    world { world =>
      val lender = world.lease("a", IdSet(0, 1))
      val offer = world.offer(lender, IdSet(0))
      val directory = offer.file.getParent
      for (
        kind <- Vector("offer", "loan");
        (text, n) <- Vector("", "[1]", "{\"cpus\": 3}").zipWithIndex
      ) {
        val open = LinuxLocks.create(directory.resolve(s"hearth-$kind-$n.json"), 0x1a4)
        open.write(text.getBytes)
        assert(open.lockByte(0))
      }
      val read = world.loans.read()
      assert(read.offers.sizeIs == 1 && read.problems.sizeIs == 6, read.problems)
      assert(world.leases.read().problems.isEmpty)
    }
  }
}
