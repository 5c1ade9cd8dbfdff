package io.hearth.spark

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

/** How a process ended: its status as a shell tells it (128 + signal), in words, and its own last words. */
object ExitStatus {

  def explain(code: Int): String = code match {
    case 137 =>
      "exit 137: killed by SIGKILL, as the kernel's out-of-memory killer does when the node or the cgroup " +
        "has no memory left (see `dmesg`), or somebody's kill -9; give the executor less heap or more overhead " +
        "(spark.executor.memory, spark.executor.memoryOverhead)"
    case 143 => "exit 143: ended by SIGTERM, as by `kill` or a service manager"
    case 134 => "exit 134: the JVM aborted (SIGABRT); an hs_err file is in its work directory"
    case 139 => "exit 139: crashed (SIGSEGV); an hs_err file is in its work directory"
    case signalled if signalled > 128 && signalled < 160 =>
      s"exit $signalled: ended by signal ${signalled - 128}"
    case other => s"exit $other"
  }

  /** The end of a log, at most `bytes` of it, from the beginning of a line; empty when there is none. */
  def lastWords(log: Path, bytes: Int = 2000): String =
    if (!Files.isReadable(log)) ""
    else {
      val text = tail(log, bytes)
      val cut = if (Files.size(log) > bytes) text.dropWhile(_ != '\n') else text
      cut.trim
    }

  private def tail(log: Path, bytes: Int): String = {
    val channel = Files.newByteChannel(log)
    try {
      channel.position(math.max(0L, channel.size - bytes))
      val buffer = java.nio.ByteBuffer.allocate(bytes)
      while (buffer.hasRemaining && channel.read(buffer) >= 0) {}
      new String(buffer.array, 0, buffer.position(), UTF_8)
    } finally channel.close()
  }
}
