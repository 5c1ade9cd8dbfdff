package io.hearth.workloads.data

import java.io.IOException
import java.nio.file.{Files, Path}

import org.apache.spark.sql.SparkSession

import io.hearth.workloads.{Arguments, Settings, UserError}

/** One data set to make, and where: `GENERATOR --to DIR --size BYTES --seed N [--PARAMETER VALUE]`. */
final class Generation private (set: DataSet, settings: Settings, folder: DataFolder) {
  private val generator = Generator.named(set.generator)

  /**
   * Makes what is missing; what an earlier identical run made is kept.
   *
   * @param session started only if there is something to do
   * @return one line for the user
   */
  def run(session: () => SparkSession): String =
    try
      if (complete()) s"${folder.path} holds $set already"
      else {
        val layout = Layout.of(set, generator, settings)
        checkSpace(folder.path, folder.madeBytes)
        folder.locked {
          if (complete()) s"${folder.path} holds $set already" else make(layout, session)
        }
      }
    catch { case e: IOException => throw new UserError(failure(e.toString), Some(e)) }

  private def complete(): Boolean = folder.state match {
    case FolderState.Complete(found, manifest) =>
      refuseOther(found)
      folder.removeNotes(manifest.path("parts").asInt)
      true
    case FolderState.Begun(found) =>
      refuseOther(found)
      false
    case FolderState.Free => false
  }

  private def refuseOther(found: DataSet): Unit =
    if (found != set)
      throw new UserError(
        s"${folder.path} holds $found; asked for $set: choose another folder or delete it"
      )

  private def make(layout: Layout, session: () => SparkSession): String = {
    val folders = generator.tables(set.seed, settings, layout.numbers).map(_.folder)
    folder.begin(set, layout, folders)
    folder.removeDrafts(folders)
    val missing = (0 until layout.parts).filter(part => folder.kept(part).isEmpty)
    val seconds = if (missing.isEmpty) 0.0 else write(layout, missing, session())
    val parts = (0 until layout.parts).map { part =>
      folder
        .kept(part)
        .getOrElse(
          throw new UserError(
            s"${folder.path}: part $part was written, but is not visible here: " +
              "executors on other machines need a shared folder"
          )
        )
    }
    val files = parts.flatten.sortBy(_.path)
    folder.finish(set, generator.facts(settings, layout.numbers), files, layout.parts)
    s"${folder.path} holds $set: ${files.map(_.bytes).sum} bytes in ${files.size} files, " +
      f"written in $seconds%.2f s; " +
      s"${layout.parts - missing.size} of ${layout.parts} parts existed already"
  }

  /** Seconds of its tasks. */
  private def write(layout: Layout, parts: Seq[Int], session: SparkSession): Double = {
    val (task, path, context) =
      (new PartTask(set, layout), folder.path.toString, session.sparkContext)
    val start = System.nanoTime()
    val troubles =
      context.parallelize(parts, parts.size).flatMap(part => task.run(path, part)).collect()
    troubles.headOption.foreach(trouble => throw new UserError(failure(trouble)))
    (System.nanoTime() - start) / 1e9
  }

  private def failure(trouble: String): String =
    s"${folder.path} could not be written: $trouble; complete parts are kept: the same " +
      "command continues from there"

  private def checkSpace(path: Path, made: Long): Unit = {
    val store = Files.getFileStore(
      Iterator.iterate(path.toAbsolutePath)(_.getParent).find(Files.exists(_)).get
    )
    val reserve = math.min(Generation.ReserveBytes, store.getTotalSpace / 20)
    val wanted = (set.bytes * Generation.Surplus).toLong - made + reserve
    if (store.getUsableSpace < wanted)
      throw new UserError(
        s"--size: ${set.bytes} bytes do not fit: $path has ${store.getUsableSpace} bytes free, and " +
          s"$wanted are needed with a tenth more and a reserve of $reserve: choose another folder"
      )
  }
}

object Generation {
  private val ReserveBytes = 1L << 30
  private val Surplus = 1.1

  /** @throws UserError for words that do not name a data set */
  def of(name: String, arguments: Arguments): Generation = {
    val generator = Generator.named(name)
    val settings = Settings.of(name, generator.parameters, arguments.without("to", "size", "seed"))
    val set =
      DataSet.of(generator, arguments.required("seed"), arguments.required("size"), settings)
    new Generation(set, settings, new DataFolder(Path.of(arguments.required("to"))))
  }
}

/** What each task of a generation is sent. */
final private class PartTask(set: DataSet, layout: Layout) extends Serializable {

  /** Writes a part; returns the problem that prevented it, if any. */
  def run(path: String, part: Int): Option[String] = {
    val generator = Generator.named(set.generator)
    val settings = Settings.of(set.generator, generator.parameters, set.parameters)
    val folder = new DataFolder(Path.of(path))
    try {
      val tables = generator.tables(set.seed, settings, layout.numbers)
      val files = tables.map(PartWriter.write(folder.path, _, part, layout.range(part)))
      folder.keep(part, files)
      None
    } catch { case e: IOException => Some(s"part $part: ${e.getMessage}") }
  }
}
