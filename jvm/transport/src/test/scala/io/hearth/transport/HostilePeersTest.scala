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

  private def frame(to: Connection, id: Int, kind: Frame.Kind, announced: Int, sent: Int): Unit =
    to.withLink { link =>
      val buffer = to.memory(sent, BufferPool.Use.CONTROL).get
      Frame.write(buffer.whole, theirToken(to), id, announced, kind, 0, 0)
      link.send(buffer, java.util.List.of[FilePart]())
    }

  /** The other side's name for the connection. */
  private def theirToken(connection: Connection): Long = {
    val parameters = classOf[Connection].getDeclaredField("parameters")
    parameters.setAccessible(true)
    parameters.get(connection).asInstanceOf[Connection.ConnectionParameters].there
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
            frame(peer, 1, Frame.Kind.REQUEST, announced = 16 * Mb, sent)
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
      frame(slow, 1, Frame.Kind.REQUEST, announced = Mb, sent = 0)
      val begun = System.nanoTime
      while (!slow.end.isDone && System.nanoTime - begun < 60 * Second) {
        clock.skip(2)
        slow.withLink { link =>
          // A frame's bytes are the next ones of the message that was begun.
          val drop = slow.memory(0, BufferPool.Use.CONTROL).get
          Frame.write(drop.whole, theirToken(slow), 2, 0, Frame.Kind.CREDIT, 0, 0)
          link.send(drop, java.util.List.of[FilePart]())
        }
        Thread.sleep(100)
      }
      assert(slow.end.isDone)
    }
  }

  test("answers that nobody asked for have no memory, and end the connection") {
    among(echo) { (serving, asking, where) =>
      val peer = connect(asking, where)
      frame(peer, 1, Frame.Kind.RESPONSE, announced = 16 * Mb, sent = 0)
      peer.end.get(60, TimeUnit.SECONDS)
      assert(serving.counters.reservedBytes < Mb)
    }
  }

  test("so do those that come with the last words of the handshake") {
    among(echo) { (_, asking, where) =>
      val peers = (1 to 100).map { _ =>
        asking.connect(where, Service.NONE).thenApply { (peer: Connection) =>
          frame(peer, 1, Frame.Kind.RESPONSE, announced = Mb, sent = 0)
          peer
        }
      }
      peers.foreach(_.get(60, TimeUnit.SECONDS).end.get(60, TimeUnit.SECONDS))
    }
  }
}
