package io.hearth.spark

/**
 * What a backend works with, as it is wired for an application.
 *
 * @param initialExecutors how many are started before the application begins
 * @param announce tells executors, by settings, what they are to know
 * @param taskFailed is given the error of each task that has failed with one
 * @param supervise what deals with executors that end, for a scheduler
 */
final case class LocalNumaParts(
    appId: String,
    initialExecutors: Int,
    application: RunningApplication,
    archive: ArchiveWriting,
    pool: ExecutorPool,
    placement: PlacementWatch,
    lending: Lending,
    announce: () => Unit,
    taskFailed: String => Unit,
    supervise: SchedulerSide => ExecutorSupervisor
)
