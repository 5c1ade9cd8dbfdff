package io.hearth.lending

import io.hearth.core.plan.HandOverMode
import io.hearth.core.topology.IdSet
import io.hearth.spark.{LendingContext, NoLending, Processes}
import io.hearth.spark.testing.{Heard, Places}

/** An application without executors and without a lease. */
object Contexts {
  val none: Class[_] = NoLending.getClass

  def of(mode: HandOverMode): LendingContext = LendingContext(
    "app-1",
    Places.of(2),
    () => Vector.empty,
    Processes,
    mode,
    lease = None,
    () => throw new IllegalStateException("no registry"),
    () => IdSet.empty,
    _ => throw new IllegalStateException("no memory is asked for"),
    _ => throw new IllegalStateException("no lease"),
    slotsPerTask = 1,
    _ => (),
    _ => (),
    new Heard
  )
}
