package io.hearth.core.topology

import scala.annotation.tailrec

import io.hearth.core.Brief

/**
 * Reads the words of a machine description from left to right; for the grammar see [[MachineSpec]].
 */
final private[topology] class SpecParser(text: String) {
  import SpecParser._

  private val words: Vector[String] = split(text)

  /** What was read and where the next word begins. */
  private type Step = (Clauses, Int)

  def parse(): Clauses = {
    @tailrec def loop(state: Step): Clauses = state match {
      case (clauses, at) if at >= words.size => clauses
      case (clauses, at) if Separators(words(at)) => loop((clauses, at + 1))
      case (clauses, at) => loop(clause(clauses, at))
    }
    loop((Clauses(), 0))
  }

  private def clause(c: Clauses, at: Int): Step = word(at) match {
    case "distance" | "distances" => distance(c, at + 1)
    case "l3" => cache(c, at + 1)
    case name if Architectures.contains(name) =>
      once(at, c.architecture)
      (c.copy(architecture = Some(Architectures(name))), at + 1)
    case name if word(at + 1) == "on" => device(c, name, at + 2)
    case "cpus" => cpus(c, at + 1)
    case "node" | "nodes" | "memory-only" | "gpu" => nodes(c, at, None)
    case w if isDecimal(w) && Units.contains(word(at + 1)) => total(c, at)
    case w if isNumber(w) => counted(c, count(at, Largest), at + 1)
    case _ => unknown(at)
  }

  /** `mlx5_0 on node 1`, from `node` on. */
  private def device(c: Clauses, name: String, at: Int): Step = {
    if (word(at) != "node") expected("node", at)
    val known = c.devices.exists(_._1 == name)
    if (known) MachineSpec.refuse(text, s"device '${Brief(name)}' is given twice")
    val node = Option(word(at + 1)).filter(isNumber).flatMap(_.toIntOption)
    (
      c.copy(devices = c.devices :+ (name -> node.getOrElse(expected("a node's id", at + 1)))),
      at + 2
    )
  }

  private def counted(c: Clauses, n: Int, at: Int): Step = singular(word(at)) match {
    case "package" | "socket" =>
      once(at, c.packages)
      val (bytes, next) = optionalSize(at + 1)
      (c.copy(packages = Some(n), packageBytes = bytes), next)
    case "node" | "memory-only" | "gpu" => nodes(c, at, Some(n))
    case "efficient" =>
      once(at, c.efficient)
      if (singular(word(at + 1)) != "core") expected("cores", at + 1)
      (c.copy(efficient = Some(n)), at + 2)
    case "core" =>
      once(at, c.cores)
      val (named, next) = per(c.copy(cores = Some(n)), at + 1)
      val (threaded, end) = threads(named, next)
      per(threaded, end)
    case _ => unknown(at)
  }

  /** `2 nodes of SIZE` or `nodes 0,8 of SIZE`, from behind the number on. */
  private def nodes(c: Clauses, at: Int, number: Option[Int]): Step = {
    val bare = singular(word(at)) != "node"
    val noun = if (bare) at + 1 else at
    if (singular(word(noun)) != "node") unknown(noun)
    val (ids, end) = number.fold(idList(noun + 1))(n => (IdSet.from(0 until n), noun + 1))
    val (bytes, next) =
      if (word(end) == "without" && word(end + 1) == "memory" && !bare) (Some(0L), end + 2)
      else optionalSize(end)
    if (bare && bytes.isEmpty) expected("of SIZE", next)
    val group = SpecNodes(ids, number.nonEmpty, bytes, bare, word(at) == "gpu")
    (c.copy(nodes = c.nodes :+ group), next)
  }

  /** `cpus 0-3,8-11 / 4-7,12-15`: those of each node. */
  private def cpus(c: Clauses, at: Int): Step = {
    once(at - 1, c.cpus)
    @tailrec def rows(done: Vector[IdSet], from: Int): Step = idList(from) match {
      case (row, next) if word(next) == "/" => rows(done :+ row, next + 1)
      case (row, next) => (c.copy(cpus = Some(done :+ row)), next)
    }
    rows(Vector.empty, at)
  }

  /** `0-3,8`; a number that begins another clause ends it at a comma. */
  private def idList(at: Int): (IdSet, Int) = {
    def goesOn(next: Int) =
      isNumber(word(next)) &&
        (!word(next + 1).exists(_.isLetter) || SizeWords(word(next + 1)))
    @tailrec def parts(text: String, from: Int): (String, Int) = {
      if (!isNumber(word(from))) expected("a number", from)
      val end = if (word(from + 1) == "-") from + 3 else from + 1
      val read = text + words.slice(from, end).mkString
      if (word(end) == "," && goesOn(end + 1)) parts(read + ",", end + 1) else (read, end)
    }
    val (text, next) = parts("", at)
    (IdSet.parse(text).fold(MachineSpec.refuse(this.text, _), identity), next)
  }

  /** `256 GB`: the memory of the whole machine. */
  private def total(c: Clauses, at: Int): Step = {
    once(at, c.totalBytes)
    val (bytes, next) = size(at)
    (c.copy(totalBytes = Some(bytes)), if (Memory(word(next))) next + 1 else next)
  }

  /** `per socket` behind the cores; without it they are each node's. */
  private def per(c: Clauses, at: Int): Step =
    if (word(at) != "per") (c, at)
    else
      singular(word(at + 1)) match {
        case "node" => (c, at + 2)
        case "package" | "socket" => (c.copy(perPackage = true), at + 2)
        case _ => expected("node or socket", at + 1)
      }

  /** `x 8 threads`, also `x8 threads`. */
  private def threads(c: Clauses, at: Int): Step = {
    val glued = word(at).drop(1)
    if (Times(word(at))) threadsWord(c, count(at + 1, MaxThreads), at + 2)
    else if (word(at).startsWith("x") && isNumber(glued) && singular(word(at + 1)) == "thread")
      threadsWord(c, bounded(at, glued, MaxThreads), at + 1)
    else (c, at)
  }

  private def threadsWord(c: Clauses, n: Int, at: Int): Step =
    if (singular(word(at)) == "thread") (c.copy(threads = Some(n)), at + 1)
    else expected("threads", at)

  private def cache(c: Clauses, at: Int): Step = {
    once(at - 1, c.cacheCores)
    if (word(at) != "of") expected("of", at)
    val n = count(at + 1, Largest)
    if (singular(word(at + 2)) != "core") expected("cores", at + 2)
    (c.copy(cacheCores = Some(n)), at + 3)
  }

  private def distance(c: Clauses, at: Int): Step = {
    once(at - 1, c.distances)
    val (rows, next) = table(at)
    val single = rows.size == 1 && rows.head.size == 1
    if (single && word(next) == "within") {
      val (across, end) = withinAcross(next)
      (c.copy(distances = Some(SpecDistances.Two(rows.head.head, across))), end)
    } else if (single) (c.copy(distances = Some(SpecDistances.Uniform(rows.head.head))), next)
    else (c.copy(distances = Some(SpecDistances.Table(rows))), next)
  }

  /** `within package, 40 across`, from `within` on. */
  private def withinAcross(at: Int): (Int, Int) = {
    if (!Set("package", "socket")(singular(word(at + 1)))) expected("package", at + 1)
    val value = if (Separators(word(at + 2))) at + 3 else at + 2
    val across = distanceAt(value)
    if (word(value + 1) != "across") expected("across", value + 1)
    (across, value + 2)
  }

  /** Rows of numbers separated by `/`; a number that begins another clause ends it at a separator. */
  private def table(at: Int): (Vector[Vector[Int]], Int) = {
    @tailrec def rows(done: Vector[Vector[Int]], from: Int): (Vector[Vector[Int]], Int) = {
      val end = words.indexWhere(w => !isNumber(w), from) match {
        case -1 => words.size
        case i => i
      }
      if (end == from) expected("a distance", from)
      val row = Vector.range(from, end).map(distanceAt)
      if (word(end) == "/") rows(done :+ row, end + 1) else (done :+ row, end)
    }
    rows(Vector.empty, at)
  }

  private def optionalSize(at: Int): (Option[Long], Int) =
    if (word(at) != "of") (None, at)
    else {
      val (bytes, next) = size(at + 1)
      (Some(bytes), next)
    }

  private def size(at: Int): (Long, Int) = {
    val unit = Units.getOrElse(word(at + 1), expected("MB, GB or TB", at + 1))
    val amount = Option(word(at)).filter(isDecimal).flatMap(_.toDoubleOption)
    amount.map(a => (a * unit.toDouble).toLong) match {
      case Some(bytes) if bytes > 0 && bytes <= MemInfo.MaxBytes => (bytes, at + 2)
      case _ => expected("a size such as 128 GB", at)
    }
  }

  private def distanceAt(at: Int): Int = {
    val distance = count(at, MaxDistance)
    if (distance >= NodeReader.LocalDistance) distance
    else
      expected(s"a distance from ${NodeReader.LocalDistance} (a node's own) to $MaxDistance", at)
  }

  private def count(at: Int, most: Int): Int = bounded(at, word(at), most)

  private def bounded(at: Int, digits: String, most: Int): Int =
    Option(digits).filter(isNumber).flatMap(_.toIntOption).filter(n => n >= 1 && n <= most) match {
      case Some(n) => n
      case None => expected(s"a number from 1 to $most", at)
    }

  private def word(at: Int): String = words.lift(at).getOrElse("")

  private def shown(at: Int): String = Brief(word(at))

  private def once(at: Int, earlier: Option[Any]): Unit =
    if (earlier.nonEmpty) MachineSpec.refuse(text, s"'${shown(at)}' is given twice")

  private def unknown(at: Int): Nothing =
    MachineSpec.refuse(
      text,
      if (at >= words.size) s"it ends too early, after '${shown(words.size - 1)}'"
      else s"the word '${shown(at)}' is not understood"
    )

  private def expected(what: String, at: Int): Nothing = MachineSpec.refuse(
    text,
    if (at >= words.size) s"it ends where $what is expected"
    else s"the word '${shown(at)}' appears where $what is expected"
  )
}

