package io.hearth.core.plan

/** What studies measured of bound executors, or of several, by what the work does: only where this machine is alike. */
private[plan] object Gains {

  def of(usable: UsableMachine, layout: Layout, workload: Workload): Vector[Reason] = {
    val several = usable.nodes.sizeIs > 1
    val local = several && Locality.of(usable, layout).forall(_.local)
    Vector(
      Option.when(several)(executors(usable, layout, workload)).flatten,
      many(layout, workload),
      Option.when(local)(binding(workload)).flatten
    ).flatten
  }

  /** Awan 2016: K-Means and a Gaussian mixture, on two nodes with 24 cores, executors of 4 to 12. */
  private def executors(usable: UsableMachine, layout: Layout, workload: Workload) = {
    val alike = layout.slots < Widths.OneJvmScales && layout.widest <= AwansWidest &&
      usable.cores.forall(_.cpus.sizeIs == 1)
    Option.when(alike && workload.kind.contains(WorkloadKind.Ml))(
      gain(
        "up to 26 % less time than one JVM",
        "K-Means and a Gaussian mixture were up to 36 % faster in six executors of four cores than in one of 24, " +
          "without second threads, by less garbage collection",
        "Awan 2016"
      )
    )
  }

  private def gain(value: String, because: String, source: String) =
    Reason(Partitioning.Gain, value, because, source)

  private val AwansWidest = 12

  /** Kyong 2017: word count, grep, naive Bayes and K-Means on 8 sockets of 15 cores. */
  private def many(layout: Layout, workload: Workload) = {
    val alike = layout.slots >= Widths.ManySlots && layout.narrowest >= Widths.WideMin &&
      layout.widest <= Widths.MaxSlots
    val kinds: Set[WorkloadKind] = Set(WorkloadKind.Etl, WorkloadKind.Ml)
    Option.when(alike && workload.kind.forall(kinds))(
      gain(
        "up to 1.5 times as fast as one JVM",
        "word count, grep, naive Bayes and K-Means on 120 cores, in four partitions of 30, where one JVM had stopped " +
          "getting faster at about 60",
        "Kyong 2017"
      )
    )
  }

  /** Executors bound to nodes against executors that are not, on four nodes of a POWER8. */
  private def binding(workload: Workload): Option[Reason] = {
    def bound(percent: String, of: String, source: String) =
      Some(
        gain(
          s"$percent faster by binding",
          s"on four nodes of a POWER8, bound compared with unbound: $of",
          source
        )
      )
    workload.kind match {
      case Some(WorkloadKind.Ml) =>
        bound("13 to 15 %", "K-Means 13 %, SVM 15 %", "Chiba 2015; Baig 2018")
      case Some(WorkloadKind.Graph) => bound("25 %", "PageRank 25 %", "Baig 2018")
      case Some(WorkloadKind.Sql) =>
        bound("3 to 7 %", "TPC-H 3 to 4 % on average, a scan 7 %", "Chiba 2015; Baig 2018")
      case None =>
        val of = "SQL 3 to 7 %, machine learning 13 to 15 %, a graph 25 % (--workload says which)"
        bound("3 to 25 %", of, "Chiba 2015; Baig 2018")
      case Some(_) => None
    }
  }
}
