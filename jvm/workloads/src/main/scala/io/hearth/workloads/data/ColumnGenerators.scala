package io.hearth.workloads.data

import org.apache.parquet.io.api.{Binary, RecordConsumer}

import io.hearth.workloads.{Parameter, Settings}
import io.hearth.workloads.data.ColumnWriter.{doubles, field}

private object Dimensions {

  /** For dense vectors; a row must stay far below a task's memory. */
  val parameter: Parameter =
    Parameter.whole("dimensions", 20, "length of a vector", "20: spark-bench", max = 100000)

  val features: String =
    "required group features (LIST) { repeated group list { required double element; } }"
}

object Clusters extends Generator {
  val name = "clusters"
  val version = 1
  val summary = "points around known centres: features, and the cluster each comes from"
  val distribution =
    "a mixture of Gaussians, even shares; centres uniform in [-10, 10] in each dimension, standard " +
      "deviation of a cluster uniform in [0.5, 1.5]"
  override val parameters: Seq[Parameter] =
    Seq(Dimensions.parameter, Parameter.whole("clusters", 8, "centres", max = 10000))

  def tables(seed: Long, settings: Settings, numbers: Long): Seq[Table] = Seq(
    new ColumnTable(
      "",
      s"message clusters { ${Dimensions.features} required int32 cluster; }",
      new ClusterRows(settings.int("dimensions"), settings.int("clusters"), seed)
    )
  )
}

final class ClusterRows(dimensions: Int, clusters: Int, seed: Long) extends ColumnWriter {
  private val places = Draws.of(seed, "clusters-centres")
  val centres: Array[Array[Double]] =
    Array.fill(clusters)(Array.fill(dimensions)(places.real() * 20 - 10))
  private val spreads = Array.fill(clusters)(0.5 + places.real())
  private val draws = Draws.of(seed, Clusters.name)
  private val point = new Array[Double](dimensions)

  def write(number: Long, item: Int, to: RecordConsumer): Unit = {
    draws.seat(number)
    val cluster = draws.below(clusters)
    var at = 0
    while (at < dimensions) {
      point(at) = centres(cluster)(at) + spreads(cluster) * draws.normal()
      at += 1
    }
    doubles(to, "features", 0, point)
    field(to, "cluster", 1)(to.addInteger(cluster))
  }
}

object DenseVectors extends Generator {
  val name = "vectors-dense"
  val version = 1
  val summary = "labelled dense vectors: label 0 or 1, features"
  val distribution =
    "features standard normal; label: the side of a random hyperplane through the origin, and for 5 % " +
      "of the rows the other one, so that no linear model is right above 95 %"
  override val parameters: Seq[Parameter] = Seq(Dimensions.parameter)

  def tables(seed: Long, settings: Settings, numbers: Long): Seq[Table] = Seq(
    new ColumnTable(
      "",
      s"message vectors { required double label; ${Dimensions.features} }",
      new DenseRows(settings.int("dimensions"), seed)
    )
  )
}

final class DenseRows(dimensions: Int, seed: Long) extends ColumnWriter {
  private val draws = Draws.of(seed, "vectors-dense-plane")
  val normal: Array[Double] = Array.fill(dimensions)(draws.normal())
  private val rows = Draws.of(seed, DenseVectors.name)
  private val point = new Array[Double](dimensions)

  def write(number: Long, item: Int, to: RecordConsumer): Unit = {
    rows.seat(number)
    var side = 0.0
    var at = 0
    while (at < dimensions) {
      point(at) = rows.normal()
      side += point(at) * normal(at)
      at += 1
    }
    val flipped = rows.real() < 0.05
    field(to, "label", 0)(to.addDouble(if ((side > 0) != flipped) 1 else 0))
    doubles(to, "features", 1, point)
  }
}

object Pairs extends Generator {
  val name = "pairs"
  val version = 1
  val summary = "key-value pairs: a whole number, a string"
  val distribution = "keys uniform in 0 until `keys`; values of random letters and digits"
  override val parameters: Seq[Parameter] = Seq(
    Parameter.whole("keys", 10000, "distinct keys", max = Int.MaxValue),
    Parameter.whole("value-bytes", 100, "length of a value", max = 100000)
  )

  def tables(seed: Long, settings: Settings, numbers: Long): Seq[Table] = Seq(
    new ColumnTable(
      "",
      "message pairs { required int64 key; required binary value (STRING); }",
      new PairRows(settings.int("keys"), settings.int("value-bytes"), Draws.of(seed, name))
    )
  )
}

final private class PairRows(keys: Int, length: Int, draws: Draws) extends ColumnWriter {
  private val letters =
    (('a' to 'z') ++ ('A' to 'Z') ++ ('0' to '9') ++ Seq('-', '_')).map(_.toByte)
  private val alphabet = letters.toArray

  def write(number: Long, item: Int, to: RecordConsumer): Unit = {
    draws.seat(number)
    field(to, "key", 0)(to.addLong(draws.below(keys).toLong))
    field(to, "value", 1)(to.addBinary(Binary.fromConstantByteArray(value())))
  }

  private def value(): Array[Byte] = {
    val bytes = new Array[Byte](length)
    var bits = 0L
    var at = 0
    while (at < length) {
      if (at % 10 == 0) bits = draws.long()
      bytes(at) = alphabet((bits & 63).toInt)
      bits >>>= 6
      at += 1
    }
    bytes
  }
}
