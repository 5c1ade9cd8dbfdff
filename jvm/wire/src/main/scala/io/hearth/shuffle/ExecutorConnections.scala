package io.hearth.shuffle

import java.net.InetSocketAddress
import java.util.LinkedHashMap
import java.util.concurrent.{CompletableFuture, CompletionException, ConcurrentHashMap}
import java.util.function.LongSupplier

import io.hearth.transport.{Connection, Wire, WireException}

/** Knows where the wires of executors listen. */
trait ExecutorDirectory {

  /** Where, or why there is none. */
  def find(executor: String): CompletableFuture[Either[String, InetSocketAddress]]
}

/**
 * The wires to other executors, one for each. One that could not be reached is asked again after a while.
 *
 * @param say gets a line when a wire is there, and when there is none
 */
final private[shuffle] class ExecutorConnections(
    wire: Wire,
    directory: ExecutorDirectory,
    say: String => Unit,
    clockNs: LongSupplier
) {
  import ExecutorConnections._

  private val known = new ConcurrentHashMap[String, CompletableFuture[Known]]

  /** The last line about each: of so many that a long application's lost executors do not fill the memory. */
  private val said = new LinkedHashMap[String, String] {
    override def removeEldestEntry(eldest: java.util.Map.Entry[String, String]): Boolean =
      this.size > MaxSaid
  }

  /** Completes with the wire to the executor, or with the reason why there is none; never waits. */
  def to(executor: String): CompletableFuture[Either[String, Connection]] = {
    val mine = new CompletableFuture[Known]
    val pending = known.compute(
      executor,
      (_, before) => if (Option(before).exists(b => !isOver(b))) before else mine
    )
    if (pending eq mine) {
      forgetThoseThatAreOver()
      begin(executor, mine)
    }
    pending.thenApply(_.way)
  }

  /** For how many executors something is known. */
  def size: Int = known.size

  private def forgetThoseThatAreOver(): Unit = {
    known.values.removeIf(isOver(_))
    ()
  }

  private def isOver(known: CompletableFuture[Known]): Boolean = known.isDone && {
    val last = known.join()
    last.way.fold(_ => clockNs.getAsLong() - last.untilNs >= 0, _.end().isDone)
  }

  private def begin(executor: String, mine: CompletableFuture[Known]): Unit = {
    val opened: CompletableFuture[Either[String, Connection]] =
      CompletableFuture.completedFuture(executor).thenCompose(directory.find(_)).thenCompose {
        case Left(why) => CompletableFuture.completedFuture(Left(why))
        case Right(where) => wire.connect(where).thenApply(Right(_))
      }
    opened
      .handle[Either[String, Connection]]((way, trouble) =>
        Option(way).getOrElse(Left(line(trouble)))
      )
      .thenAccept { way =>
        try note(executor, way)
        finally mine.complete(Known(way, clockNs.getAsLong() + AgainNs))
        way.foreach(_.end().thenAccept { _ => known.remove(executor, mine); () })
      }
  }

  private def note(executor: String, way: Either[String, Connection]): Unit = {
    val text = way.fold(
      why => s"come over Spark's own transfer: $why",
      wire =>
        s"come over hearth's wire, by ${wire.transport}" + Some(wire.why)
          .filter(_.nonEmpty)
          .fold("")(" as " + _)
    )
    sayOnce(executor, text)
  }

  private def sayOnce(executor: String, text: String): Unit = {
    val isNew = said.synchronized(said.put(executor, text) != text)
    if (isNew) say(s"shuffle blocks of executor $executor $text")
  }

  /** A fetch over this wire has failed: one line, and no wire where the peer is too slow to be trusted with more. */
  def failed(executor: String, connection: Connection, why: Throwable): Unit = {
    why match {
      case late: WireException if late.kind == WireException.Kind.TIMED_OUT =>
        val none = Known(Left(line(why)), clockNs.getAsLong() + AgainNs)
        known.put(executor, CompletableFuture.completedFuture(none))
        connection.close()
      case _ =>
    }
    sayOnce(executor, s"continue over Spark's own transfer: ${line(why)}")
  }
}

private[shuffle] object ExecutorConnections {
  private val AgainNs = 60L * 1000 * 1000 * 1000
  private val MaxSaid = 1000

  final private case class Known(way: Either[String, Connection], untilNs: Long)

  def cause(trouble: Throwable): Throwable = trouble match {
    case wrapped: CompletionException if wrapped.getCause != null => wrapped.getCause
    case other => other
  }

  /** The first line of what it says. */
  def line(trouble: Throwable): String = {
    val inner = cause(trouble)
    Option(inner.getMessage).getOrElse(inner.toString).linesIterator.nextOption().getOrElse("")
  }
}
