package io.hearth.workloads.data

import io.hearth.workloads.{Parameter, Settings, UserError}

/**
 * Makes one kind of data set. Row `number` is a pure function of seed, parameters and number, so the
 * same seed gives the same bytes whatever process writes them in whatever order. Other bytes mean a
 * new `version`.
 */
trait Generator {
  def name: String
  def version: Int
  def summary: String

  /** What the values are drawn from, and where that comes from. */
  def distribution: String
  def parameters: Seq[Parameter] = Nil

  /** @throws UserError for values that do not fit together */
  def check(settings: Settings): Unit = ()

  /**
   * New writers, not shared with other threads.
   *
   * @param numbers how many the data set has: 0 until `numbers`
   */
  def tables(seed: Long, settings: Settings, numbers: Long): Seq[Table]

  /** What a check of an answer can use, in addition to the manifest's counts. */
  def facts: (Settings, Long) => Map[String, Long] = (_, _) => Map.empty
}

object Generator {

  /** The most choices of a Zipf law: each task keeps their table in memory. */
  val MaxChoices = 10000000L

  val all: Seq[Generator] = Seq(
    Text,
    Reviews,
    Clusters,
    DenseVectors,
    SparseVectors,
    Records,
    Pairs,
    Graph,
    Clicks,
    Tags,
    Shop
  )

  /** @throws UserError naming those that exist */
  def named(name: String): Generator = all
    .find(_.name == name)
    .getOrElse(
      throw new UserError(
        s"'$name' is not a generator: the generators are ${all.map(_.name).mkString(", ")}"
      )
    )
}
