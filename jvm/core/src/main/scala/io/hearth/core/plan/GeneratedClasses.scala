package io.hearth.core.plan

/**
 * How many of the classes that Spark SQL generates a JVM keeps. A stage of a query has a class of its
 * own. Spark keeps 100: fewer than TPC-H's 22 queries have, so that asked again in turn each finds its
 * classes gone, and they are generated and compiled anew.
 */
private[plan] object GeneratedClasses {
  val Key = "spark.sql.codegen.cache.maxEntries"

  private val Sparks = 100
  private val Max = 1000

  /** A class is kept with its source, some tens of KB, so a small heap keeps fewer: one for each MB. */
  private def number(heapMb: Long): Option[Long] =
    Option(math.min(heapMb, Max.toLong)).filter(_ > Sparks)

  /** None under a native engine, which runs queries without most of them. */
  def settings(heapMb: Long, constraints: UserConstraints): Map[String, String] =
    chosen(heapMb, constraints).map(Key -> _.toString).toMap

  private def chosen(heapMb: Long, constraints: UserConstraints) =
    number(heapMb).filter(_ => constraints.engine.isEmpty)

  def reason(heapMb: Long, constraints: UserConstraints): Option[Reason] =
    chosen(heapMb, constraints).filterNot(_ => constraints.conf.contains(Key)).map { max =>
      Reason(
        "generated classes",
        s"at most $max are kept",
        s"a query that is asked again finds its classes compiled; with Spark's $Sparks, 22 queries " +
          "in turn found hardly any",
        "hearth: measured on 2 CPUs"
      )
    }
}
