package org.apache.spark.shuffle.wire

import org.apache.spark.rpc.{RpcAddress, RpcCallContext}
import org.scalatest.funsuite.AnyFunSuite

class WireDirectorySuite extends AnyFunSuite {

  /** Asks as an executor at this address. */
  private def ask(directory: WireDirectory, from: RpcAddress, message: Any): Any = {
    var answer = Option.empty[Any]
    val call = new RpcCallContext {
      override def reply(response: Any): Unit = answer = Some(response)
      override def sendFailure(trouble: Throwable): Unit = throw trouble
      override def senderAddress: RpcAddress = from
    }
    directory.receiveAndReply(call)(message)
    answer.get
  }

  test("the driver knows where an executor's wire listens until its connection with it ends") {
    val directory = new WireDirectory(null) // an RPC environment that it does not use
    val (one, two) = (RpcAddress("127.0.0.1", 1001), RpcAddress("127.0.0.1", 1002))
    ask(directory, one, ("hearth-shuffle-join", "1", "+4711 127.0.0.1"))
    ask(directory, two, ("hearth-shuffle-join", "2", "+4712 127.0.0.1"))
    def find(id: String): Any = ask(directory, two, ("hearth-shuffle-find", id))
    assert(find("1") == "+4711 127.0.0.1" && find("2") == "+4712 127.0.0.1")
    directory.onDisconnected(one)
    assert(find("1") == "-it has not said yet where its wire listens")
    assert(find("2") == "+4712 127.0.0.1")
  }
}
