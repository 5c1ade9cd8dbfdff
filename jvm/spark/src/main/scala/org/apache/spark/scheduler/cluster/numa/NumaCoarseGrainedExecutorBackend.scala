package org.apache.spark.scheduler.cluster.numa

import java.nio.ByteBuffer
import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.{SparkConf, SparkEnv, TaskState}
import org.apache.spark.TaskState.TaskState
import org.apache.spark.executor.CoarseGrainedExecutorBackend
import org.apache.spark.resource.ResourceProfile
import org.apache.spark.rpc.RpcEnv

import io.hearth.core.plan.HearthKeys
import io.hearth.driver.{ApplicationToken, ExecutorLaunch, ExecutorLease}
import io.hearth.width.HeapReport

/**
 * The executor's main program: Spark's own, after a look at whose driver it is that answers.
 *
 * Addresses are given again: where another application's driver, or somebody else, listens at the
 * address of ours, an executor that registered there would run that one's tasks. The driver's settings
 * come before the registration, and hold the application's token.
 */
private[spark] object NumaCoarseGrainedExecutorBackend {

  def main(words: Array[String]): Unit = {
    val name = getClass.getCanonicalName.stripSuffix("$")
    val arguments = CoarseGrainedExecutorBackend.parseArguments(words, name)
    ExecutorLease.keep(sys.env, arguments.executorId).foreach(System.err.println(_))
    CoarseGrainedExecutorBackend.run(arguments, checked)
    sys.exit(0)
  }

  private def checked(
      rpcEnv: RpcEnv,
      arguments: CoarseGrainedExecutorBackend.Arguments,
      env: SparkEnv,
      profile: ResourceProfile
  ): CoarseGrainedExecutorBackend = {
    stranger(arguments, env.conf, sys.env).foreach { sentence =>
      System.err.println(sentence)
      sys.exit(ApplicationToken.StrangersExit)
    }
    // It starts in the driver's directory: what the application sends is not to land there (SparkFiles).
    env.driverTmpDir = sys.env.get(ExecutorLaunch.FilesVariable)
    val reports = HearthKeys.Width.in(env.conf.getOption) == HearthKeys.Adaptive
    new CoarseGrainedExecutorBackend(
      rpcEnv,
      arguments.driverUrl,
      arguments.executorId,
      arguments.bindAddress,
      arguments.hostname,
      arguments.cores,
      env,
      arguments.resourcesFileOpt,
      profile
    ) {
      private val next = new AtomicLong(System.nanoTime)

      /** How full its heap is, where that decides how many tasks run: at most once a second. */
      override def statusUpdate(taskId: Long, state: TaskState, data: ByteBuffer): Unit = {
        val now = System.nanoTime
        val due = next.get
        if (
          reports && TaskState
            .isFinished(state) && now - due >= 0 && next.compareAndSet(due, now + 1000000000L)
        )
          driver.foreach(_.send(HeapReport(arguments.executorId, HeapReport.part())))
        super.statusUpdate(taskId, state, data)
      }
    }
  }

  /** @return why this executor must not register; absent where the driver is its own */
  def stranger(
      arguments: CoarseGrainedExecutorBackend.Arguments,
      driversConf: SparkConf,
      environment: Map[String, String]
  ): Option[String] = {
    val own = environment.get(ApplicationToken.Variable)
    Option.unless(own.nonEmpty && driversConf.getOption(ApplicationToken.Key) == own)(
      s"Executor ${arguments.executorId} of application ${arguments.appId} does not register: at " +
        s"${arguments.driverUrl} another application's driver answers; give each its own " +
        "spark.driver.port, or leave spark.driver.port, spark.driver.host and spark.driver.bindAddress out"
    )
  }
}
