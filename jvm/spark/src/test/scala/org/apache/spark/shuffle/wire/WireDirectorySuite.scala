package org.apache.spark.shuffle.wire

import java.net.InetSocketAddress
import java.util.concurrent.TimeUnit

import org.apache.spark.{SecurityManager, SparkConf}
import org.apache.spark.rpc.RpcEnv
import org.scalatest.funsuite.AnyFunSuite

class WireDirectorySuite extends AnyFunSuite {
  private val conf = new SparkConf(false)

  private def env(name: String, clientMode: Boolean): RpcEnv =
    RpcEnv.create(name, "127.0.0.1", 0, conf, new SecurityManager(conf), clientMode)

  test("the driver knows where an executor's wire listens, until that executor is lost") {
    val driver = env("driver", clientMode = false)
    driver.setupEndpoint(WireDirectory.Name, new WireDirectory(driver))
    val executors = Vector("1", "2").map(id => id -> env(id, clientMode = true))
    val seen = executors.map { case (_, own) =>
      new WireDirectory.Seen(own.setupEndpointRef(driver.address, WireDirectory.Name))
    }
    try {
      val where = new InetSocketAddress("127.0.0.1", 4711)
      seen.zip(executors).foreach { case (directory, (id, _)) => directory.join(id, Right(where)) }
      def find(id: String) = seen(1).find(id).get(20, TimeUnit.SECONDS)
      assert(find("1") == Right(where) && find("2") == Right(where))
      executors.head._2.shutdown()
      val end = System.nanoTime + TimeUnit.SECONDS.toNanos(20)
      while (find("1").isRight) assert(System.nanoTime < end, "it is forgotten within 20 s")
      assert(find("2") == Right(where))
    } finally (executors.map(_._2) :+ driver).foreach(_.shutdown())
  }
}
