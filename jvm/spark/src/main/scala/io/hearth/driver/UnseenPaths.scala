package io.hearth.driver

import java.nio.file.{Files, Path}

import io.hearth.core.launch.{HostPaths, Mount}

/** What to tell of a task that failed because its container does not see a file of this machine. */
final class UnseenPaths(paths: HostPaths) {

  /**
   * @param failure the error of a task
   * @param mounts what its container sees
   * @return a path, and what to do; nothing where the container is not at fault
   */
  def advice(failure: String, mounts: Vector[Mount]): Option[(Path, String)] =
    failure.linesIterator
      .filter(line => UnseenPaths.Missing.findFirstIn(line).nonEmpty)
      .flatMap(line => UnseenPaths.Named.findAllMatchIn(line).map(_.group(1)))
      .map(text => Path.of(text.stripSuffix(".")).normalize)
      .flatMap(path => missing(path, mounts).map(mount => path -> sentence(path, mount)))
      .nextOption()

  private def missing(path: Path, mounts: Vector[Mount]): Option[Mount] = {
    val over = mounts.filter(mount => path.startsWith(mount.path))
    val above = Option(path.getParent).filter(Files.isDirectory(_))
    if (over.exists(_.writable)) None
    else if (over.nonEmpty) above.filterNot(_ => Files.exists(path)).map(Mount(_, writable = true))
    else if (Files.isRegularFile(path) && above.exists(!paths.isShared(_)))
      above.map(Mount(_, writable = false))
    else if (Files.exists(path)) Some(Mount(path, writable = false))
    else above.map(Mount(_, writable = true))
  }

  private def sentence(path: Path, mount: Mount): String =
    s"The executors' containers do not ${if (mount.writable) "let a task write" else "see"} $path: name it " +
      s"among the application's arguments, or set ${Mount.Key}=${mount.shown}"
}

object UnseenPaths {

  /** As Java, Hadoop, Spark and Python say it. */
  private val Missing =
    "(?i)no such file|does not exist|FileNotFound|NoSuchFile|FILE_NOT_EXIST|read-only file system|mkdirs failed".r

  private val Named = """(?<![\w./])(?:file:)?/*(/[^\s'",;:)\]]+)""".r
}
