package io.hearth.transport

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** What makes two sides trust each other, without a socket. */
class HandshakeTest extends AnyFunSuite {
  private val offer = new Handshake.Offer(42, 1000, 2000, Array[Byte](1, 2, 3), "why")
  private def side = new Handshake(Wires.settings)

  final private class Talk {
    val (client, server) = (side, side)
    val hello: Array[Byte] = client.hello
    val challenge: Array[Byte] = server.challenge(hello)
    val proof: Array[Byte] = client.proof(challenge, offer)
  }

  private def refused(body: => Any): String = {
    val refusal = intercept[WireException](body)
    assert(refusal.kind == WireException.Kind.REFUSED)
    refusal.getMessage
  }

  test("two sides with one secret learn what the other offers") {
    val talk = new Talk
    assert(talk.server.proven(talk.proof).token == 42)
    val accepted = talk.client.accepted(talk.server.accept(offer))
    assert(accepted.ucx.sameElements(offer.ucx) && accepted.why == "why")
    val choice = talk.server.chosen(talk.client.choice(new Handshake.Choice(true, "as\u001bked")))
    assert(choice.ucx && choice.why == "as?ked")
  }

  test("what was heard in one handshake opens no other, and no side is fooled by its own words") {
    val (one, two) = (new Talk, new Talk)
    assert(refused(two.server.proven(one.proof)).contains("secret"))
    val talk = new Talk
    refused(talk.client.accepted(talk.proof))
    val swapped = talk.proof.clone
    swapped(0) = 'A'
    assert(refused(talk.client.accepted(swapped)).contains("secret"))
  }

  test("a changed byte anywhere is refused, and so is every cut") {
    val random = new Random(7)
    (0 until 300).foreach { _ =>
      val talk = new Talk
      val at = random.nextInt(talk.proof.length)
      val changed = talk.proof.clone
      changed(at) = (changed(at) ^ (1 << random.nextInt(8))).toByte
      refused(talk.server.proven(changed))
    }
    val length = new Talk().proof.length
    (0 until length).foreach { cut =>
      val talk = new Talk
      refused(talk.server.proven(talk.proof.take(cut)))
    }
  }

  test("another version is refused by number") {
    val hello = side.hello
    hello(9) = 9
    assert(refused(side.challenge(hello)).contains("version 9"))
  }
}
