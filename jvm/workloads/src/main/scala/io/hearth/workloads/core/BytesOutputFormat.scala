package io.hearth.workloads.core

import org.apache.hadoop.io.NullWritable
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat
import org.apache.hadoop.mapreduce.{RecordWriter, TaskAttemptContext}

/** Writes records one after the other with no separator. */
final class BytesOutputFormat extends FileOutputFormat[Array[Byte], NullWritable] {

  override def getRecordWriter(
      attempt: TaskAttemptContext
  ): RecordWriter[Array[Byte], NullWritable] = {
    val file = getDefaultWorkFile(attempt, "")
    val stream = file.getFileSystem(attempt.getConfiguration).create(file, false)
    new RecordWriter[Array[Byte], NullWritable] {
      override def write(record: Array[Byte], nothing: NullWritable): Unit = stream.write(record)
      override def close(attempt: TaskAttemptContext): Unit = stream.close()
    }
  }
}
