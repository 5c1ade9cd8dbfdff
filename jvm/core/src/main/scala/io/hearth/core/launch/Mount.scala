package io.hearth.core.launch

import java.nio.file.{Files, Path}

import io.hearth.core.UserError

/** A file or directory of this machine that a container sees, at its own place. */
final case class Mount(path: Path, writable: Boolean) {

  /** Of `docker run --mount`, whose value is a line of comma-separated values (RFC 4180). */
  def option: String = {
    val fields = Vector("type=bind", s"source=$path", s"target=$path") ++
      Option.unless(writable)("readonly")
    fields.map(Mount.quoted).mkString(",")
  }

  /** As a user writes it. */
  def shown: String = if (writable) s"$path:rw" else path.toString
}

object Mount {

  /** The user's own; the form of its value is [[Grammar]]. */
  val Key: String = "spark.hearth.docker.mounts"
  val Grammar: String =
    "absolute paths separated by commas, each followed by :ro (the default) or :rw"

  private val Kernels = Vector("/proc", "/sys", "/dev").map(Path.of(_))
  private val SharedMemory = Path.of("/dev/shm")

  /** @return what is wrong, or what the user named, whether or not it is there */
  def parse(text: String): Either[String, Vector[Mount]] = {
    val (wrong, right) = text.split(',').toVector.map(_.trim).filter(_.nonEmpty).partitionMap(one)
    wrong.headOption.toLeft(right).filterOrElse(_.nonEmpty, "it names no path")
  }

  private def one(text: String): Either[String, Mount] = {
    val writable = text.endsWith(":rw")
    val path = text.stripSuffix(":rw").stripSuffix(":ro")
    if (path.startsWith("/")) Right(Mount(Path.of(path).normalize, writable))
    else Left(s"'$text' is not an absolute path")
  }

  /** What the user named. @throws UserError where a path is not there, or the kernel's */
  def chosen(text: String): Vector[Mount] = {
    def refuse(why: String) = throw new UserError(s"$Key: $why; it must be $Grammar")
    val mounts = parse(text).fold(refuse, identity)
    mounts.map(_.path).foreach { path =>
      if (!possible(path)) refuse(s"'$path' cannot be mounted: a container has its own")
      if (!Files.exists(path)) refuse(s"'$path' does not exist, or this user may not see it")
    }
    mounts
  }

  /** The kernel's own directories are a container's own too; shared memory is this machine's. */
  private[launch] def possible(path: Path): Boolean =
    path.getNameCount > 0 && (path.startsWith(SharedMemory) || !Kernels.exists(path.startsWith(_)))

  private def quoted(field: String): String =
    if (field.exists(c => c == ',' || c == '"')) "\"" + field.replace("\"", "\"\"") + "\""
    else field
}
