package org.apache.spark.scheduler.cluster.numa

import org.apache.spark.{SparkConf, SparkContext, SparkException}
import org.apache.spark.resource.{ResourceProfile, ResourceProfileManager, TaskResourceProfile}
import org.apache.spark.resource.ResourceProfile.CPUS
import org.apache.spark.scheduler.LiveListenerBus

import io.hearth.core.plan.{ExecutorPlan, Plan, PlanMode}

/**
 * Stages whose tasks take other resources than the rest (`RDD.withResources` with task resources alone), as on a
 * standalone cluster. Executors are those of the plan, so a profile that asks for others is refused.
 */
private[spark] class TaskProfiles(conf: SparkConf, bus: LiveListenerBus, plan: Plan)
    extends ResourceProfileManager(conf, bus) {

  /** Spark's own check knows other masters only. Called by its constructor too, for the default profile. */
  override private[spark] def isSupported(profile: ResourceProfile): Boolean = {
    if (profile.id != ResourceProfile.DEFAULT_RESOURCE_PROFILE_ID)
      TaskProfiles.refusal(profile, plan).foreach(sentence => throw new SparkException(sentence))
    true
  }

  /** Every executor can run them: under dynamic allocation there are no others. */
  override private[spark] def canBeScheduled(task: Int, executor: Int): Boolean =
    super.canBeScheduled(task, executor) ||
      resourceProfileFromId(task).isInstanceOf[TaskResourceProfile]
}

private[spark] object TaskProfiles {

  /** Spark makes its manager before it asks whose master it is, and has no place for another. */
  def install(sc: SparkContext, plan: Plan): Unit = {
    val field = classOf[SparkContext].getDeclaredField("_resourceProfileManager")
    field.setAccessible(true)
    field.set(sc, new TaskProfiles(sc.conf, sc.listenerBus, plan))
  }

  private def refusal(profile: ResourceProfile, plan: Plan): Option[String] = {
    val cpus = cpusOf(profile)
    val slots = plan.executors.map(_.taskSlots).min
    if (!profile.isInstanceOf[TaskResourceProfile])
      Some(
        "This resource profile asks for other executors, but local-numa has only those of the plan: ask for " +
          "task resources alone (TaskResourceRequests), or give the master and spark.executor.* other values"
      )
    else if (cpus.exists(_ > slots))
      Some(
        s"This resource profile asks for ${number(cpus.get)} CPUs for a task, and an executor has $slots: ask for at " +
          "most that, or for fewer executors with more CPUs (local-numa[NxM])"
      )
    else
      custom(profile).headOption.filter(_ => plan.mode == PlanMode.Native).map { case (name, _) =>
        s"This resource profile asks for $name, and the plan is one JVM, in which Spark's local scheduler has no " +
          "resources to give; ask for executors with the master local-numa[N]"
      }
  }

  /** How many tasks of a profile run at once in these places. */
  def slots(profile: ResourceProfile, conf: SparkConf, places: Seq[ExecutorPlan]): Int = {
    val cpus = cpusOf(profile).getOrElse(conf.get("spark.task.cpus", "1").toDouble)
    val ofExecutor = ResourceProfile.getOrCreateDefaultProfile(conf).getCustomExecutorResources()
    val byResources = custom(profile).map { case (name, amount) =>
      val addresses = ofExecutor.get(name).fold(0L)(_.amount)
      if (amount < 1) (addresses * math.floor(1 / amount)).toInt else (addresses / amount).toInt
    }
    places.map(place => byResources.fold((place.taskSlots / cpus).toInt)(math.min)).sum
  }

  private def cpusOf(profile: ResourceProfile): Option[Double] =
    profile.taskResources.get(CPUS).map(_.amount)

  private def custom(profile: ResourceProfile): Vector[(String, Double)] =
    profile.taskResources.toVector.collect {
      case (name, request) if name != CPUS => name -> request.amount
    }

  private def number(amount: Double): String =
    if (amount.isWhole) amount.toLong.toString else amount.toString
}
