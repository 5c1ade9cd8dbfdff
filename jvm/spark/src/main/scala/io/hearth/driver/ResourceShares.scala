package io.hearth.driver

import scala.annotation.tailrec

import io.hearth.core.Counted
import io.hearth.core.UserError
import io.hearth.core.plan.ExecutorPlan

/** Divides the addresses of a custom resource, such as GPUs, among the places of a plan. */
object ResourceShares {

  /**
   * Each place gets addresses of its own NUMA nodes first, then such as nobody knows the node of, then
   * any; what is left over belongs to none.
   *
   * @param setting that asks for them, such as `spark.executor.resource.gpu.amount`
   * @param fewer how the user asks for fewer places
   * @param amount addresses for each place
   * @param nodeOf the NUMA node of an address; absent when unknown
   * @return the addresses of each place, by its id
   * Throws UserError when there are too few
   */
  def divide(
      setting: String,
      fewer: String,
      addresses: Vector[String],
      amount: Int,
      places: Vector[ExecutorPlan],
      nodeOf: String => Option[Int]
  ): Map[Int, Vector[String]] = {
    if (amount.toLong * places.size > addresses.size)
      throw new UserError(
        s"$setting: ${Counted(places.size, "executor")} of $amount each ${if (places.size == 1) "needs"
          else "need"} " +
          s"${amount.toLong * places.size}, and this machine has ${addresses.size} " +
          s"(${addresses.take(8).mkString(", ")}${if (addresses.size > 8) ", ..." else ""}); ask for fewer executors with " +
          s"$fewer, or for less in each"
      )
    val nodes = addresses.map(address => address -> nodeOf(address)).toMap
    def isLocal(place: ExecutorPlan, address: String) =
      nodes(address).exists(place.memoryNodes.contains)
    val local = take(places, amount, addresses, Map.empty)(isLocal)
    val unknown = take(places, amount, addresses, local)((_, address) => nodes(address).isEmpty)
    take(places, amount, addresses, unknown)((_, _) => true)
  }

  /** Gives each place, up to `amount`, what fits it of the addresses that nobody has yet. */
  @tailrec private def take(
      places: Vector[ExecutorPlan],
      amount: Int,
      addresses: Vector[String],
      taken: Map[Int, Vector[String]]
  )(fits: (ExecutorPlan, String) => Boolean): Map[Int, Vector[String]] = places match {
    case place +: others =>
      val has = taken.getOrElse(place.id, Vector.empty)
      val free = addresses.diff(taken.valuesIterator.flatten.toVector)
      val more = free.filter(fits(place, _)).take(amount - has.size)
      take(others, amount, addresses, taken.updated(place.id, has ++ more))(fits)
    case _ => taken
  }
}
