package io.hearth.transport

import com.tngtech.archunit.core.domain.JavaClass.Predicates.{resideInAPackage, resideInAnyPackage}
import com.tngtech.archunit.core.importer.{ClassFileImporter, ImportOption}
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition.{classes, noClasses}
import org.scalatest.funsuite.AnyFunSuite

class IndependenceTest extends AnyFunSuite {
  private val ours = new ClassFileImporter()
    .withImportOption(new ImportOption.DoNotIncludeTests)
    .importPackages("io.hearth.transport")

  test("the transport needs Java and jucx, nothing else") {
    classes()
      .should()
      .onlyDependOnClassesThat(
        resideInAnyPackage("java..", "javax.crypto..", "io.hearth.transport..", "org.openucx..")
      )
      .check(ours)
  }

  test("jucx may be missing: only what its loader loads knows it") {
    noClasses()
      .that()
      .haveNameNotMatching(".*\\.Ucx.*")
      .should()
      .dependOnClassesThat(resideInAPackage("org.openucx.."))
      .check(ours)
  }
}
