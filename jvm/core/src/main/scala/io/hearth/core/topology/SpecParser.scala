package io.hearth.core.topology

import io.hearth.core.Brief

/**
 * Reads the words of a machine description from left to right; for the grammar see [[MachineSpec]].
 */
final private[topology] class SpecParser(text: String) {
  import SpecParser._

  private val words: Vector[String] =
    Words.findAllIn(text.toLowerCase(java.util.Locale.ROOT)).toVector

  /** The next word, and what the words before it say. */
  private var at = 0
  private var read = Clauses()

  def parse(): Clauses = {
    while (at < words.size) if (!accept(",", ";")) clause()
    read
  }

  private def clause(): Unit = word() match {
    case "distance" | "distances" =>
      read = read.copy(distances = once(read.distances)(distances()))
    case "l3" => read = read.copy(cacheCores = once(read.cacheCores)(cacheCores()))
    case name if Architectures.contains(name) =>
      read = read.copy(architecture = once(read.architecture)(Architectures(name)))
    case name if word(1) == "on" => device(name)
    case "cpus" => read = read.copy(cpus = once(read.cpus)(rows(idList())))
    case "node" | "nodes" | "memory-only" | "gpu" => nodes(None)
    case w if isDecimal(w) && Units.contains(word(1)) =>
      refuseSecond(read.totalBytes)
      read = read.copy(totalBytes = Some(size()))
      accept("memory", "ram")
      ()
    case w if isNumber(w) => counted(number(Largest))
    case _ => unknown()
  }

  /** `mlx5_0 on node 1` */
  private def device(name: String): Unit = {
    if (read.devices.exists(_._1 == name))
      MachineSpec.refuse(text, s"device '${Brief(name)}' is given twice")
    at += 2
    expect("node")
    val node = Option(word()).filter(isNumber).flatMap(_.toIntOption)
    read = read.copy(devices = read.devices :+ (name -> node.getOrElse(expected("a node's id"))))
    at += 1
  }

  private def counted(n: Int): Unit = singular(word()) match {
    case "package" | "socket" =>
      read = read.copy(packages = once(read.packages)(n), packageBytes = optionalSize())
    case "node" | "memory-only" | "gpu" => nodes(Some(n))
    case "efficient" =>
      read = read.copy(efficient = once(read.efficient)(n))
      expect("cores", "core")
    case "core" =>
      read = read.copy(cores = once(read.cores)(n))
      per()
      threads()
      per()
    case _ => unknown()
  }

  /** `2 nodes of SIZE` or `nodes 0,8 of SIZE`, from behind the number on. */
  private def nodes(number: Option[Int]): Unit = {
    val kind = word()
    val bare = singular(kind) != "node"
    if (bare) at += 1
    if (!accept("node")) unknown()
    val ids = number.fold(idList())(n => IdSet.from(0 until n))
    val none = !bare && word() == "without" && word(1) == "memory"
    if (none) at += 2
    val bytes = if (none) Some(0L) else optionalSize()
    if (bare && bytes.isEmpty) expected("of SIZE")
    val group = SpecNodes(ids, number.nonEmpty, bytes, bare, kind == "gpu")
    read = read.copy(nodes = read.nodes :+ group)
  }

  /** What is separated by `/`. */
  private def rows[A](row: => A): Vector[A] = {
    val done = Vector.newBuilder[A]
    done += row
    while (accept("/")) done += row
    done.result()
  }

  /** `0-3,8`; a number that begins another clause ends it at a comma. */
  private def idList(): IdSet = {
    val from = at
    def part(): Unit = {
      if (!isNumber(word())) expected("a number")
      at += (if (word(1) == "-") 3 else 1)
    }
    def goesOn = word() == "," && isNumber(word(1)) &&
      (!word(2).exists(_.isLetter) || SizeWords(word(2)))
    part()
    while (goesOn) {
      at += 1
      part()
    }
    IdSet.parse(words.slice(from, at).mkString).fold(MachineSpec.refuse(text, _), identity)
  }

  /** `per socket` behind the cores; without it they are each node's. */
  private def per(): Unit = if (accept("per")) {
    if (accept("package", "socket")) read = read.copy(perPackage = true)
    else expect("node or socket", "node")
  }

  /** `x 8 threads`, also `x8 threads`. */
  private def threads(): Unit = {
    val glued = word().drop(1)
    val together = word().startsWith("x") && isNumber(glued) && singular(word(1)) == "thread"
    if (together || accept("x", "×", "*")) {
      read = read.copy(threads = Some(bounded(if (together) glued else word(), MaxThreads)))
      at += 1
      expect("threads", "thread")
    }
  }

  private def cacheCores(): Int = {
    expect("of")
    val n = number(Largest)
    expect("cores", "core")
    n
  }

  /** `20`, `20 within package, 40 across`, or rows of numbers. */
  private def distances(): MachineSpec.SpecDistances = rows(distanceRow()) match {
    case Vector(Vector(within)) if accept("within") =>
      expect("package", "package", "socket")
      accept(",", ";")
      val across = distance()
      expect("across")
      Left((within, across))
    case Vector(Vector(remote)) => Left((remote, remote))
    case table => Right(table)
  }

  private def distanceRow(): Vector[Int] = {
    if (!isNumber(word())) expected("a distance")
    val row = Vector.newBuilder[Int]
    while (isNumber(word())) row += distance()
    row.result()
  }

  private def distance(): Int = {
    val distance = bounded(word(), MaxDistance)
    if (distance < NodeReader.LocalDistance)
      expected(s"a distance from ${NodeReader.LocalDistance} (a node's own) to $MaxDistance")
    at += 1
    distance
  }

  private def optionalSize(): Option[Long] = Option.when(accept("of"))(size())

  private def size(): Long = {
    val unit = Units.get(word(1))
    val bytes = for {
      each <- unit
      amount <- Option(word()).filter(isDecimal).flatMap(_.toDoubleOption)
    } yield (amount * each.toDouble).toLong
    if (unit.isEmpty) {
      at += 1
      expected("MB, GB or TB")
    }
    val size = bytes.filter(b => b > 0 && b <= MemInfo.MaxBytes)
    size.foreach(_ => at += 2)
    size.getOrElse(expected("a size such as 128 GB"))
  }

  private def number(max: Int): Int = {
    val n = bounded(word(), max)
    at += 1
    n
  }

  private def bounded(digits: String, max: Int): Int = Option(digits)
    .filter(isNumber)
    .flatMap(_.toIntOption)
    .filter(n => n >= 1 && n <= max)
    .getOrElse(expected(s"a number from 1 to $max"))

  private def word(ahead: Int = 0): String = words.lift(at + ahead).getOrElse("")

  /** Whether the next word is one of these, in singular or plural; then it has been read. */
  private def accept(these: String*): Boolean = {
    val is = these.contains(word()) || these.contains(singular(word()))
    if (is) at += 1
    is
  }

  private def expect(what: String, words: String*): Unit =
    if (!accept(what +: words: _*)) expected(what)

  /** What follows the next word, of which there may be one. */
  private def once[A](earlier: Option[A])(value: => A): Some[A] = {
    refuseSecond(earlier)
    at += 1
    Some(value)
  }

  private def refuseSecond(earlier: Option[Any]): Unit =
    if (earlier.nonEmpty) MachineSpec.refuse(text, s"'${Brief(word())}' is given twice")

  private def unknown(): Nothing = MachineSpec.refuse(
    text,
    if (at >= words.size) s"it ends too early, after '${Brief(words.last)}'"
    else s"the word '${Brief(word())}' is not understood"
  )

  private def expected(what: String): Nothing = MachineSpec.refuse(
    text,
    if (at >= words.size) s"it ends where $what is expected"
    else s"the word '${Brief(word())}' appears where $what is expected"
  )
}

private[topology] object SpecParser {

  /** Numbers, names and marks; blanks separate them, and so does a change from a number to a name. */
  private val Words = """(?U)[0-9][0-9.]*|\p{L}[\p{L}\p{Nd}_-]*|\S""".r
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
}
