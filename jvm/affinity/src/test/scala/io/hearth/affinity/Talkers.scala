package io.hearth.affinity

/** A program with communication threads: each starts another thread, and so does each line of input. */
object Talkers {
  private def start(name: String)(body: => Unit): Unit = {
    val thread = new Thread(() => { body; Thread.sleep(60000) }, name)
    thread.setDaemon(true)
    thread.start()
  }

  def main(args: Array[String]): Unit = {
    Vector("rpc-server-1-1", "shuffle-client-4-1", "IPC Server handler 3 on default port 8020")
      .foreach(name => start(name)(start("its child")(())))
    start("worker")(())
    println(classOf[com.sun.jna.Native].getProtectionDomain.getCodeSource.getLocation)
    scala.io.Source.stdin.getLines().foreach(name => start(name)(()))
  }
}
