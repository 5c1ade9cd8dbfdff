package io.hearth.core.plan

/** A number that the user fixed, the name of the option or key, and how it was typed, where that is known. */
final private[plan] case class UserValue[A](value: A, name: String, typed: Option[String] = None)

/** Dynamic allocation as the user set it; counts are executors. */
final private[plan] case class Dynamic(atLeast: Int, atMost: Option[Int])

/**
 * What a JVM's process takes beside its heap: a fixed size, else a part of the heap, and at least so many MiB.
 */
final private[plan] case class MemoryOverhead(
    fixedMb: Option[UserValue[Long]],
    factor: Double,
    minMb: Long
) {
  def of(heapMb: Long): Long =
    fixedMb.fold(math.max(minMb, (heapMb * factor).toLong))(_.value)
}

private[plan] object MemoryOverhead {

  /** As Spark counts it where nobody says otherwise. */
  val ofJvm: MemoryOverhead = MemoryOverhead(None, factor = 0.1, minMb = 384L)

  /** @param of `driver` or `executor`, whose settings win over those of `default` */
  def read(of: String, default: MemoryOverhead, conf: UserConf): Either[Unfit, MemoryOverhead] =
    for {
      fixed <- conf.size(s"spark.$of.memoryOverhead", 'm')
      factor <- conf.fraction(s"spark.$of.memoryOverheadFactor")
      min <- conf.size(s"spark.$of.minMemoryOverhead", 'm')
    } yield MemoryOverhead(
      fixed,
      factor.getOrElse(default.factor),
      min.fold(default.minMb)(_.value)
    )
}

/**
 * What the user fixed, read from options and Spark settings and checked for contradictions.
 *
 * @param offHeapMb a fixed off-heap size, 0 where the user turned it off
 * @param pysparkMb memory that Spark grants Python workers on top of the heap
 * @param engine the native engine that the user's settings load; `heapHolds` names the setting by which its data
 *               count against the heap; `engineHost` is what it takes beside heap and off-heap memory, and `wireMb`
 *               what the wire for shuffle blocks may take: parts of the overhead
 * @param coresMax the most task slots of all executors together
 * @param taskCpus slots that one task takes
 * @param javaOptions the user's own JVM options of executors, as Spark's settings have them
 * @param environment what else JVMs get of the user's
 * @param conf the user's settings of the keys that a plan reads or sets, verbatim, and what to redact
 */
final private[plan] case class UserConstraints(
    executors: Option[UserValue[Int]],
    cores: Option[UserValue[Int]],
    heapMb: Option[UserValue[Long]],
    overhead: MemoryOverhead,
    offHeapMb: Option[UserValue[Long]],
    pysparkMb: Long,
    engine: Option[Engine],
    heapHolds: Option[String],
    engineHost: Option[UserValue[Long]],
    wireMb: Long,
    driverHeapMb: Option[UserValue[Long]],
    driverOverhead: MemoryOverhead,
    coresMax: Option[UserValue[Int]],
    taskCpus: Int,
    dynamic: Option[Dynamic],
    javaOptions: Vector[String],
    environment: JvmEnvironment,
    conf: Map[String, String]
) {

  def driverJavaOptions: Vector[String] = UserConstraints.javaOptions(conf, "driver")

  /** All options of the user's that a JVM has. */
  def allDriverOptions: Vector[String] = environment.driver ++ driverJavaOptions
  def allJavaOptions: Vector[String] = environment.executors ++ javaOptions

  /** The one JVM is driver and executor: the heap fixed for either is its heap. */
  def ofOneJvm: UserConstraints = copy(heapMb = heapMb.orElse(driverHeapMb))

  /** Whether executors are to share the CPUs and the memory of their package. */
  def byPackage: Boolean = conf.get(HearthKeys.BindingScope.name).contains("package")

  /** Whether a count was fixed, so that the machine is partitioned whatever the rules say. */
  def shaped: Boolean = executors.nonEmpty || cores.nonEmpty || dynamic.nonEmpty

  def overheadOf(heap: Long): Long =
    overhead.of(heap) + overhead.fixedMb.fold(hostMb)(_ => 0L)

  private def hostMb: Long = engineHost.fold(0L)(_.value) + wireMb

  /** Whether an engine's data are in Spark's off-heap memory. */
  def engineOffHeap: Boolean = engine.exists(_.offHeap) && heapHolds.isEmpty

  /** Off-heap memory that the user fixed, or the least that an engine gets, in MiB. */
  def minOffHeapMb: Long =
    offHeapMb.fold(if (engineOffHeap) Engine.MinOffHeapMb else 0L)(_.value)

  /** All memory of an executor with this heap: heap, off-heap, overhead, Python's and an engine's share, in MiB. */
  def footprintOf(heap: Long, offHeapMb: Long = minOffHeapMb): Long =
    heap + offHeapMb + overheadOf(heap) + pysparkMb

  /** The largest heap whose footprint stays within `room`; below zero where there is none. */
  def heapWithin(room: Long): Long = {
    val rest = room - minOffHeapMb - pysparkMb
    overhead.fixedMb match {
      case Some(fixed) => rest - fixed.value
      case None =>
        val shared = rest - hostMb
        val about = math.min(shared - overhead.minMb, (shared / (1 + overhead.factor)).toLong)
        // The overhead's fraction is cut off, which may leave room for one more.
        if (about + 1 + overheadOf(about + 1) <= rest) about + 1 else about
    }
  }
}

