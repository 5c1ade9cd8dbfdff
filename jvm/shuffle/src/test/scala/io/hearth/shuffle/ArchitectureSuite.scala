package io.hearth.shuffle

import java.nio.file.Path

import scala.jdk.CollectionConverters._

import com.tngtech.archunit.core.importer.ClassFileImporter
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition.{classes, noClasses}
import org.scalatest.funsuite.AnyFunSuite

class ArchitectureSuite extends AnyFunSuite {
  private val own = new ClassFileImporter()
    .importPath(Path.of(sys.props.getOrElse("basedir", ".")).resolve("target/classes"))

  /** Spark's access rules force these there: what they extend or call is `private[spark]`. */
  private val inSpark = Set(
    "ExecutorsWire",
    "ForSpark",
    "PiecesManagedBuffer",
    "SparksTransfer",
    "WireBlockStoreClient",
    "WireDirectory",
    "WireShuffleManager",
    "WireShuffleSettings",
    "WireSource"
  ).map("org.apache.spark.shuffle.wire." + _)

  test("only the few classes that need it stand in org.apache.spark") {
    val found = own.asScala.map(_.getName.takeWhile(_ != '$')).filter(_.startsWith("org.apache."))
    assert(found.toSet == inSpark)
  }

  test("fetching and serving blocks knows the wire, and no class of Spark's") {
    classes()
      .that()
      .resideInAPackage("io.hearth.shuffle..")
      .should()
      .onlyDependOnClassesThat()
      .resideInAnyPackage("io.hearth.shuffle..", "io.hearth.transport..", "java..", "scala..")
      .check(own)
  }

  test(
    "the shuffle knows nothing of plans, places and lending, so that it runs on any cluster manager"
  ) {
    noClasses()
      .should()
      .dependOnClassesThat()
      .resideInAnyPackage("io.hearth.core..", "io.hearth.spark..", "io.hearth.lending..")
      .check(own)
  }
}
