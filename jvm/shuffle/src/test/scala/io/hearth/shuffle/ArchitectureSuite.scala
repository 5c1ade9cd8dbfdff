package io.hearth.shuffle

import java.nio.file.Path

import scala.jdk.CollectionConverters._

import com.tngtech.archunit.base.DescribedPredicate.not
import com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage
import com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameMatching
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
    "of hearth the shuffle knows the names of its keys, and no plan, so that it runs on any cluster manager"
  ) {
    val keys = nameMatching(raw"io\.hearth\.core\.plan\.(HearthKeys|Key)\$$?")
    noClasses()
      .should()
      .dependOnClassesThat(
        resideInAnyPackage("io.hearth.core..", "io.hearth.driver..", "io.hearth.lending..")
          .and(not(keys))
      )
      .check(own)
  }
}
