package io.hearth.lending

import java.nio.file.Path

import com.tngtech.archunit.core.importer.ClassFileImporter
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes
import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.plan.HandOverMode
import io.hearth.spark.LendingProvider

class ArchitectureSuite extends AnyFunSuite {
  private val own = new ClassFileImporter()
    .importPath(Path.of(sys.props.getOrElse("basedir", ".")).resolve("target/classes"))

  test("lending knows core, io.hearth.spark, the JDK and libraries, but no class of Spark's") {
    assert(own.contain("io.hearth.lending.HandOver"))
    classes()
      .should()
      .onlyDependOnClassesThat()
      .resideInAnyPackage(
        "io.hearth.lending..",
        "io.hearth.spark..",
        "io.hearth.core..",
        "java..",
        "scala..",
        "com.fasterxml.jackson.."
      )
      .check(own)
  }

  test("the cluster manager finds this module on its class path, in every mode") {
    for (mode <- HandOverMode.all) {
      val lending = LendingProvider.open(Contexts.of(mode))
      assert(
        lending.getClass == (if (mode == HandOverMode.Off) Contexts.none else classOf[CoreLending])
      )
      lending.close()
    }
  }
}
