package io.hearth.plugin

import java.lang.management.ManagementFactory
import java.nio.file.Files
import javax.management.ObjectName

import scala.jdk.CollectionConverters._

/**
 * Leaves code that compiles and reads other code to HotSpot's first compiler (JEP 165). A query runs it once, and yet
 * it is a third of what the second compiler would compile for TPC-H's.
 */
object CompilerDirectives {

  /** Janino; ANTLR; ASM as Spark's closure cleaner and as the JDK have it. */
  private val Packages =
    Vector("org/codehaus", "org/antlr", "org/apache/xbean", "jdk/internal/org/objectweb")

  private[plugin] val Directives =
    s"""[{match: [${Packages
        .map(name => s""""$name/*.*"""")
        .mkString(", ")}], c2: {Exclude: true}}]"""

  /** In this JVM, where the plan makes the second compiler wait, and the user has not said what is compiled how. */
  def add(): Unit = {
    val flags = ManagementFactory.getRuntimeMXBean.getInputArguments.asScala
    if (flags.exists(_.startsWith("-XX:Tier4MinInvocationThreshold=")) && !flags.exists(isUsers))
      new Thread(() => command("compilerDirectivesAdd", Directives), "hearth-compiler").start()
  }

  private def isUsers(flag: String) = flag.matches("-XX:Compile(rDirectives|Command).*")

  /** What `jcmd` would do; a JVM that cannot compiles all as it does. */
  private[plugin] def command(name: String, directives: String): Unit = {
    val file = Files.createTempFile("hearth-compiler", ".json")
    try {
      Files.writeString(file, directives)
      val diagnostics = new ObjectName("com.sun.management:type=DiagnosticCommand")
      ManagementFactory.getPlatformMBeanServer
        .invoke(
          diagnostics,
          name,
          Array(Array(file.toString)),
          Array(classOf[Array[String]].getName)
        )
      ()
    } catch { case _: Exception | _: LinkageError => () }
    finally Files.delete(file)
  }
}
