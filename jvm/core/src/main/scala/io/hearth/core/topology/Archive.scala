package io.hearth.core.topology

import java.io.{IOException, RandomAccessFile}
import java.nio.charset.StandardCharsets.US_ASCII
import java.nio.file.attribute.{BasicFileAttributes, PosixFilePermissions}
import java.nio.file.{FileVisitResult, Files, Path, SimpleFileVisitor}
import java.util.concurrent.TimeUnit

import scala.jdk.CollectionConverters._
import scala.util.Using

import io.hearth.core.UserError

/** Tar archives, through the system's `tar`, which knows every compression. */
private[topology] object Archive {

  /** Seconds that one archive may take: captures of the largest machines take about one. */
  private val TimeLimitSeconds = 120L

  /** What captures hold by the thousand and nothing here reads. */
  private val Unread = Vector("sys/bus/*", "sys/firmware/*", "sys/module/*") ++
    Vector("system/memory/*", "system/node/node*/memory[0-9]*", "cpufreq/*", "cpuidle/*") ++
    Vector("thermal_throttle/*", "power/*", "hugepages/*")

  private val BlockBytes = 512
  private val MagicAt = 257L

  /**
   * Unpacks into a temporary directory, which is gone when this returns or throws.
   *
   * @throws UserError where `file` is not a whole tar archive
   */
  def unpacked[A](file: Path)(use: Path => A): A = inTemporary { directory =>
    val from = Vector("-xf", file.toAbsolutePath.toString, "-C", directory.toString)
    tar((from :+ "--no-same-owner") ++ Unread.map(name => s"--exclude=*/$name"))
      .orElse(cutOff(file))
      .foreach { problem =>
        throw new UserError(
          s"machine '$file' is not a whole capture (tar: $problem): give a directory, a tar archive or " +
            "a topology document, or gather it again"
        )
      }
    use(directory)
  }

  /** `tar` itself does not mind an archive, not compressed, that is cut off between two members. */
  private def cutOff(file: Path): Option[String] =
    Using.resource(new RandomAccessFile(file.toFile, "r")) { in =>
      def bytes(at: Long, count: Int): Array[Byte] = {
        val buffer = new Array[Byte](count)
        in.seek(at)
        in.readFully(buffer)
        buffer
      }
      val plain = in.length > BlockBytes && new String(bytes(MagicAt, 5), US_ASCII) == "ustar"
      val ended = plain && bytes(in.length - BlockBytes, BlockBytes).forall(_ == 0)
      Option.when(plain && !ended)("the end of the archive is missing")
    }

  /** Packs the directory `name` of `parent`, without anything of the user who does it. */
  def pack(parent: Path, name: String, file: Path): Unit =
    tar(
      Vector("-czf", file.toAbsolutePath.toString, "-C", parent.toString, "--sort=name") ++
        Vector("--owner=0", "--group=0", "--numeric-owner", "--mtime=@0", name)
    ).foreach(problem => throw new IOException(s"tar could not write $file: $problem"))

  /** Runs `use` with a new directory, which is removed afterwards with all that it holds. */
  def inTemporary[A](use: Path => A): A = {
    val directory = Files.createTempDirectory("hearth-capture")
    try use(directory)
    finally remove(directory)
  }

  def directories(parent: Path): Vector[Path] =
    if (!Files.isDirectory(parent)) Vector.empty
    else
      Using.resource(Files.newDirectoryStream(parent)) {
        _.iterator.asScala.filter(Files.isDirectory(_)).toVector.sorted
      }

  /** What tar complains of, where it fails. */
  private def tar(arguments: Vector[String]): Option[String] = {
    val builder = new ProcessBuilder(("tar" +: arguments).asJava)
    builder.environment.put("LC_ALL", "C")
    val process = builder.redirectErrorStream(true).start()
    process.getOutputStream.close()
    val watch = process.onExit.orTimeout(TimeLimitSeconds, TimeUnit.SECONDS)
    watch.exceptionally { _ =>
      process.destroyForcibly()
      process
    }
    val said = new String(process.getInputStream.readAllBytes()).linesIterator.nextOption()
    val status = process.waitFor()
    Option.when(status != 0)(said.fold(s"exit $status")(_.stripPrefix("tar: ")))
  }

  /** Captures may hold directories that their owner cannot write: they are opened up first. */
  private def remove(root: Path): Unit = {
    Files.walkFileTree(
      root,
      new SimpleFileVisitor[Path] {
        override def preVisitDirectory(dir: Path, attributes: BasicFileAttributes) = {
          Files.setPosixFilePermissions(dir, PosixFilePermissions.fromString("rwx------"))
          FileVisitResult.CONTINUE
        }
        override def visitFile(file: Path, attributes: BasicFileAttributes) = {
          Files.delete(file)
          FileVisitResult.CONTINUE
        }
        override def postVisitDirectory(dir: Path, problem: IOException) = {
          Files.delete(dir)
          FileVisitResult.CONTINUE
        }
      }
    )
    ()
  }
}
