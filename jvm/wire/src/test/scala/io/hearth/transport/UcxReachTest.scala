package io.hearth.transport

import java.nio.ByteBuffer

import org.scalatest.funsuite.AnyFunSuite

class UcxReachTest extends AnyFunSuite {
  private val here = UcxReach.here()

  test("a peer in another network namespace that shares memory is not woken") {
    assert(here.reachesButDoesNotWake(new UcxReach(here.memory, here.network + 1)))
    assert(!here.reachesButDoesNotWake(UcxReach.here()), "a process of the same namespaces")
    assert(
      !here.reachesButDoesNotWake(new UcxReach(here.memory + 1, here.network + 1)),
      "elsewhere"
    )
  }

  test("it goes to the peer as bytes") {
    val bytes = ByteBuffer.allocate(UcxReach.BYTES)
    here.write(bytes)
    assert(UcxReach.read(bytes.flip()) == here)
  }
}
