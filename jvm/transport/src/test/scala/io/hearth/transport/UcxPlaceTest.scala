package io.hearth.transport

import java.nio.ByteBuffer

import org.scalatest.funsuite.AnyFunSuite

class UcxPlaceTest extends AnyFunSuite {
  private val here = UcxPlace.here()

  test("a peer in another network namespace that shares memory is not woken") {
    assert(here.reachesButDoesNotWake(new UcxPlace(here.memory, here.network + 1)))
    assert(!here.reachesButDoesNotWake(UcxPlace.here()), "a process of the same namespaces")
    assert(
      !here.reachesButDoesNotWake(new UcxPlace(here.memory + 1, here.network + 1)),
      "elsewhere"
    )
  }

  test("it goes to the peer as bytes") {
    val bytes = ByteBuffer.allocate(UcxPlace.BYTES)
    here.write(bytes)
    assert(UcxPlace.read(bytes.flip()) == here)
  }
}
