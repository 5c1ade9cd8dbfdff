package io.hearth.core.topology

import java.io.{BufferedInputStream, BufferedOutputStream, EOFException, IOException, InputStream}
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.nio.file.{Files, Path}
import java.util.zip.GZIPOutputStream

import scala.annotation.tailrec
import scala.util.Using

import org.apache.commons.compress.archivers.tar.{
  TarArchiveEntry,
  TarArchiveInputStream,
  TarArchiveOutputStream
}
import org.apache.commons.compress.compressors.{CompressorException, CompressorStreamFactory}

import io.hearth.core.{Brief, UserError}

/**
 * Tar archives of captures. They are read as a stream into memory, and nothing is unpacked to a disk:
 * an archive comes from somebody else, so its size is limited.
 */
private[topology] object Archive {

  /**
   * @param unpacked bytes that the archive unpacks to: captures of the largest machines have some 500 MB
   * @param memory bytes of memory for the part that is kept
   */
  final case class Limits(unpacked: Long, memory: Long)

  val Default: Limits = Limits(unpacked = 1L << 30, memory = 256L << 20)

  /** @throws UserError where `file` is not a complete tar archive, or exceeds the limits */
  def read(file: Path, source: String, limits: Limits = Default): TreeFiles =
    try
      Using.resource(new BufferedInputStream(Files.newInputStream(file)))(in =>
        new ArchiveReader(new Metered(uncompressed(in), limits.unpacked), limits).read()
      )
    catch {
      case damage: Damage => refuse(source, damage.getMessage)
      // The library may throw other exceptions for damaged archives than the documented two.
      case e @ (_: IOException | _: RuntimeException) => refuse(source, reasonOf(e))
    }

  private def refuse(source: String, reason: String): Nothing = throw new UserError(
    s"machine '${Brief(source)}' is not a complete capture: ${Brief(reason)}; ${TopologyReader.Remedy}"
  )

  private def reasonOf(e: Throwable): String = {
    val causes = Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(MaxCauses)
    if (causes.exists(_.isInstanceOf[EOFException])) EndMissing else messageOf(e)
  }

  private def messageOf(e: Throwable): String = {
    val said = Option(e.getMessage).flatMap(_.linesIterator.map(_.trim).find(_.nonEmpty))
    said.getOrElse(s"it is damaged (${e.getClass.getSimpleName})")
  }

  private[topology] val EndMissing = "it is cut off"
  private val MaxCauses = 10

  private val Compressions = Set(
    CompressorStreamFactory.GZIP,
    CompressorStreamFactory.BZIP2,
    CompressorStreamFactory.XZ
  )

  private def uncompressed(in: BufferedInputStream): InputStream = {
    val kind =
      try Some(CompressorStreamFactory.detect(in))
      catch { case _: CompressorException => None }
    kind match {
      case None => in
      case Some(name) if Compressions(name) =>
        new CompressorStreamFactory(true, DecoderKb).createCompressorInputStream(name, in)
      case Some(name) => throw new Damage(s"it is compressed with $name, which hearth cannot read")
    }
  }

  /** Memory for a decoder's dictionary: that of `xz -9` is 65 MB. */
  private val DecoderKb = 80 * 1024

  /** Packs files and directories below `top`, without a trace of the user who does it. */
  def write(
      file: Path,
      top: String,
      files: Vector[(String, String)],
      directories: Vector[String]
  ): Unit = {
    def entry(name: String, bytes: Long): TarArchiveEntry = {
      val entry = new TarArchiveEntry(name)
      entry.setUserName("")
      entry.setIds(0, 0)
      entry.setModTime(0L)
      entry.setSize(bytes)
      entry
    }
    val stream = new BufferedOutputStream(Files.newOutputStream(file))
    Using.resource(new TarArchiveOutputStream(new GZIPOutputStream(stream), UTF_8.name)) { out =>
      out.setLongFileMode(TarArchiveOutputStream.LONGFILE_POSIX)
      directories.distinct.sorted.foreach { path =>
        out.putArchiveEntry(entry(s"$top/$path/", 0))
        out.closeArchiveEntry()
      }
      files.toMap.toVector.sortBy(_._1).foreach { case (path, text) =>
        val bytes = text.getBytes(ISO_8859_1)
        out.putArchiveEntry(entry(s"$top/$path", bytes.length.toLong))
        out.write(bytes)
        out.closeArchiveEntry()
      }
    }
  }
}

/** What is wrong with an archive, briefly. */
final private[topology] class Damage(reason: String, cause: Option[Throwable] = None)
    extends IOException(reason, cause.orNull)

/** Reads one archive from its beginning to its end. */
final private class ArchiveReader(in: Metered, limits: Archive.Limits) {
  import ArchiveReader._

