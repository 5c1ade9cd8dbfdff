package org.apache.spark.scheduler.cluster.numa

import java.nio.file.{Files, Path}

import scala.xml.Node

import jakarta.servlet.http.HttpServletRequest

import org.apache.spark.SparkContext
import org.apache.spark.ui.WebUIPage

import io.hearth.driver.ExitStatus

/**
 * Serves the executors' standard output and error on the driver's UI, for its links on the Executors page.
 *
 * @param directoryOf where an executor's logs are
 */
private[spark] class ExecutorLogs(sc: SparkContext, directoryOf: String => Path)
    extends WebUIPage(ExecutorLogs.Prefix) {

  def attach(): Unit = sc.ui.foreach(_.attachPage(this))

  /** @return for `stdout` and `stderr`, the address; absent without a UI */
  def urlFor(executorId: String): Option[String => String] =
    sc.uiWebUrl.map(ui => name => s"$ui/${ExecutorLogs.Prefix}/?executor=$executorId&name=$name")

  override def render(request: HttpServletRequest): Seq[Node] = {
    val executor = Option(request.getParameter("executor")).getOrElse("")
    val name = Option(request.getParameter("name")).getOrElse("stderr")
    <html>
      <head><title>{name} of executor {executor.take(9)}</title></head>
      <body><pre>{text(executor, name)}</pre></body>
    </html>
  }

  /** Only an executor's number and the two names: nothing else of the file system can be asked for. */
  private def text(executor: String, name: String): String =
    if (!executor.matches("[0-9]{1,9}") || !Set("stdout", "stderr").contains(name))
      s"No such log: executor '$executor', name '$name'. The executor is a number, the name stdout or stderr."
    else {
      val file = directoryOf(executor).resolve(name)
      if (!Files.exists(file)) s"No such log: executor $executor has not been started in this run."
      else ExitStatus.end(file, ExecutorLogs.ShownBytes)
    }
}

private[spark] object ExecutorLogs {
  val Prefix: String = "hearth/log"
  val ShownBytes: Int = 1024 * 1024
}
