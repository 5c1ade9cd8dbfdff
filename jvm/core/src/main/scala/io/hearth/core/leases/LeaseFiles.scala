package io.hearth.core.leases

import java.io.{FileNotFoundException, IOException, UncheckedIOException}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{AccessDeniedException, Files, LinkOption, Path}

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import io.hearth.core.files.Replaceable.{me, uid}

/** A lease and its file's inode, which is the same for all names of one file. */
final private[leases] case class Published(name: String, inode: Long, lease: LiveLease)

/**
 * The files of a directory in which every user can leave what they like. Each user's files are read by
 * themselves and within limits, so that nobody's files hide another's; a note says if there are more.
 */
final private[leases] class LeaseFiles(directory: Path, boot: String) {
  import LeaseFiles._

  /**
   * All leases whose holders live; a file that somebody has given several names counts once.
   *
   * @throws IOException
   */
  def read(): Leases = {
    val names = listed(isLease)
    val parts = names
      .take(MaxNames)
      .flatMap(file => uidOf(file).map(_ -> file))
      .groupMap(_._1)(_._2)
      .toVector
      .sortBy(_._1)
      .map { case (uid, files) => new Owner(uid, files.sorted).read }
    val many = Option.when(names.sizeIs > MaxNames)(
      s"$directory holds more than $MaxNames names '$Prefix*', and the rest is not read: remove those " +
        "that nobody needs"
    )
    Leases(
      parts.flatMap(_.published).sortBy(_.name).distinctBy(_.inode).map(_.lease),
      parts.flatMap(_.problems),
      parts.flatMap(_.unread) ++ many
    )
  }

  /** Files of this user's own that hearth has made here. */
  def ours: Vector[Path] = listed(file => isOurs(file) && uidOf(file).contains(me))

  private def listed(wanted: Path => Boolean): Vector[Path] =
    try
      Using.resource(Files.list(directory))(
        _.iterator.asScala.filter(wanted).take(MaxNames + 1).toVector
      )
    catch { case e: UncheckedIOException => throw e.getCause }

  /** The files of one user. */
  private class Owner(uid: Int, files: Vector[Path]) {
    private lazy val user = userOf(files.head, uid)

    def read: OfOwner = {
      var held = 0
      val said = Vector.newBuilder[Either[String, Published]]
      val rest = files.iterator
      while (held <= MaxHeld && rest.hasNext) {
        val file = look(rest.next())
        if (file.held) held += 1
        if (!file.held || held <= MaxHeld) said ++= file.said
      }
      val (problems, published) = said.result().partitionMap(identity)
      val more = problems.size - MaxProblems
      OfOwner(
        published,
        problems.take(MaxProblems) ++
          Option.when(more > 0)(s"$more more files of user $user in $directory are not counted"),
        Option
          .when(held > MaxHeld)(
            s"user $user holds more than $MaxHeld files '$Prefix*' in $directory, and the rest is not read"
          )
          .toVector
      )
    }

    private def look(file: Path): Look =
      try Using.resource(LinuxLocks.toRead(file))(within(file, _))
      catch {
        case _: FileNotFoundException => Look(held = false)
        case _: AccessDeniedException => unread(s"$file cannot be read: permission denied")
        case e: IOException => unread(s"$file cannot be read: ${e.getMessage}")
      }

    private def unread(problem: String): Look = Look(held = false, Some(Left(problem)))

    private def within(file: Path, open: OpenFile): Look = {
      val status = open.status
      if (!status.isRegular) unread(s"$file is not a regular file")
      else if (status.uid != uid || !open.isWriteLocked) Look(held = false)
      else if (status.isWritableByOthers)
        Look(
          held = true,
          Some(Left(s"$file is ignored: users other than its owner can write to it"))
        )
      else Look(held = true, document(file, open, status.inode))
    }

    private def document(
        file: Path,
        open: OpenFile,
        inode: Long
    ): Option[Either[String, Published]] =
      Lease.read(text(open)) match {
        case Left(problem) => Some(Left(s"$file is not a lease: $problem"))
        case Right(lease) =>
          Option.when(lease.boot == boot)(
            Right(Published(file.getFileName.toString, inode, LiveLease(lease, user, uid == me)))
          )
      }
  }
}

private[leases] object LeaseFiles {
  val Prefix = "hearth-lease-"
  val Suffix = ".json"

  /** As `UUID` writes one, and what a test may choose: nothing that a terminal would act on. */
  private val Name = "[A-Za-z0-9-]{1,64}".r

  /** Names of a kind that are looked at. */
  val MaxNames = 65536

  /** Files of one user that are held at the same time: each is an application that runs. */
  val MaxHeld = 1024
  private val MaxProblems = 8
  private val MaxTextBytes = 65536
  private val NoFollow = LinkOption.NOFOLLOW_LINKS

  /**
   * @param held whether somebody holds it
   * @param said what it says, or what is wrong with it
   */
  final private case class Look(held: Boolean, said: Option[Either[String, Published]] = None)

  /**
   * @param problems what could not be believed or read, a sentence each, a few
   * @param unread why there may be more than was found
   */
  final private case class OfOwner(
      published: Vector[Published],
      problems: Vector[String],
      unread: Vector[String]
  )

  /** Whether hearth can have given it its name; others are not its files. */
  def isLease(file: Path): Boolean = {
    val name = file.getFileName.toString
    name.startsWith(Prefix) && name.endsWith(Suffix) &&
    Name.matches(name.drop(Prefix.length).dropRight(Suffix.length))
  }

  /** Any file that hearth makes in the registry, also one that is not yet complete. */
  private def isOurs(file: Path): Boolean =
    isLease(file) || file.getFileName.toString.startsWith(s".$Prefix")

  private def text(open: OpenFile): String =
    Using.resource(Files.newInputStream(open.itself))(in =>
      new String(in.readNBytes(MaxTextBytes), UTF_8)
    )

  /** Absent for a file that is gone, and for one of which its user lets nobody know anything (FUSE). */
  private def uidOf(file: Path): Option[Int] =
    try Some(uid(file))
    catch { case _: IOException => None }

  private def userOf(file: Path, uid: Int): String =
    RegistryDocument.printable(Try(Files.getOwner(file, NoFollow).getName).getOrElse(s"$uid"))
}
