package io.hearth.core

import com.tngtech.archunit.core.importer.{ClassFileImporter, ImportOption}
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses
import com.tngtech.archunit.{library => rules}
import org.scalatest.funsuite.AnyFunSuite

class ArchitectureTest extends AnyFunSuite {
  private val classes = new ClassFileImporter()
    .withImportOption(new ImportOption.DoNotIncludeTests)
    .importPackages("io.hearth.core")

  test("the packages of core are free of cycles") {
    assert(classes.contain("io.hearth.core.topology.Topology"))
    rules.dependencies.SlicesRuleDefinition
      .slices()
      .matching("io.hearth.core.(*)..")
      .should()
      .beFreeOfCycles()
      .check(classes)
  }

  test("core knows no Spark") {
    noClasses().should().dependOnClassesThat().resideInAPackage("org.apache.spark..").check(classes)
  }
}
