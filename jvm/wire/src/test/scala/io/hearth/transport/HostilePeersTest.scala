package io.hearth.transport

import java.util.concurrent.TimeUnit

import scala.util.Using

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.transport.Wires._

/** Peers that have been let in and do not mean well. */
class HostilePeersTest extends AnyFunSuite {
  private val Mb = 1 << 20
  private val own = settings
    .withTransports(WireSettings.Transports.TCP)
    .withMemory(64L * Mb, Mb, 16 * Mb)

  private def among(service: Service, clock: Clock = new Clock)(
      body: (Wire, Wire, java.net.InetSocketAddress) => Unit
  ): Unit =
    Using.resources(Wire.open(own, clock, new Heard), Wire.open(own, new Heard)) {
      (serving, asking) =>
        body(serving, asking, serving.listen(Loopback, service))
        settled(serving, 1)
    }

  private def twentyAreAnswered(connection: Connection): Unit =
    (1 to 20).foreach(_ => isAnswered(connection))

  private def isAnswered(connection: Connection): Unit = {
    assert(content(ask(connection, new Array[Byte](Mb))).length == Mb)
    ()
  }

  for ((sent, what) <- Seq(0 -> "nothing", 12 * Mb -> "a part of them"))
    test(
      s"five peers that announce long messages and send $what keep nobody waiting, and are given up"
    ) {
      val clock = new Clock
      among(echo, clock) { (_, asking, where) =>
        Using.resource(Wire.open(own.withMemory(256L * Mb, Mb, 16 * Mb), new Heard)) { hostile =>
          val connection = connect(asking, where)
          twentyAreAnswered(connection)
          val silent = (1 to 5).map(_ => connect(hostile, where))
          silent.foreach { peer =>
            send(peer, 1, Frame.Kind.REQUEST, announced = 16 * Mb, sent)
            eventually("it has gone")(hostile.counters.buffers == 0)
          }
          isAnswered(connection)
          assert(silent.forall(!_.end.isDone), "nobody waits for the attackers to be given up")
          twentyAreAnswered(connection)
          afterTheLimit(clock, "they are given up")(silent.forall(_.end.isDone))
          assert(content(ask(connection, new Array[Byte](16 * Mb))).length == 16 * Mb)
          connection.close()
        }
      }
    }

  test("a peer that sends a byte now and then is given up all the same") {
    val clock = new Clock
    among(echo, clock) { (_, asking, where) =>
      val slow = connect(asking, where)
      send(slow, 1, Frame.Kind.REQUEST, announced = Mb)
      val begun = System.nanoTime
      while (!slow.end.isDone && System.nanoTime - begun < 60 * Second) {
        clock.skip(2)
        // A frame's bytes are the next ones of the message that was begun.
        send(slow, 2, Frame.Kind.CREDIT, announced = 0)
        Thread.sleep(100)
      }
      assert(slow.end.isDone)
    }
  }

  test("answers that nobody asked for have no memory, and end the connection") {
    among(echo) { (serving, asking, where) =>
      val peer = connect(asking, where)
      send(peer, 1, Frame.Kind.RESPONSE, announced = 16 * Mb)
      peer.end.get(60, TimeUnit.SECONDS)
      assert(serving.counters.reservedBytes < Mb)
    }
  }

  test("so do those that come with the last words of the handshake") {
    among(echo) { (_, asking, where) =>
      val peers = (1 to 100).map { _ =>
        asking.connect(where, Service.NONE).thenApply { (peer: Connection) =>
          send(peer, 1, Frame.Kind.RESPONSE, announced = Mb)
          peer
        }
      }
      peers.foreach(_.get(60, TimeUnit.SECONDS).end.get(60, TimeUnit.SECONDS))
    }
  }
}
