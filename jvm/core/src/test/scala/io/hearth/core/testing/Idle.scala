package io.hearth.core.testing

/** A program of some threads that wait until its standard input ends. */
object Idle {
  def main(args: Array[String]): Unit = {
    for (n <- 0 until 10) {
      val thread = new Thread(() => Thread.sleep(120000), s"idler $n")
      thread.setDaemon(true)
      thread.start()
    }
    println("ready")
    System.in.readAllBytes()
    ()
  }
}
