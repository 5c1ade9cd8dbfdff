package org.apache.spark.shuffle.wire

import java.nio.ByteBuffer

import io.netty.util.IllegalReferenceCountException
import org.scalatest.funsuite.AnyFunSuite

import io.hearth.shuffle.Chunk

class PiecesManagedBufferSuite extends AnyFunSuite {

  test(
    "whoever reads on after the block was released is told so, as by Netty, and reads no freed memory"
  ) {
    var freed = 0
    def piece(text: String) = Chunk(ByteBuffer.wrap(text.getBytes), () => freed += 1)
    val block = new PiecesManagedBuffer(Vector(piece("ab"), piece("cd")))
    val stream = block.createInputStream()
    block.retain()
    assert(stream.read() == 'a' && stream.readNBytes(2).sameElements("bc".getBytes))
    block.release()
    assert(freed == 0)
    block.release()
    assert(freed == 2)
    val reads = Seq[() => Any](() => stream.read(), () => stream.read(new Array[Byte](1)))
    for (read <- reads :+ (() => block.createInputStream().read()))
      intercept[IllegalReferenceCountException](read())
    stream.close()
    assert(freed == 2)
  }

  test("memory is not freed while it is being read") {
    val steps = new java.util.concurrent.LinkedBlockingQueue[String]
    val block =
      new PiecesManagedBuffer(Vector(Chunk(ByteBuffer.allocate(1), () => steps.add("freed"))))
    block.reading {
      block.release()
      steps.add("read")
    }
    assert(steps.toArray.toSeq == Seq("read", "freed"))
  }
}
