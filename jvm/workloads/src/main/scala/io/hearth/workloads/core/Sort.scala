package io.hearth.workloads.core

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.hadoop.io.NullWritable
import org.apache.spark.RangePartitioner
import org.apache.spark.rdd.RDD

import io.hearth.workloads.{Input, Job, JobRun, Json, Parameter}

/** Sorts the records of the sort benchmark: a 10-byte key and 90 bytes of value (Awan 2016). */
object Sort extends Job {
  val name = "sort"
  val family = "core"
  val summary = "100-byte records, sorted by key across all partitions, written to files"
  val stresses = "the whole input goes through the shuffle: memory, disk, serialisation"
  val published = "about 6 GB (Awan 2016)"
  val parameters = Seq(
    Parameter.whole("partitions", 0, "sorted partitions; 0: as many as the input has", min = 0)
  )
  val inputs = Seq(Input("records", "records"))

  private val RecordBytes = 100
  private val KeyBytes = 10

  /** The records are written to files in order: `part-00000` the smallest keys. */
  def run(run: JobRun): ObjectNode = {
    val context = run.session.sparkContext
    val records = context.binaryRecords(run.input("records"), RecordBytes)
    val keyed = records.map(record => record.take(KeyBytes) -> record)
    val partitions = run.settings.chosen("partitions").getOrElse(keyed.getNumPartitions)
    run.phase("sort")(write(sorted(keyed, partitions), run.output("sorted")))
    val written = context.binaryRecords(run.output("sorted"), RecordBytes)
    Json.obj("records" -> written.count(), "partitions" -> partitions)
  }

  private type Keyed = RDD[(Array[Byte], Array[Byte])]

  private def sorted(keyed: Keyed, partitions: Int): Keyed = {
    implicit val bytes: Ordering[Array[Byte]] = UnsignedBytes
    keyed.repartitionAndSortWithinPartitions(new RangePartitioner(partitions, keyed))
  }

  private def write(sorted: Keyed, folder: String): Unit =
    sorted
      .map { case (_, record) => record -> NullWritable.get }
      .saveAsNewAPIHadoopFile[BytesOutputFormat](folder)
}

/** Keys in the order of their bytes from 0 to 255, the first byte first. */
private object UnsignedBytes extends Ordering[Array[Byte]] {

  def compare(left: Array[Byte], right: Array[Byte]): Int =
    java.util.Arrays.compareUnsigned(left, right)
}
