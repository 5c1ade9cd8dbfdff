package io.hearth.core.affinity

import java.nio.file.Path

import com.sun.jna.Native

import io.hearth.core.files.Mountpoint

/** JNA's native code, through which hearth calls the kernel: tried once, before the first call. */
object NativeCode {

  /** Why this JVM cannot load it, in one sentence; absent where it can. */
  lazy val problem: Option[String] =
    try {
      val _ = Native.POINTER_SIZE // loads it
      None
    } catch {
      case e: VirtualMachineError => throw e
      case e: Error => Some(explain(Option(e.getMessage).getOrElse(e.toString)))
    }

  /** @throws BindingRefused with [[problem]], where there is one */
  private[affinity] def check(): Unit =
    problem.foreach(why => throw new BindingRefused("", 0, why))

  private val Remedy =
    "name a directory from which programs may be run with the Java option -Djna.tmpdir=DIRECTORY " +
      "(of a Spark driver: spark.driver.extraJavaOptions; of the command hearth: JAVA_TOOL_OPTIONS)"

  /** @param said the loader's message, which begins with the file that JNA has made to load it */
  private[affinity] def explain(said: String): String = {
    val line = said.linesIterator.nextOption().getOrElse("")
    val directory =
      Option
        .when(line.startsWith("/"))(Path.of(line.takeWhile(_ != ':')).getParent)
        .filter(_ != null)
    val noexec = directory.flatMap(Mountpoint.noexec)
    val why = (directory, noexec) match {
      case (Some(folder), Some(mount)) =>
        s"hearth cannot call the kernel: JNA's native code cannot be loaded from $folder, as $mount is mounted noexec"
      case _ => s"hearth cannot call the kernel: JNA's native code cannot be loaded: $line"
    }
    s"$why; $Remedy"
  }
}