private[topology] object SpecParser {
  private val Separators = Set(",", ";")
  private val Times = Set("x", "×", "*")
  private val Memory = Set("memory", "ram")
  private val SizeWords = Set("of", "without")
  private val Largest = 65536
  private val MaxThreads = 64
  private val MaxDistance = 255

  private val Units: Map[String, Long] =
    Map("m" -> 20, "g" -> 30, "t" -> 40).flatMap { case (letter, shift) =>
      Vector("", "b", "ib").map(end => (letter + end) -> (1L << shift))
    }

  private val Architectures: Map[String, String] = Map(
    "x86" -> "x86_64",
    "x86_64" -> "x86_64",
    "amd64" -> "x86_64",
    "power" -> "ppc64le",
    "power8" -> "ppc64le",
    "power9" -> "ppc64le",
    "power10" -> "ppc64le",
    "ppc64le" -> "ppc64le",
    "arm" -> "aarch64",
    "arm64" -> "aarch64",
    "aarch64" -> "aarch64"
  )

  private def singular(word: String): String = word.stripSuffix("s")

  private def isNumber(word: String): Boolean = word.nonEmpty && word.forall(isDigit)

  private def isDecimal(word: String): Boolean =
    word.nonEmpty && word.forall(c => isDigit(c) || c == '.')

  private def isDigit(c: Char): Boolean = c >= '0' && c <= '9'

  /** Numbers, names and marks; blanks separate them, and so does a change from a number to a name. */
  private def split(text: String): Vector[String] = {
    @tailrec def loop(rest: String, done: Vector[String]): Vector[String] = {
      val todo = rest.dropWhile(_.isWhitespace)
      if (todo.isEmpty) done
      else {
        val first = todo.head
        val next =
          if (isDigit(first)) todo.takeWhile(c => isDigit(c) || c == '.')
          else if (first.isLetter) todo.takeWhile(c => c.isLetterOrDigit || c == '-' || c == '_')
          else todo.take(1)
        loop(todo.drop(next.length), done :+ next)
      }
    }
    loop(text.toLowerCase(java.util.Locale.ROOT), Vector.empty)
  }
}
