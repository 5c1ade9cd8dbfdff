package io.hearth.workloads

import com.tngtech.archunit.core.importer.ClassFileImporter
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses
import com.tngtech.archunit.{library => rules}
import org.scalatest.funsuite.AnyFunSuite

/** The jar runs on plain Spark, so that every comparison is fair. */
class IndependenceTest extends AnyFunSuite {
  private val ours = new ClassFileImporter().importPackages("io.hearth.workloads")

  test("no workload knows a class of hearth's") {
    noClasses()
      .should()
      .dependOnClassesThat()
      .resideInAnyPackage("io.hearth.core..", "io.hearth.driver..", "org.apache.spark..numa..")
      .check(ours)
  }

  test("families of jobs do not know each other") {
    rules.dependencies.SlicesRuleDefinition
      .slices()
      .matching("io.hearth.workloads.(core|ml|graph|sql|streaming)..")
      .should()
      .notDependOnEachOther()
      .check(ours)
  }
}
