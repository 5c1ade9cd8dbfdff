package io.hearth.lending

import java.time.Instant

import io.hearth.core.leases.LoanRegistry
import io.hearth.core.plan.HearthKeys
import io.hearth.spark.{BestEffort, DaemonThread, Lending, LendingContext, LendingProvider}

/** What `spark.hearth.handOver` asks for. */
final class HandOverLending extends LendingProvider {
  override def open(application: LendingContext): Lending = {
    import application._
    val cores = new LiveCores(jvms)
    val grants = new OpenGrants(
      appId,
      running,
      cores,
      record => keep(record.toJson),
      () => System.nanoTime,
      () => Instant.now(),
      log
    )
    new CoreLending(
      places,
      running,
      cores,
      grants,
      mode.within,
      if (mode.between) between(application, grants) else None,
      DaemonThread.scheduled("hearth-hand-over"),
      () => System.nanoTime,
      log
    )
  }

  /** Only who holds CPUs can lend them, and be known as a borrower. */
  private def between(application: LendingContext, grants: OpenGrants) = {
    import application._
    if (lease.isEmpty)
      log.warn(
        s"${HearthKeys.HandOver.name}=${mode.name}: CPUs are neither lent to nor borrowed from other " +
          "applications, because this one has no lease (docs/leases.md)"
      )
    lease.map { name =>
      new ApplicationLending(
        appId,
        name,
        () => new LoanRegistry(registry()),
        allowed,
        free,
        leaseOf,
        whole = mode.within,
        slotsPerTask,
        grants,
        slots,
        new BestEffort("CPUs are not lent to other applications, nor borrowed", log.warn),
        () => System.nanoTime,
        () => Instant.now(),
        log
      )
    }
  }
}
