package io.hearth.core.plan

/**
 * Completes a refusal for lack of memory or CPUs: names what the user must change, and its largest
 * value that is known to fit.
 *
 * @param fits whether there is a plan for these numbers
 */
final private[plan] class RefusalAdvice(
    constraints: UserConstraints,
    usable: UsableMachine,
    fits: UserConstraints => Boolean
) {

  def better(unfit: Unfit): Unfit = driver.getOrElse(bounded(unfit))

  /**
   * The driver's heap is to blame where everything else fits with the driver heap that a plan would
   * choose.
   */
  private def driver: Option[Unfit] =
    constraints.driverHeapMb.filter(_ => fits(constraints.copy(driverHeapMb = None))).map { fixed =>
      val all = Pools.joined(usable, _ => 0L, spare = true).usableMb
      val max =
        largest(fixed.value)(mb => constraints.copy(driverHeapMb = Some(fixed.copy(value = mb))))
      Unfit(
        fixed.name,
        Sizes.asked(fixed),
        s"driver and executors share ${Sizes.show(all)}",
        remedy(max.filter(_ >= Memory.MinHeapMb).map(Sizes.exact))
      )
    }

  private def bounded(unfit: Unfit): Unfit = {
    val heap = constraints.heapMb.filter(_.name == unfit.name).map { fixed =>
      largest(fixed.value)(mb => constraints.copy(heapMb = Some(fixed.copy(value = mb))))
        .filter(_ >= Memory.MinHeapMb) // Spark does not start with less
        .map(Sizes.exact)
    }
    val executors = constraints.executors.filter(_.name == unfit.name).map { fixed =>
      largest(fixed.value.toLong)(n =>
        constraints.copy(executors = Some(fixed.copy(value = n.toInt)))
      )
        .map(_.toString)
    }
    val offHeap = constraints.offHeapMb.filter(_.name == unfit.name).map { fixed =>
      largest(fixed.value)(mb => constraints.copy(offHeapMb = Some(fixed.copy(value = mb))))
        .map(Sizes.exact)
    }
    (heap ++ executors ++ offHeap).headOption
      .fold(limited(unfit))(max => unfit.copy(remedy = remedy(max)))
  }

  /** Names what leaves so little memory where it is not the machine. */
  private def limited(unfit: Unfit): Unfit = usable.topology.allowed.memoryLimit.fold(unfit) {
    case (bytes, name) if unfit.name == "memory" =>
      val limit = s"$name (${Sizes.show(bytes >> 20)})"
      unfit.copy(remedy = s"raise $limit, or use a machine with more memory")
    case _ => unfit
  }

  private def remedy(max: Option[String]) =
    max.fold("no value fits with the other fixed numbers: leave some of them out")(value =>
      s"ask for at most $value"
    )

  /** The largest value below `fixed` that fits, by halving; each answer was tried. */
  private def largest(fixed: Long)(wanted: Long => UserConstraints): Option[Long] = {
    @annotation.tailrec
    def search(good: Long, bad: Long): Long = {
      val middle = good + (bad - good) / 2
      if (middle == good) good
      else if (fits(wanted(middle))) search(middle, bad)
      else search(good, middle)
    }
    Some(search(0L, fixed)).filter(_ > 0)
  }
}
