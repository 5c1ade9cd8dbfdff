package io.hearth.driver

import io.hearth.core.UserError

/** `local-numa`, `local-numa[4]` (executors) or `local-numa[4x12]` (executors x cores). */
final case class MasterUrl(executors: Option[Int], cores: Option[Int])

object MasterUrl {
  private val Planned = "local-numa"
  private val Executors = """local-numa\[\s*(\d{1,6})\s*\]""".r
  private val ExecutorsByCores = """local-numa\[\s*(\d{1,6})\s*[xX]\s*(\d{1,6})\s*\]""".r

  def matches(master: String): Boolean = master == Planned || master.startsWith(Planned + "[")

  /** Throws UserError when the text in the brackets is not a number of executors, or executors x cores */
  def parse(master: String): MasterUrl = master match {
    case Planned => MasterUrl(None, None)
    case Executors(n) => checked(master, n.toInt, None)
    case ExecutorsByCores(n, m) => checked(master, n.toInt, Some(m.toInt))
    case _ => throw malformed(master)
  }

  private def checked(master: String, executors: Int, cores: Option[Int]): MasterUrl =
    if (executors < 1 || cores.exists(_ < 1)) throw malformed(master)
    else MasterUrl(Some(executors), cores)

  private def malformed(master: String): UserError = new UserError(
    s"master '$master' is not supported: use local-numa (the plan decides), " +
      "local-numa[4] (4 executors) or local-numa[4x12] (4 executors of 12 cores), each number at least 1"
  )
}
