package io.hearth.core.plan

import io.hearth.core.Counted
import io.hearth.core.Redaction

/** What the user asked for and no plan can honour, refused by name. */
private[plan] object RequestChecks {

  def check(conf: Map[String, String]): Either[Unfit, Unit] =
    for {
      _ <- refuse(conf, "spark.master")(!_.startsWith("local-numa"))(
        "the plan chooses the master",
        "leave it out, or give local-numa, local-numa[N] or local-numa[NxM]"
      )
      _ <- refuse(conf, "spark.executor.extraJavaOptions")(_.contains("-Xmx"))(
        "Spark does not accept -Xmx there",
        "fix the heap with --memory or spark.executor.memory"
      )
      _ <- HearthKeys.check(conf)
      _ <- refuse(conf, HearthKeys.HandOver.name)(
        _ != "off" && conf.get(Scope).contains("package")
      )(
        s"with $Scope=package executors share the CPUs of their package, so an idle one's are in use",
        "leave one of the two out"
      )
    } yield ()

  private val Scope = HearthKeys.BindingScope.name

  /** The driver's JVM has its own collector, usually G1, unless it is the only JVM of a plan. */
  val AnyCollector: Vector[String] = Vector("-XX:+UseG1GC")

  /** A heap with which Spark would refuse to start. */
  def checkHeap(heapMb: Option[UserValue[Long]], options: Vector[String]): Either[Unfit, Unit] = {
    val min = Memory.minHeapMb(options)
    heapMb
      .filter(_.value < min)
      .map { heap =>
        Unfit(
          heap.name,
          Sizes.asked(heap),
          s"Spark needs ${Memory.SparkMinMb} MB of heap, which takes -Xmx${min}m with this collector",
          s"give at least ${min}m"
        )
      }
      .toLeft(())
  }

  private def refuse(conf: Map[String, String], key: String)(
      wrong: String => Boolean
  )(limit: String, remedy: String): Either[Unfit, Unit] =
    conf
      .get(key)
      .filter(wrong)
      .map(v => Unfit(key, s"'${Redaction.of(conf.get).setting(key, v)}'", limit, remedy))
      .toLeft(())

  /** Counts that contradict each other. */
  def checkCounts(constraints: UserConstraints): Either[Unfit, Unit] = {
    val product =
      constraints.executors.fold(1L)(_.value.toLong) * constraints.cores.fold(1L)(_.value.toLong)
    val overMax = constraints.coresMax.filter(_.value < product).map { max =>
      val name = (constraints.executors ++ constraints.cores).map(_.name).mkString(" x ")
      Unfit(
        "spark.cores.max",
        s"${max.value}",
        s"$name asks for ${Counted(product, "task slot")}",
        s"raise it to $product or ask for fewer"
      )
    }
    val underTask = constraints.cores.filter(_.value < constraints.taskCpus).map { cores =>
      Unfit(
        "spark.task.cpus",
        s"${constraints.taskCpus}",
        s"${cores.name} gives an executor ${cores.value}, so no task could run",
        "lower it or give executors more cores"
      )
    }
    (overMax ++ underTask ++ dynamicUnfit(constraints)).headOption.toLeft(())
  }

  private def dynamicUnfit(constraints: UserConstraints): Option[Unfit] =
    for {
      dynamic <- constraints.dynamic
      max <- (dynamic.atMost ++ constraints.executors.map(_.value)).minOption
      if dynamic.atLeast > max
    } yield Unfit(
      "spark.dynamicAllocation",
      s"at least ${Counted(dynamic.atLeast, "executor")} to start with",
      s"at most $max are allowed",
      "make minExecutors, initialExecutors and spark.executor.instances at most maxExecutors"
    )
}