private[plan] object UserConstraints {
  private type Checked[A] = Either[Unfit, A]

  /**
   * Of the heap, what Spark gives a Python program beside it (on Kubernetes, by default): its workers
   * are processes of their own.
   */
  val PythonsOverheadFactor = 0.4

  /** Reads what the user fixed; refuses, by name, what is not a number or contradicts itself. */
  def read(limits: Limits, workload: Workload): Checked[UserConstraints] = {
    val conf = new UserConf(limits.conf)
    for {
      _ <- RequestChecks.check(limits.conf)
      dynamic <- dynamicOf(conf)
      instances <- conf.count("spark.executor.instances")
      executors <- agree(limits.executors, "--executors", instances.filter(_ => dynamic.isEmpty))
      confCores <- conf.count("spark.executor.cores")
      cores <- agree(limits.cores, "--cores", confCores)
      confHeap <- conf.size("spark.executor.memory", 'm', min = 1)
      setHeap <- agree(limits.memoryMb, "--memory", confHeap)
        .map(_.map(heap => heap.copy(typed = heap.typed.orElse(limits.memoryTyped))))
      heap <- JvmEnvironment.executorHeap(limits, setHeap)
      pyspark <- conf.size("spark.executor.pyspark.memory", 'm')
      engine = Engine.of(limits.conf.get)
      heapHolds <- heapHolds(engine, conf)
      offHeap <- heapHolds.fold(offHeapOf(conf))(key => Right(Some(UserValue(0L, key))))
      workers = workload.python && pyspark.isEmpty
      default = defaultOverhead(workers, engine, heapHolds.isEmpty)
      overhead <- MemoryOverhead.read("executor", default, conf)
      host <- engine.fold[Checked[Option[UserValue[Long]]]](Right(None))(hostOf(_, conf))
      wire <- conf.size(HearthKeys.ShuffleMemory.name, 'b')
      setDriver <- conf.size("spark.driver.memory", 'm', min = 1)
      driver <- JvmEnvironment.driverHeap(limits, setDriver)
      driverOverhead <- MemoryOverhead.read("driver", MemoryOverhead.ofJvm, conf)
      coresMax <- conf.count("spark.cores.max")
      taskCpus <- conf.count("spark.task.cpus")
      constraints = UserConstraints(
        executors,
        cores,
        heap,
        overhead,
        offHeap,
        pyspark.fold(0L)(_.value),
        engine,
        heapHolds,
        host,
        wire.filter(_ => ShuffleFiles.onWire(limits.conf)).fold(0L)(_.value),
        driver,
        driverOverhead,
        coresMax,
        taskCpus.fold(1)(_.value),
        dynamic.map(d => instances.fold(d)(i => d.copy(atLeast = math.max(d.atLeast, i.value)))),
        javaOptions(limits.conf, "executor"),
        JvmEnvironment.of(limits),
        limits.conf.filter { case (key, _) =>
          DerivedSettings.known(key) || key == DerivedSettings.Redaction
        }
      )
      _ <- RequestChecks.checkCounts(constraints)
      _ <- RequestChecks.checkHeap(constraints.heapMb, constraints.allJavaOptions)
      _ <- RequestChecks.checkHeap(constraints.driverHeapMb, RequestChecks.AnyCollector)
    } yield constraints
  }

  private def heapHolds(engine: Option[Engine], conf: UserConf): Checked[Option[String]] =
    engine.flatMap(_.heapHolds).fold[Checked[Option[String]]](Right(None)) { key =>
      conf.flag(key).map(_.filter(identity).map(_ => key))
    }

  /** @param workers whether Python workers take it, which have no memory of their own */
  private def defaultOverhead(
      workers: Boolean,
      engine: Option[Engine],
      besideHeap: Boolean
  ): MemoryOverhead = {
    val native = engine.exists(_.offHeap)
    MemoryOverhead(
      None,
      if (workers) PythonsOverheadFactor
      else if (native && besideHeap) Engine.OverheadFactor
      else MemoryOverhead.ofJvm.factor,
      if (native) Engine.MinOverheadMb else MemoryOverhead.ofJvm.minMb
    )
  }

  /** The largest of an engine's sizes of host memory, which contain each other; a negative one is none. */
  private def hostOf(engine: Engine, conf: UserConf): Checked[Option[UserValue[Long]]] =
    engine.hostSizes
      .filterNot(conf.isNegative)
      .map(conf.size(_, 'b'))
      .foldLeft[Checked[Option[UserValue[Long]]]](Right(None)) { (largest, next) =>
        for (one <- largest; other <- next) yield (one ++ other).maxByOption(_.value)
      }

  /** @param of `driver` or `executor` */
  private def javaOptions(conf: Map[String, String], of: String): Vector[String] =
    Vector(s"spark.$of.defaultJavaOptions", s"spark.$of.extraJavaOptions")
      .flatMap(conf.get)
      .flatMap(JavaOptions.split)

  private def agree[A](option: Option[A], name: String, set: Option[UserValue[A]])(implicit
      number: Numeric[A]
  ): Checked[Option[UserValue[A]]] = (option, set) match {
    case (Some(a), _) if number.lteq(a, number.zero) =>
      Left(Unfit(name, s"$a", "it must be at least 1", s"give $name a positive number"))
    case (Some(a), Some(b)) if a != b.value =>
      Left(Unfit(name, s"$a", s"${b.name} says ${b.value}", "give one of the two"))
    case (Some(a), _) => Right(Some(UserValue(a, name)))
    case (None, asked) => Right(asked)
  }

  private def offHeapOf(conf: UserConf): Checked[Option[UserValue[Long]]] =
    for {
      enabled <- conf.flag("spark.memory.offHeap.enabled")
      size <- conf.size("spark.memory.offHeap.size", 'b')
      _ <- Either.cond(!enabled.contains(true) || size.exists(_.value > 0), (), noOffHeapSize)
    } yield
      if (enabled.contains(true)) size
      else
        Option.when(enabled.nonEmpty || size.nonEmpty)(
          UserValue(0L, "spark.memory.offHeap.enabled")
        )

  private val noOffHeapSize = Unfit(
    "spark.memory.offHeap.enabled",
    "true",
    "spark.memory.offHeap.size must be set with it",
    "set the size, or leave both out"
  )

  private def dynamicOf(conf: UserConf): Checked[Option[Dynamic]] =
    for {
      enabled <- conf.flag("spark.dynamicAllocation.enabled")
      min <- conf.count("spark.dynamicAllocation.minExecutors", min = 0)
      first <- conf.count("spark.dynamicAllocation.initialExecutors", min = 0)
      max <- conf.count("spark.dynamicAllocation.maxExecutors")
    } yield enabled
      .filter(identity)
      .map(_ => Dynamic((min ++ first).map(_.value).maxOption.getOrElse(0), max.map(_.value)))
}

