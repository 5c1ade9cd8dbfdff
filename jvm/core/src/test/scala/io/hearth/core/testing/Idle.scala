package io.hearth.core.testing

/** A program of some threads that wait until its standard input ends; with an argument of so many MB of heap. */
object Idle {
  def main(args: Array[String]): Unit = {
    for (n <- 0 until 10) {
      val thread = new Thread(() => Thread.sleep(120000), s"idler $n")
      thread.setDaemon(true)
      thread.start()
    }
    val heap = args.headOption.map(mb => Array.fill(mb.toInt)(Array.fill[Byte](1 << 20)(1)))
    println("ready")
    System.in.readAllBytes()
    assert(heap.forall(_.nonEmpty))
  }
}
