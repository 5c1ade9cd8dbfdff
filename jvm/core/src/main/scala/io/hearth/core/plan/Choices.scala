package io.hearth.core.plan

/** `spark.hearth.binding`: what happens where the kernel refuses to bind an executor. */
sealed abstract class BindingMode(val name: String)

object BindingMode {
  case object Required extends BindingMode("required")
  case object Preferred extends BindingMode("preferred")
  case object Off extends BindingMode("off")
  val all: Vector[BindingMode] = Vector(Required, Preferred, Off)
}

/** `spark.hearth.launcher`: what an executor is to the machine. */
sealed abstract class Launcher(val name: String)

object Launcher {
  case object AsProcess extends Launcher("process")
  case object InContainer extends Launcher("docker")
  val all: Vector[Launcher] = Vector(AsProcess, InContainer)
}

/** `spark.hearth.hosts`: what a host is to Spark's scheduler. */
sealed abstract class HostNames(val name: String)

object HostNames {
  case object OfNodes extends HostNames("node")
  case object OfMachine extends HostNames("machine")
  val all: Vector[HostNames] = Vector(OfNodes, OfMachine)
}

/** `spark.hearth.lease.whenFull`: what happens where others hold what the plan would need. */
sealed abstract class WhenFull(val name: String)

object WhenFull {
  case object Share extends WhenFull("share")
  case object Wait extends WhenFull("wait")
  case object Refuse extends WhenFull("refuse")
  val all: Vector[WhenFull] = Vector(Share, Wait, Refuse)
}

/** `spark.hearth.handOver`: who may use the CPUs of executors that have nothing to do. */
sealed abstract class HandOverMode(val name: String)

object HandOverMode {
  case object Off extends HandOverMode("off")

  /** Those executors of the same application that still work. */
  case object Tail extends HandOverMode("tail")
  val all: Vector[HandOverMode] = Vector(Off, Tail)
}
