package io.hearth.driver

import java.util.concurrent.{CountDownLatch, Executors, TimeUnit}

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.driver.testing.Heard

/** On a real executor service, which keeps to itself what its work throws. */
class UnattendedSuite extends AnyFunSuite {

  test("a periodic task goes on after whatever it throws, which is logged, the same again once") {
    val log = new Heard
    val clock = Executors.newSingleThreadScheduledExecutor()
    val unattended = new Unattended("It failed", log)
    val enough = new CountDownLatch(5)
    def tick(): Unit = {
      enough.countDown()
      if (enough.getCount >= 3) throw new NoClassDefFoundError("the same")
      else if (enough.getCount == 2) throw new OutOfMemoryError("another")
    }
    try {
      clock.scheduleWithFixedDelay(() => unattended(tick()), 1, 1, TimeUnit.MILLISECONDS)
      assert(enough.await(60, TimeUnit.SECONDS))
    } finally clock.shutdownNow()
    assert(log.of("fault") == Vector("It failed: the same", "It failed: another"))
  }
}