/** Typed access to the user's Spark settings; every refusal names the key and its value. */
final private[plan] class UserConf(conf: Map[String, String]) {
  private type Read[A] = Either[Unfit, Option[A]]

  def count(key: String, min: Int = 1): Read[UserValue[Int]] =
    read(key, s"it must be a whole number from $min to ${Int.MaxValue}")(
      _.trim.toIntOption.filter(_ >= min)
    )

  def size(key: String, plainUnit: Char, min: Long = 0): Read[UserValue[Long]] =
    read(key, "it must be a size such as 8g or 512m")(Sizes.mib(_, plainUnit).filter(_ >= min))

  def fraction(key: String): Either[Unfit, Option[Double]] =
    read(key, "it must be a number of at least 0")(
      _.trim.toDoubleOption.filter(f => f >= 0 && !f.isInfinite)
    ).map(_.map(_.value))

  def flag(key: String): Either[Unfit, Option[Boolean]] =
    read(key, "it must be true or false")(_.trim.toLowerCase.toBooleanOption).map(_.map(_.value))

  def isNegative(key: String): Boolean = conf.get(key).exists(_.trim.startsWith("-"))

  private def read[A](key: String, rule: String)(parse: String => Option[A]): Read[UserValue[A]] =
    (key +: UserConf.Alternatives.getOrElse(key, Vector.empty)).find(conf.contains) match {
      case None => Right(None)
      case Some(name) =>
        val text = conf(name)
        parse(text)
          .map(a => Some(UserValue(a, name, Some(text))))
          .toRight(Unfit(name, s"'$text'", rule, "correct it or leave it out"))
    }
}

private[plan] object UserConf {

  /** Other names that Spark reads where a key is not set: the first of YARN alone, the second of Kubernetes. */
  val Alternatives: Map[String, Vector[String]] = Vector("driver", "executor").flatMap { of =>
    Vector(
      s"spark.$of.memoryOverhead" -> Vector(s"spark.yarn.$of.memoryOverhead"),
      s"spark.$of.memoryOverheadFactor" -> Vector("spark.kubernetes.memoryOverheadFactor")
    )
  }.toMap
}
