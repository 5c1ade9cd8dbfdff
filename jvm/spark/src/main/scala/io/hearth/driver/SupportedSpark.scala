package io.hearth.driver

/**
 * The versions of Spark for which the one jar is made; `make test-versions` runs it on each of them.
 *
 * Spark 3 may come with Scala 2.12. Nothing here calls Scala's library, so that its user reads this instead of
 * a NoClassDefFoundError.
 */
object SupportedSpark {

  /** Throws IllegalStateException for a version other than 4.0 to 4.3 */
  def check(version: String): Unit =
    if (!version.matches("4\\.[0-3]([.-].*)?"))
      throw new IllegalStateException(
        "master local-numa: this is Spark " + version + ", and this jar of hearth is for Spark 4.0 to 4.3 " +
          "(Scala 2.13): use one of them, such as pip install 'pyspark>=4.0,<4.4', or another master"
      )
}
