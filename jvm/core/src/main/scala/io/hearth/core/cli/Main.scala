package io.hearth.core.cli

import io.hearth.core.{Brief, UserError}
import io.hearth.core.affinity.BindingRefused

/**
 * The seam to the Python command line: `Main VERB ARGS`, one JSON document on standard output.
 *
 * Exit codes: 0 done; 2 the user can correct it, one line on standard error; 70 a fault of hearth,
 * with its stack trace.
 */
object Main {

  /** A verb: arguments in, text for standard output out. */
  type Verb = Vector[String] => String

  private val verbs: Map[String, Verb] = Map(
    "topology" -> TopologyVerbs.topology,
    "plan" -> PlanVerb.plan,
    "placement" -> (PlacementVerb(_)),
    "gather" -> TopologyVerbs.gather,
    "bandwidth" -> (BandwidthVerb(_)),
    "affinity-plan" -> AffinityVerbs.plan,
    "affinity-defaults" -> AffinityVerbs.defaults,
    "leases" -> (LeasesVerb(_)),
    "train" -> train
  )

  /** Touches what other verbs need, so that a class-data archive made from this run contains it. */
  private def train(args: Vector[String]): String =
    TopologyVerbs.topology(Vector.empty) + PlanVerb.plan(args)

  /** The most characters in an error line, whatever it quotes. */
  private[cli] val MaxErrorChars = 1500

  def main(args: Array[String]): Unit = sys.exit(run(args.toVector))

  private[core] def run(args: Vector[String]): Int =
    try {
      val verb = args.headOption.getOrElse("")
      val action = verbs.getOrElse(
        verb,
        throw new UserError(
          s"verb '$verb' is unknown: use ${verbs.keys.toVector.sorted.mkString(", ")}"
        )
      )
      println(action(args.drop(1)))
      0
    } catch {
      case e @ (_: UserError | _: BindingRefused) =>
        Console.err.println(Brief(e.getMessage, MaxErrorChars))
        2
      case e: Throwable =>
        e.printStackTrace(Console.err)
        70
    }
}
