package io.hearth.core.plan

/**
 * JVM flags (-X) that JVMs have besides those of Spark's settings: from the user's environment. A plan adds
 * to them and repeats none.
 *
 * @param driver those of the driver
 * @param executors those of each executor
 * @param variables names where there are any
 */
final private[plan] case class JvmEnvironment(
    driver: Vector[String],
    executors: Vector[String],
    variables: Vector[String]
)

object JvmEnvironment {

  /** Read before the command line, which therefore wins (JVM Tool Interface; java(1)). */
  private val Before = Vector("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")

  /** Read by HotSpot after the command line, so that it wins over that. */
  private val After = "_JAVA_OPTIONS"

  private val EveryJvm = Before :+ After

  /** For the JVM that spark-submit becomes: the driver's. */
  private val Submit = "SPARK_SUBMIT_OPTS"

  /** The variables from which JVMs take options. */
  val Variables: Vector[String] = EveryJvm :+ Submit

  private[plan] def of(limits: Limits): JvmEnvironment = JvmEnvironment(
    Variables.flatMap(flags(limits.environment, _)),
    EveryJvm.flatMap(flags(executorsEnvironment(limits), _)),
    Variables.filter(flags(limits.environment ++ executorsEnvironment(limits), _).nonEmpty)
  )

  /**
   * The heap that the environment gives executors, where Spark's settings say nothing. Spark names each JVM's
   * heap on its command line: too little for Spark therefore has no effect, unless it comes after that.
   *
   * @param set what Spark's settings say
   * @return or the contradiction between both
   */
  private[plan] def executorHeap(limits: Limits, set: Option[UserValue[Long]]) =
    heap(executorsEnvironment(limits), Before, set)

  private[plan] def driverHeap(limits: Limits, set: Option[UserValue[Long]]) =
    heap(limits.environment, Before :+ Submit, set)

  private def heap(
      environment: Map[String, String],
      before: Vector[String],
      set: Option[UserValue[Long]]
  ): Either[Unfit, Option[UserValue[Long]]] =
    (heapIn(environment, After), set) match {
      case (Some(variable), Some(fixed)) if variable.value != fixed.value =>
        Left(
          Unfit(
            fixed.name,
            Sizes.asked(fixed),
            s"${variable.name} is ${Sizes.asked(variable)}, which every JVM takes instead",
            "give one of the two"
          )
        )
      case (_, Some(fixed)) => Right(Some(fixed))
      case (variable, None) =>
        lazy val other = before.reverse.flatMap(heapIn(environment, _)).headOption
        Right(variable.orElse(other.filter(_.value >= Memory.MinHeapMb)))
    }

  private def heapIn(environment: Map[String, String], variable: String): Option[UserValue[Long]] =
    flags(environment, variable).reverseIterator.collectFirst { case Heap(size) =>
      Sizes.mib(size, 'b').map(mb => UserValue(mb, s"-Xmx in $variable", Some(size)))
    }.flatten

  private val Heap = "-(?:Xmx|XX:MaxHeapSize=)(.+)".r

  private def flags(environment: Map[String, String], variable: String): Vector[String] =
    environment
      .get(variable)
      .fold(Vector.empty[String])(JavaOptions.split)
      .filter(_.startsWith("-X"))

  /** `spark.executorEnv.NAME` replaces what executors would inherit from the driver. */
  private def executorsEnvironment(limits: Limits): Map[String, String] =
    limits.environment ++ EveryJvm.flatMap(name =>
      limits.conf.get(s"$ExecutorPrefix$name").map(name -> _)
    )

  private val ExecutorPrefix = "spark.executorEnv."

  private[plan] val ExecutorKeys: Vector[String] = EveryJvm.map(ExecutorPrefix + _)
}
