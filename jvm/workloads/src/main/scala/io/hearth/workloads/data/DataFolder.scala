package io.hearth.workloads.data

import java.nio.channels.FileChannel
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.StandardOpenOption.{CREATE, WRITE}
import java.nio.file.{Files, Path}
import java.security.MessageDigest

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.hearth.workloads.{Draft, Json, UserError}

/** What a folder contains. */
sealed trait FolderState

object FolderState {

  /** Nothing. */
  case object Free extends FolderState

  /** Begun by a generation that was interrupted. */
  final case class Begun(set: DataSet) extends FolderState
  final case class Complete(set: DataSet, manifest: JsonNode) extends FolderState
}

/**
 * The files of a data set. `_generating.json` comes first: it says what is being made.
 * A part is a [[Draft]] until it is complete, as each document is; then it gets a note,
 * `.part-00003.json`, of its rows, bytes and checksum. `_manifest.json` comes last and contains all
 * of these; then the notes and `_generating.json` are deleted. Spark reads no file whose name begins
 * with a dot or an underscore.
 */
final class DataFolder(val path: Path) {
  private val mapper = new ObjectMapper()
  private val manifest = path.resolve("_manifest.json")
  private val generating = path.resolve("_generating.json")
  private val lock = path.resolve(".generating.lock")

  /** @throws UserError where there is something else, or less than the manifest says */
  def state: FolderState =
    if (Files.exists(manifest)) {
      val document = read(manifest)
      files(document).find(file => !stands(file)).foreach { file =>
        throw new UserError(
          s"$path is damaged: ${file.path} is missing or not ${file.bytes} bytes long: delete $path"
        )
      }
      FolderState.Complete(identity(document, manifest), document)
    } else if (Files.exists(generating))
      FolderState.Begun(identity(read(generating), generating))
    else if (Files.exists(path) && !Files.isDirectory(path))
      throw new UserError(s"$path is not a folder: choose another name")
    else if (entries(path).exists(_ != lock))
      throw new UserError(s"$path contains files, but no data set: choose another folder")
    else FolderState.Free

  /** Keeps other processes from generating here until the block or this process ends. */
  def locked[A](block: => A): A = {
    Files.createDirectories(path)
    Using.resource(FileChannel.open(lock, CREATE, WRITE)) { channel =>
      if (channel.tryLock() == null)
        throw new UserError(s"$path is being written by another process: wait until it ends")
      try block
      finally { Files.deleteIfExists(lock); () }
    }
  }

  def begin(set: DataSet, layout: Layout, folders: Seq[String]): Unit = {
    folders.foreach(folder => Files.createDirectories(path.resolve(folder)))
    val cut = Seq("parts" -> layout.parts, "numbers" -> layout.numbers)
    write(generating, Json.obj(set.fields ++ cut: _*))
  }

  /** Removes files that were being written when their process ended. */
  def removeDrafts(folders: Seq[String]): Unit =
    (path +: folders.map(path.resolve(_))).distinct
      .flatMap(entries)
      .filter(Draft.is)
      .foreach(Files.deleteIfExists(_))

  /** A part's files, if it is complete. */
  def kept(part: Int): Option[Seq[WrittenFile]] =
    Some(note(part)).filter(Files.exists(_)).flatMap(noted)

  private def noted(note: Path): Option[Seq[WrittenFile]] =
    Try(files(read(note))).toOption.filter(files => files.nonEmpty && files.forall(stands))

  /** Bytes of the parts that are complete, of a data set of any number of parts. */
  def madeBytes: Long =
    entries(path).filter(DataFolder.isNote).flatMap(noted).flatten.map(_.bytes).sum

  def keep(part: Int, files: Seq[WrittenFile]): Unit =
    write(note(part), Json.obj("files" -> files.map(DataFolder.note)))

  def finish(set: DataSet, facts: Map[String, Long], files: Seq[WrittenFile], parts: Int): Unit = {
    val counted = files.flatMap(_.counted).groupMapReduce(_._1)(_._2)(_ + _)
    val written = Seq(
      "parts" -> parts,
      "rows" -> files.map(_.rows).sum,
      "bytes" -> files.map(_.bytes).sum,
      "checksum" -> s"sha256:${DataFolder.sum(files)}",
      "facts" -> Json.obj((facts ++ counted).toSeq.sorted: _*),
      "files" -> files.map(file => Json.obj(DataFolder.fields(file): _*))
    )
    write(manifest, Json.obj(set.fields ++ written: _*))
    removeNotes(parts)
    // Of tasks whose executor was killed, and that were tried again.
    removeDrafts(files.flatMap(file => Option(Path.of(file.path).getParent)).map(_.toString))
  }

  /** What a complete data set no longer needs. */
  def removeNotes(parts: Int): Unit = {
    (0 until parts).foreach(part => Files.deleteIfExists(note(part)))
    Files.deleteIfExists(generating)
    ()
  }

  private def note(part: Int): Path = path.resolve(f".part-$part%05d.json")

  private def stands(file: WrittenFile): Boolean = {
    val there = path.resolve(file.path)
    Files.isRegularFile(there) && Files.size(there) == file.bytes
  }

  private def files(document: JsonNode): Seq[WrittenFile] =
    document.path("files").iterator.asScala.toSeq.map { file =>
      WrittenFile(
        file.path("path").asText,
        file.path("rows").asLong,
        file.path("bytes").asLong,
        file.path("crc32").asText,
        file.path("counted").properties.asScala.map(e => e.getKey -> e.getValue.asLong).toMap
      )
    }

  private def identity(document: JsonNode, file: Path): DataSet =
    try DataSet.read(document)
    catch {
      case e: NoSuchElementException =>
        throw new UserError(
          s"$file is not hearth's (it lacks ${e.getMessage}): choose another folder",
          Some(e)
        )
    }

  private def read(file: Path): JsonNode =
    try mapper.readTree(file.toFile)
    catch {
      case e: com.fasterxml.jackson.core.JacksonException =>
        throw new UserError(s"$file is not JSON: delete $path", Some(e))
    }

  private def write(file: Path, document: JsonNode): Unit = {
    Draft.write(file)(Files.writeString(_, Json.pretty(document) + "\n"))
    ()
  }

  private def entries(folder: Path): Seq[Path] =
    if (!Files.isDirectory(folder)) Nil
    else Using.resource(Files.list(folder))(_.iterator.asScala.toSeq)
}

object DataFolder {
  private def isNote(file: Path): Boolean =
    file.getFileName.toString.matches("\\.part-\\d+\\.json")

  private def fields(file: WrittenFile): Seq[(String, Any)] = Seq(
    "path" -> file.path,
    "rows" -> file.rows,
    "bytes" -> file.bytes,
    "crc32" -> file.crc32
  )

  /** With what the manifest holds as a sum only. */
  private def note(file: WrittenFile): JsonNode =
    Json.obj(fields(file) :+ ("counted" -> Json.obj(file.counted.toSeq: _*)): _*)

  /** SHA-256 of one line a file, in order: path, rows, bytes and checksum, by blanks. */
  private def sum(files: Seq[WrittenFile]): String = {
    val digest = MessageDigest.getInstance("SHA-256")
    files.foreach(f =>
      digest.update(s"${f.path} ${f.rows} ${f.bytes} ${f.crc32}\n".getBytes(UTF_8))
    )
    digest.digest().map(byte => f"$byte%02x").mkString
  }
}
