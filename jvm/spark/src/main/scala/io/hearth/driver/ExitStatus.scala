package io.hearth.driver

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

import scala.annotation.tailrec
import scala.util.matching.Regex

import io.hearth.core.Terminal

/** How a process ended: its status as a shell tells it (128 + signal), in words, and its own last words. */
object ExitStatus {

  /** How the explanation of a process begins that SIGKILL has ended. */
  val Killed = "exit 137: killed by SIGKILL"

  def explain(code: Int): String = code match {
    case 137 =>
      s"$Killed: by the kernel's out-of-memory killer when the node or the cgroup runs " +
        "out of memory (see `dmesg`), or by `kill -9`; give the executor less heap or more overhead " +
        "(spark.executor.memory, spark.executor.memoryOverhead)"
    case 3 =>
      "exit 3: the JVM ended itself on an OutOfMemoryError (-XX:+ExitOnOutOfMemoryError); give the executor " +
        "more heap or fewer tasks at once (spark.executor.memory, spark.executor.cores)"
    case ApplicationToken.StrangersExit =>
      s"exit $code: another application's driver answered at this driver's address, so it did not register"
    case 143 => "exit 143: ended by SIGTERM, as by `kill` or a service manager"
    case 134 => "exit 134: the JVM aborted (SIGABRT)"
    case 139 => "exit 139: crashed (SIGSEGV)"
    case signalled if signalled > 128 && signalled < 160 =>
      s"exit $signalled: ended by signal ${signalled - 128}"
    case other => s"exit $other"
  }

  /** Whether a JVM says that it, or its C library, could make no more threads (java.lang.Thread, pthread_create(3)). */
  def lacksThreads(words: String): Boolean = NoThread.exists(words.contains)

  private val NoThread =
    Vector(
      "unable to create native thread",
      "pthread_create failed (EAGAIN)",
      "can't start new thread"
    )

  /**
   * What an executor ended of, where its output says that it could make no more threads and nobody has
   * killed it.
   *
   * @param limits which there are, and what to do
   */
  def withoutThreads(code: Int, logs: Path, limits: => String): Option[String] =
    Option.when(
      !Ended(code) && Outputs.exists(name => lacksThreads(end(logs.resolve(name), WholeEnd)))
    )(s"it could not start any more threads: $limits; exit $code")

  private val Ended = Set(0, 137, 143)

  private val Outputs = Vector("stdout", "stderr")
  private val WholeEnd = 1 << 18

  /** How the names of the reports begin that a crashed JVM writes; its process id follows. */
  val CrashReport: String = "hs_err_pid"

  /** The report that a crashed JVM left in the directory of its logs. */
  def crashReport(logs: Path): Option[Path] = {
    val names = Option(logs.toFile.list).toVector.flatten.filter(_.startsWith(CrashReport))
    names.sorted.lastOption.map(logs.resolve(_))
  }

  /** What the user can do about it, where a process's last words tell. */
  def remedy(words: String): Option[String] = remedies.collectFirst {
    case (sign, what) if sign.findFirstIn(words).nonEmpty => what
  }

  private val remedies = Seq(
    "No space left on device".r ->
      "the disk under spark.local.dir is full: make room, or name a directory on a larger one",
    // Of these Spark itself names spark.ui.port.
    notListening("Address already in use") ->
      ("no free port from spark.blockManager.port on: choose another, or let spark.port.maxRetries exceed " +
        "the number of executors"),
    notListening("Cannot assign requested address") ->
      "this machine does not have the address of the executor's host: set spark.hearth.hosts=machine",
    notListening("Permission denied") ->
      ("spark.blockManager.port is below net.ipv4.ip_unprivileged_port_start, or a security module refuses it: choose " +
        "another")
  )

  /** The error of bind(2), as Java and as Netty's native transport say it, in the message of Spark's service. */
  private def notListening(error: String): Regex =
    s"$error\\b.*NettyBlockTransferService' failed after".r

  /**
   * What an executor said last: on standard error, and on standard output, where a JVM says why it does not
   * even begin.
   */
  def lastWordsIn(logs: Path): String = {
    val (out, err) = (lastWords(logs.resolve("stdout")), lastWords(logs.resolve("stderr")))
    if (err.isEmpty || out.contains(NotBegun)) Vector(out, err).filter(_.nonEmpty).mkString("\n")
    else err
  }

  private val NotBegun = "Error occurred during initialization of VM"

  /**
   * What a log says last, at most `bytes` of it, without the frames of stack traces and the options that a JVM
   * has picked up, which may be secrets; empty without a log.
   */
  def lastWords(log: Path, bytes: Int = 2000): String = {
    val lines = withoutOptions(end(log, bytes * 16)).linesIterator
      .filterNot(_.matches("""\s+at .*|\s+\.\.\. \d+ more"""))
      .toVector
    val sizes = lines.reverseIterator.scanLeft(0)(_ + _.length + 1).drop(1)
    lines.takeRight(sizes.takeWhile(_ <= bytes).size).map(Terminal.escaped).mkString("\n").trim
  }

  /** The text without the options that a JVM has picked up, which may have line breaks. */
  @tailrec private[driver] def withoutOptions(text: String, said: String = ""): String =
    PickedUp.findFirstMatchIn(text) match {
      case None => said + text
      case Some(option) =>
        withoutOptions(text.substring(endOfOptions(text, option.end)), said + option.before)
    }

  private val PickedUp = """(?m)^(NOTE: )?Picked up \w+: """.r

  /** Options go on behind a line break where another one follows, or in quotation marks. */
  @tailrec private def endOfOptions(text: String, at: Int): Int = text.lift(at) match {
    case None => at
    case Some(quote @ ('"' | '\'')) if text.indexOf(quote, at + 1) > 0 =>
      endOfOptions(text, text.indexOf(quote, at + 1) + 1)
    case Some('\n') =>
      val next = text.indexWhere(!_.isWhitespace, at)
      if (text.startsWith("-", next)) endOfOptions(text, next) else at
    case _ => endOfOptions(text, at + 1)
  }

  /** The end of a log, at most `bytes` of it, from the beginning of a line; empty when there is none. */
  def end(log: Path, bytes: Int): String =
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