  private val tar = new TarArchiveInputStream(in, UTF_8.name)
  private val tree = new MemoryFiles.Builder

  def read(): TreeFiles = {
    @tailrec def loop(last: Long): Unit = {
      // The library keeps an entry's extension headers in memory whole: only this limit bounds them.
      in.allow(last + MaxHeaderBytes)
      next() match {
        case None => ()
        case Some(entry) =>
          in.allow(entry.getSize + BlockBytes)
          take(entry)
          if (tree.size > limits.memory)
            throw new Damage(s"its content takes more than ${limits.memory >> 20} MB of memory")
          loop(entry.getSize + BlockBytes)
      }
    }
    loop(0)
    // The library takes a truncated file for the end of the archive.
    if (in.zeros < BlockBytes) throw new Damage(Archive.EndMissing)
    in.drain() // so that the checksum of the compression is seen
    tree.result
  }

  private def next(): Option[TarArchiveEntry] = {
    val first = in.count == 0
    val entry =
      try Option(tar.getNextEntry)
      catch { case e: Exception if first && !in.failed => throw new Damage(NoTar, Some(e)) }
    if (first && entry.isEmpty) throw new Damage(if (in.count == 0) "it is empty" else NoTar)
    entry.filterNot(_.isCheckSumOK).foreach { damaged =>
      throw new Damage(if (first) NoTar else s"the header of '${damaged.getName}' is damaged")
    }
    entry
  }

  private def take(entry: TarArchiveEntry): Unit = {
    val name = entry.getName
    if (Unread.findFirstIn(name).isEmpty) {
      if (entry.isDirectory) tree.directory(name)
      else if (entry.isSymbolicLink) tree.link(name, entry.getLinkName)
      else if (entry.isLink) tree.hardLink(name, entry.getLinkName)
      else if (entry.isFile) tree.file(name, content(name))
    }
  }

  private def content(name: String): Array[Byte] = {
    val bytes = tar.readNBytes(SysTree.LargestFile + 1)
    if (bytes.length > SysTree.LargestFile)
      throw new Damage(s"its file '$name' is larger than ${SysTree.LargestFile >> 20} MB")
    bytes
  }
}

private object ArchiveReader {
  private val NoTar = "it is not a tar archive"
  private val BlockBytes = 512L

  /** For the header of an entry, with all its extensions (names of any length, pax records). */
  private val MaxHeaderBytes = 1L << 20

  /**
   * Files that captures contain by the thousand and that nothing here reads: of `sys/bus`, PCI devices are, and of
   * huge pages, how many there are.
   */
  private val Unread =
    ("(^|/)(sys/bus/(?!pci/devices/)|sys/(firmware|module)/|system/memory/|node/node[0-9]+/memory[0-9]+/|" +
      "(cpufreq|cpuidle|thermal_throttle|power)/|hugepages/(?!hugepages-[0-9]+kB/nr_hugepages$)).").r
}

/**
 * Counts what is read, and reads no more than is allowed.
 *
 * @param max bytes in all
 */
final private class Metered(in: InputStream, max: Long) extends InputStream {
  private var allowed = 0L
  private var read_ = 0L
  private var zeroRun = 0L
  private var broken = false

  def count: Long = read_

  /** How many of the last bytes read are zeros. */
  def zeros: Long = zeroRun

  /** Whether reading itself has failed, for damage to the compression or because of the limits. */
  def failed: Boolean = broken

  /** From now on, `more` bytes may be read. */
  def allow(more: Long): Unit = allowed = read_ + more

  /** Reads to the end. */
  def drain(): Unit = {
    allow(max)
    val buffer = new Array[Byte](1 << 16)
    while (read(buffer, 0, buffer.length) >= 0) {}
  }

  override def read(): Int = {
    val one = new Array[Byte](1)
    if (read(one, 0, 1) < 0) -1 else one(0) & 0xff
  }

  override def read(buffer: Array[Byte], from: Int, length: Int): Int = {
    val n =
      try in.read(buffer, from, length)
      catch {
        case e: Exception =>
          broken = true
          throw e
      }
    if (n > 0) count(buffer, from, n)
    n
  }

  private def count(buffer: Array[Byte], from: Int, n: Int): Unit = {
    read_ += n
    var first = from + n // of the zeros at the end: most of an archive of small files is such
    while (first > from && buffer(first - 1) == 0) first -= 1
    zeroRun = if (first == from) zeroRun + n else (from + n - first).toLong
    broken = read_ > math.min(max, allowed)
    if (read_ > max) throw new Damage(s"it unpacks to more than ${max >> 20} MB")
    if (read_ > allowed) throw new Damage("the header of an entry takes more than 1 MB")
  }
}
