package io.hearth.workloads.data

import com.fasterxml.jackson.databind.JsonNode

import io.hearth.workloads.{Json, Settings, UserError}

/**
 * What defines a data set: equal values, equal bytes.
 *
 * @param bytes as asked for; what is written differs by less than a tenth
 */
final case class DataSet(
    generator: String,
    version: Int,
    seed: Long,
    bytes: Long,
    parameters: Map[String, String]
) {

  /** Of its documents. */
  def fields: Seq[(String, Any)] = Seq(
    "schema" -> DataSet.Schema,
    "generator" -> generator,
    "version" -> version,
    "seed" -> seed,
    "size_bytes" -> bytes,
    "parameters" -> Json.obj(parameters.toSeq.sorted: _*)
  )

  override def toString: String = {
    val chosen = parameters.toSeq.sorted.map { case (name, value) => s"$name $value" }
    (Seq(s"$generator of seed $seed", s"size $bytes", s"version $version") ++ chosen).mkString(", ")
  }
}

object DataSet {
  val Schema = "hearth/dataset/1"

  /**
   * Below it, file footers and the spread of row sizes are too large to meet the requested size.
   */
  val MinBytes: Long = 256L << 10
  private val MaxBytes = 1L << 50
  private val Units = Map("" -> 0, "b" -> 0, "k" -> 10, "m" -> 20, "g" -> 30, "t" -> 40)
  private val Size = """(\d+(?:\.\d+)?)([bkmgt]?)""".r

  def of(generator: Generator, seed: String, size: String, settings: Settings): DataSet = {
    generator.check(settings)
    val number = seed.toLongOption
      .getOrElse(throw new UserError(s"--seed: '$seed' is not a whole number: give one such as 1"))
    DataSet(generator.name, generator.version, number, parseBytes(size), settings.values)
  }

  /** Of a number of bytes or a size such as `20g`; binary units, as in the JVM. */
  private def parseBytes(size: String): Long = size.toLowerCase match {
    case Size(number, unit) =>
      val bytes = BigDecimal(number) * (1L << Units(unit))
      if (bytes < MinBytes)
        throw new UserError(
          s"--size: $size is below the minimum of $MinBytes bytes: give ${MinBytes >> 10}k or more"
        )
      if (bytes > MaxBytes)
        throw new UserError(s"--size: $size is above the maximum of $MaxBytes bytes: give less")
      bytes.toLong
    case _ =>
      throw new UserError(s"--size: '$size' is not a size: give one such as 20g")
  }

  /** @throws NoSuchElementException where the document is not a data set's */
  def read(node: JsonNode): DataSet = {
    def field(name: String): JsonNode =
      Option(node.get(name)).getOrElse(throw new NoSuchElementException(name))
    if (field("schema").asText != Schema) throw new NoSuchElementException(Schema)
    val parameters = Map.newBuilder[String, String]
    field("parameters").properties.forEach(p => parameters += p.getKey -> p.getValue.asText)
    DataSet(
      field("generator").asText,
      field("version").asInt,
      field("seed").asLong,
      field("size_bytes").asLong,
      parameters.result()
    )
  }
}

/** How a data set is cut into numbers and parts. */
final case class Layout(numbers: Long, parts: Int) {

  def range(part: Int): PartWriter.Range = PartWriter.Range(bound(part), bound(part + 1))

  private def bound(part: Int): Long =
    (BigInt(numbers) * part / parts).toLong
}

object Layout {
  private val MinParts = 4L
  private val ManyParts = 256L
  private val SmallPartBytes = 16L << 20
  private val LargePartBytes = 64L << 20
  private val SampleNumbers = 2000L
  private val Rounds = 4

  /**
   * Parts by the size alone: at least 4; of 16 MiB up to 256 of them (4 GiB), so that many cores
   * find work; of up to 64 MiB beyond. Numbers by the bytes of a sample, spread over the data set;
   * found in rounds, because a graph's rows grow with the number of its vertices.
   */
  def of(set: DataSet, generator: Generator, settings: Settings): Layout = {
    val parts = Seq(
      MinParts,
      math.min(ManyParts, ceiling(set.bytes, SmallPartBytes)),
      ceiling(set.bytes, LargePartBytes)
    ).max
    val numbers = (1 to Rounds).foldLeft(set.bytes / 100) { (guess, _) =>
      val tables = generator.tables(set.seed, settings, guess)
      val (fixed, each) = weigh(tables, guess)
      math.max(parts, math.round((set.bytes - fixed * parts) / each))
    }
    Layout(numbers, Math.toIntExact(parts))
  }

  /** Bytes of files without rows, and bytes of a number. */
  private def weigh(tables: Seq[Table], numbers: Long): (Double, Double) = {
    val stride = math.max(1, numbers / SampleNumbers)
    val weighed = tables.map {
      case table: ByteTable =>
        val buffer = new LineBuffer()
        (0L until SampleNumbers).foreach(n => table.rows.write(n * stride, buffer))
        (0.0, buffer.size.toDouble / SampleNumbers)
      case table: ColumnTable =>
        val half = bytes(table, SampleNumbers / 2).toDouble
        val each = (bytes(table, SampleNumbers) - half) / (SampleNumbers / 2)
        (half - each * SampleNumbers / 2, each)
    }
    (weighed.map(_._1).sum, weighed.map(_._2).sum)
  }

  private def bytes(table: ColumnTable, numbers: Long): Long = {
    val stream = new SummedStream(java.io.OutputStream.nullOutputStream())
    PartWriter.write(table, PartWriter.Range(0, numbers), stream)
    stream.getPos
  }

  private def ceiling(size: Long, of: Long): Long = (size + of - 1) / of
}
