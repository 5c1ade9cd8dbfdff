package io.hearth.core.launch

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.security.MessageDigest

import scala.jdk.CollectionConverters._
import scala.util.Using

import io.hearth.core.files.{Homes, OwnFiles}

/** How a JVM uses the archive of its loaded classes (JEP 350: dynamic class-data archives). */
sealed trait ArchiveUse {
  def options: Vector[String]
}

object ArchiveUse {

  /**
   * Standard output is the application's: Java 17 names there each class that it leaves out when it
   * writes an archive, Java 24 and later each module option with which they start from one.
   */
  private val Quiet = "-Xlog:cds*=off"

  /** Starts from the archive. A JVM that finds a mismatch continues without it. */
  final case class Ready(archive: Path) extends ArchiveUse {
    override def options: Vector[String] =
      Vector(s"-XX:SharedArchiveFile=$archive", "-Xshare:auto", Quiet)
  }

  /** There is none yet: one JVM writes it when it ends, for the next runs. */
  final case class Write(partial: Path, archive: Path) extends ArchiveUse {
    override def options: Vector[String] = Vector(s"-XX:ArchiveClassesAtExit=$partial", Quiet)

    /**
     * Puts the archive in its place and deletes the oldest others.
     *
     * @param exit exit code of the JVM that was to write it: a killed one may have written part of it
     * @param sound whether a JVM starts from it, see [[ArchiveCheck]]
     * @return whether there is one now
     */
    def publish(exit: Int, sound: Path => Boolean): Boolean = {
      val written = exit == 0 && Files.exists(partial) && sound(partial)
      if (written) {
        OwnFiles.replace(archive, partial)(Checksum.write(partial, archive))
        ClassDataArchive.dropOldest(archive.getParent)
      } else Files.deleteIfExists(partial)
      written
    }
  }

  /** None can be made, for this reason. */
  final case class Without(reason: String) extends ArchiveUse {
    override def options: Vector[String] = Vector.empty
  }
}

object ClassDataArchive {

  /** Where archives are kept (XDG Base Directory Specification). */
  def directory(environment: String => Option[String], home: String): Path =
    Homes.cache(environment, home)

  /**
   * @param classPath as given to the JVM: jars, `directory/ *`, directories; what comes behind the last
   *   jars is no part of an archive
   * @param java the version of the JVM, as the system property `java.vm.version`
   * @param owner makes the name of a partial archive unique
   */
  def use(directory: Path, classPath: Vector[String], java: String, owner: String): ArchiveUse = {
    // An archive fits where the class path begins as it did when the archive was written.
    val (jars, behind) = classPath.splitAt(classPath.lastIndexWhere(isJars) + 1)
    jars.find(isFilledDirectory) match {
      case Some(entry) => withFiles(entry)
      // A JVM takes two archives, and ends where there is a third.
      case None if directory.toString.contains(':') =>
        ArchiveUse.Without(
          s"'$directory' has a colon, which separates archives in JVM options: set XDG_CACHE_HOME to " +
            "a directory without one"
        )
      case None =>
        val name = s"executor-${key(jars, java)}"
        val archive = directory.resolve(s"$name.jsa")
        // A JVM that starts from a damaged one crashes, now or later.
        if (OwnFiles.trusted(archive) && Checksum.matches(archive)) ArchiveUse.Ready(archive)
        else
          try {
            OwnFiles.keep(directory)
            Files.deleteIfExists(archive)
            behind
              .find(isFilledDirectory)
              .fold[ArchiveUse](
                ArchiveUse.Write(directory.resolve(s"$name.$owner.part"), archive)
              )(withFiles)
          } catch {
            case e: IOException => ArchiveUse.Without(s"$directory cannot be written: $e")
          }
    }
  }

  private def withFiles(entry: String) =
    ArchiveUse.Without(
      s"$entry on the class path is a directory with files: the JVM archives classes of jars only"
    )

  /**
   * Each jar, each JVM has its own archive of some 80 MB: the newest few stay. An old partial file
   * is left from an application that was killed along with its reaper.
   */
  private[launch] def dropOldest(directory: Path): Unit = {
    val files = Using.resource(Files.list(directory))(_.iterator.asScala.toVector)
    def named(pattern: String) = files.filter(_.getFileName.toString.matches(pattern))
    def age(file: Path) = System.currentTimeMillis - Files.getLastModifiedTime(file).toMillis
    val old = named("executor-[0-9a-f]+\\.jsa").sortBy(age).drop(Kept)
    val parts = named("executor-[0-9a-f]+\\..*\\.part").filter(age(_) > PartMillis)
    (old ++ old.map(Checksum.fileOf) ++ parts).foreach(Files.deleteIfExists(_))
  }

  private val Kept = 4
  private val PartMillis = 24 * 3600 * 1000L

  private def isJars(entry: String): Boolean = entry.endsWith("/*") || entry.endsWith(".jar")

  private def isFilledDirectory(entry: String): Boolean =
    Files
      .isDirectory(Path.of(entry)) && Using.resource(Files.list(Path.of(entry)))(_.iterator.hasNext)

  /** Changes with each jar's path, size and time, and with the JVM: an archive fits those alone. */
  private def key(classPath: Vector[String], java: String): String = {
    val jars = classPath.flatMap(expand)
    val text = (java +: jars.map(jar => s"$jar ${stamp(jar)}")).mkString("\n")
    val digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(UTF_8))
    digest.take(8).map(byte => f"$byte%02x").mkString
  }

  private def expand(entry: String): Vector[Path] =
    if (entry.endsWith("/*"))
      Using
        .resource(Files.list(Path.of(entry.stripSuffix("/*"))))(_.iterator.asScala.toVector)
        .sorted
    else Vector(Path.of(entry))

  private def stamp(jar: Path): String =
    if (Files.exists(jar)) s"${Files.size(jar)} ${Files.getLastModifiedTime(jar).toMillis}"
    else "absent"
}
