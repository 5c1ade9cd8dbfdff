package io.hearth.core.plan

import io.hearth.core.Counted
import io.hearth.core.topology.DeviceKind

/** GPUs of the machine, and how many of them each executor has. */
final private[plan] case class Gpus(number: Int, each: Int) {
  def executors: Int = math.max(1, number / each)
  def because: String = s"${Counted(number, "GPU")}, $each for each executor"
}

private[plan] object Gpus {
  private val Key = "spark.executor.resource.gpu.amount"

  /** None where the user asks for none, or the topology knows none. */
  def of(usable: UsableMachine, constraints: UserConstraints): Option[Gpus] = {
    val number = usable.topology.devices.count(_.kind == DeviceKind.Gpu)
    constraints.conf
      .get(Key)
      .flatMap(_.trim.toIntOption)
      .filter(_ > 0 && number > 0)
      .map(Gpus(number, _))
  }
}
