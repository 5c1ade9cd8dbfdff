package io.hearth.core.topology

import java.nio.ByteBuffer

import scala.annotation.tailrec
import scala.collection.mutable

/** What an archive held, as a tree in memory. */
final private[topology] class MemoryFiles(root: MemoryFiles.Directory) extends TreeFiles {
  import MemoryFiles._

  override val isLive: Boolean = false

  override def bytes(path: String, max: Int): Option[Array[Byte]] = find(path).collect {
    case (Regular(bytes), _) => if (bytes.length > max) bytes.take(max) else bytes
  }

  override def exists(path: String): Boolean = find(path).nonEmpty

  override def isDirectory(path: String): Boolean = directory(path).nonEmpty

  override def names(path: String): Vector[String] =
    directory(path).fold(Vector.empty[String])(_.entries.keysIterator.toVector.sorted)

  override def resolved(path: String): Option[String] =
    find(path).map { case (_, names) => names.mkString("/") }

  override def below(name: String): Option[TreeFiles] =
    root.entries.get(name).collect { case directory: Directory => new MemoryFiles(directory) }

  private def directory(path: String): Option[Directory] =
    find(path).collect { case (directory: Directory, _) => directory }

  /** The entry that a path leads to, and the names on the way to it without links. */
  private def find(path: String): Option[(Entry, Vector[String])] =
    follow(List("" -> root), parts(path), MaxLinks)

  /** @param at the directories entered, the innermost first, each with its name */
  @tailrec private def follow(
      at: List[(String, Directory)],
      todo: List[String],
      links: Int
  ): Option[(Entry, Vector[String])] = todo match {
    case Nil => Some(at.head._2 -> names(at))
    case ".." :: rest => if (at.tail.isEmpty) None else follow(at.tail, rest, links)
    case name :: rest =>
      at.head._2.entries.get(name) match {
        case Some(directory: Directory) => follow((name -> directory) :: at, rest, links)
        case Some(Link(target)) if links > 0 && !target.startsWith("/") =>
          follow(at, parts(target) ::: rest, links - 1)
        case Some(file: Regular) if rest.isEmpty => Some(file -> (names(at) :+ name))
        case _ => None
      }
  }

  private def names(at: List[(String, Directory)]): Vector[String] =
    at.reverseIterator.map(_._1).drop(1).toVector
}

private[topology] object MemoryFiles {

  sealed abstract class Entry
  final class Directory(val entries: mutable.Map[String, Entry]) extends Entry
  final case class Regular(bytes: Array[Byte]) extends Entry
  final case class Link(target: String) extends Entry

  /** As in Linux (path_resolution(7)). */
  private val MaxLinks = 40

  private def parts(path: String): List[String] =
    path.split('/').iterator.filter(part => part.nonEmpty && part != ".").toList

  /**
   * Takes the entries of an archive, one after the other; files with the same bytes share them. Its methods
   * throw [[Damage]] for an impossible path.
   */
  final class Builder {
    private val root = new Directory(mutable.HashMap.empty)
    private val contents = mutable.HashMap.empty[ByteBuffer, Regular]
    private var taken = 0L

    /** Bytes of memory that the tree takes, roughly. */
    def size: Long = taken

    def result: TreeFiles = new MemoryFiles(root)

    def directory(path: String): Unit = {
      enter(path, parts(path))
      ()
    }

    def file(path: String, bytes: Array[Byte]): Unit = add(
      path,
      contents.getOrElseUpdate(
        ByteBuffer.wrap(bytes), {
          taken += bytes.length
          Regular(bytes)
        }
      )
    )

    def link(path: String, target: String): Unit = {
      taken += target.length
      add(path, Link(target))
    }

    /** Another name of a file that came before. */
    def hardLink(path: String, target: String): Unit =
      new MemoryFiles(root).find(target) match {
        case Some((file: Regular, _)) => add(path, file)
        case _ =>
          throw new Damage(s"'$path' is a hard link to '$target', which is not a file in it")
      }

    private def add(path: String, entry: Entry): Unit = {
      val steps = parts(path)
      if (steps.isEmpty) throw new Damage("it contains a file without a name")
      taken += EntryBytes + steps.last.length
      enter(path, steps.init).entries(steps.last) = entry
    }

    private def enter(path: String, steps: List[String]): Directory =
      steps.foldLeft(root) { (at, name) =>
        if (name == "..") throw new Damage(s"'$path' points outside it")
        at.entries.getOrElseUpdate(name, made(name)) match {
          case directory: Directory => directory
          case _ => throw new Damage(s"'$path' is below something that is not a directory")
        }
      }

    private def made(name: String): Directory = {
      taken += EntryBytes + name.length
      new Directory(mutable.HashMap.empty)
    }
  }

  /** Estimated memory of a name and its map entry, in addition to the text. */
  private val EntryBytes = 200
}
