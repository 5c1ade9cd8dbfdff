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

  /** More executors than GPUs suffice for. */
  def unfit(usable: UsableMachine, constraints: UserConstraints): Option[Unfit] =
    for {
      gpus <- of(usable, constraints)
      asked <- constraints.executors
      product = asked.value.toLong * gpus.each
      if product > gpus.number
    } yield Unfit(
      s"${asked.name} x $Key",
      s"${asked.value} x ${gpus.each} = $product",
      s"the machine has ${Counted(gpus.number, "GPU")}",
      if (gpus.each > gpus.number) s"set $Key to at most ${gpus.number}"
      else s"ask for at most ${Counted(gpus.executors, "executor")}, or for fewer GPUs in each"
    )
}
