package io.hearth.shuffle

import java.net.InetSocketAddress
import java.util.concurrent.{CompletableFuture, ConcurrentLinkedQueue, TimeUnit}
import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.transport.{Connection, Secret, Wire, WireException, Wires}

class ExecutorConnectionsSuite extends AnyFunSuite {
  private val Minute = 60L * 1000 * 1000 * 1000

  final private class Asking(client: Wire, answer: => Either[String, InetSocketAddress]) {
    val asked = new AtomicInteger
    val nowNs = new AtomicLong
    val said = new ConcurrentLinkedQueue[String]
    private val directory: ExecutorDirectory = _ => {
      asked.incrementAndGet()
      CompletableFuture.completedFuture(answer)
    }
    val peers =
      new ExecutorConnections(client, directory, line => { said.add(line); () }, () => nowNs.get)

    def way: Either[String, Connection] = peers.to("7").get(60, TimeUnit.SECONDS)
    def lines: Seq[String] = said.asScala.toSeq
  }

  test("an executor is asked for once, and its wire is used until that ends") {
    Using.resource(new Exchange(Vector(1))) { exchange =>
      val asking = new Asking(exchange.client, Right(exchange.where))
      val first = asking.way.toOption.get
      assert(asking.way.toOption.get eq first)
      assert(asking.asked.get == 1)
      first.close()
      first.end().get(60, TimeUnit.SECONDS)
      assert(asking.way.toOption.get ne first)
      assert(asking.asked.get == 2)
      assert(
        asking.lines == Seq(
          "shuffle blocks of executor 7 come over hearth's wire, by tcp as TCP was asked for"
        )
      )
    }
  }

  test("an executor without a wire is asked again after a minute; the reason is said once") {
    Using.resource(new Exchange(Vector(1))) { exchange =>
      val asking = new Asking(exchange.client, Left("its port is taken"))
      assert(asking.way == Left("its port is taken"))
      asking.nowNs.set(Minute - 1)
      assert(asking.way.isLeft && asking.asked.get == 1)
      asking.nowNs.set(Minute)
      assert(asking.way.isLeft && asking.asked.get == 2)
      assert(
        asking.lines == Seq(
          "shuffle blocks of executor 7 come over Spark's own transfer: its port is taken"
        )
      )
    }
  }

  test("who does not know the secret gets no wire, and hears why") {
    val other = Exchange.settings.withSecret(Secret.of("another secret, of strangers".getBytes))
    Using.resources(new Exchange(Vector(1)), Wire.open(other, _ => ())) { (exchange, stranger) =>
      val asking = new Asking(stranger, Right(exchange.where))
      assert(asking.way.isLeft)
      assert(asking.lines.size == 1 && asking.lines.head.contains("secret"))
    }
  }

  test("a directory that fails, and a port at which nobody listens, mean no wire") {
    Using.resource(new Exchange(Vector(1))) { exchange =>
      val failing =
        new Asking(exchange.client, throw new IllegalStateException("the driver is gone"))
      assert(failing.way == Left("the driver is gone"))
      val nobody = new Asking(exchange.client, Right(new InetSocketAddress("127.0.0.1", 1)))
      assert(nobody.way.isLeft && nobody.lines.size == 1)
    }
  }

  test("of executors that are lost nothing is kept") {
    Using.resource(new Exchange(Vector(1))) { exchange =>
      val asking = new Asking(exchange.client, Right(exchange.where))
      val ways = (1 to 50).map(n => asking.peers.to(s"$n").get(60, TimeUnit.SECONDS).toOption.get)
      assert(asking.peers.size == 50)
      ways.foreach(_.close())
      ways.foreach(_.end().get(60, TimeUnit.SECONDS))
      Wires.eventually("nothing is known of them")(asking.peers.size == 0)
      val without = new Asking(exchange.client, Left("its port is taken"))
      (1 to 50).foreach(n => without.peers.to(s"$n").get(60, TimeUnit.SECONDS))
      without.nowNs.set(Minute)
      without.way
      assert(without.peers.size == 1)
    }
  }

  test("a peer that was too slow is not used for a minute; one that has ended is asked for again") {
    Using.resource(new Exchange(Vector(1))) { exchange =>
      val asking = new Asking(exchange.client, Right(exchange.where))
      val slow = asking.way.toOption.get
      asking.peers.failed(
        "7",
        slow,
        new WireException(WireException.Kind.TIMED_OUT, "no answer in time")
      )
      assert(asking.way == Left("no answer in time"))
      slow.end().get(60, TimeUnit.SECONDS)
      asking.nowNs.set(Minute)
      assert(asking.way.isRight && asking.asked.get == 2)
      assert(
        asking.lines.count(_.contains("continue over Spark's own transfer: no answer in time")) == 1
      )
    }
  }
}
