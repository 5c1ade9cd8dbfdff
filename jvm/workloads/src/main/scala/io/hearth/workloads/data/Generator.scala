package io.hearth.workloads.data

import io.hearth.workloads.{Parameter, Settings, UserError}

/**
 * Makes one kind of data set. Row `number` is a pure function of seed, parameters and number, so the
 * same seed gives the same bytes whatever writes them, in any order. A change of those bytes is a
 * new `version`.
 */
trait Generator {
  def name: String
  def version: Int
  def summary: String

  /** What the values are drawn from, and where that comes from. */
  def distribution: String
  def parameters: Seq[Parameter] = Nil

  /** @throws UserError for values that do not go together */
  def check(settings: Settings): Unit = ()

  /**
   * Writers of their own, not shared with other threads.
   *
   * @param numbers how many the data set has: 0 until `numbers`
   */
  def tables(seed: Long, settings: Settings, numbers: Long): Seq[Table]

  /** What a check of an answer can use, beside what the manifest counts. */
  def facts: (Settings, Long) => Map[String, Long] = (_, _) => Map.empty
}

object Generator {

  /** Of a Zipf law's choices: their table is held in memory by each task. */
  val MostChoices = 10000000L

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

  /** @throws UserError naming those that there are */
  def named(name: String): Generator = all
    .find(_.name == name)
    .getOrElse(
      throw new UserError(
        s"'$name' is no generator: the generators are ${all.map(_.name).mkString(", ")}"
      )
    )
}
