package io.hearth

import java.nio.file.Path

import scala.jdk.CollectionConverters._

import com.tngtech.archunit.base.DescribedPredicate.not
import com.tngtech.archunit.core.domain.JavaClass.Predicates.{resideInAPackage, resideInAnyPackage}
import com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameMatching
import com.tngtech.archunit.core.importer.ClassFileImporter
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition.{classes, noClasses}
import org.scalatest.funsuite.AnyFunSuite

class ArchitectureTest extends AnyFunSuite {
  private val wire = new ClassFileImporter()
    .importPath(Path.of(sys.props.getOrElse("basedir", ".")).resolve("target/classes"))

  /** Access rules of Spark's and Hadoop's force these there. */
  private val outside = Set(
    "hadoop.ipc.WireBytes",
    "hadoop.ipc.WireCall",
    "hadoop.ipc.WireInvoker",
    "hadoop.ipc.WireServer",
    "spark.shuffle.wire.ExecutorsWire",
    "spark.shuffle.wire.ForSpark",
    "spark.shuffle.wire.PiecesManagedBuffer",
    "spark.shuffle.wire.SparksTransfer",
    "spark.shuffle.wire.WireBlockStoreClient",
    "spark.shuffle.wire.WireDirectory",
    "spark.shuffle.wire.WireShuffleManager",
    "spark.shuffle.wire.WireShuffleSettings",
    "spark.shuffle.wire.WireSource"
  ).map("org.apache." + _)

  test("only the few classes that need it stand in org.apache") {
    val names = wire.asScala.map(_.getName.takeWhile(_ != '$')).filter(_.startsWith("org.apache."))
    assert(names.toSet == outside)
  }

  for (
    (part, needs) <- Seq(
      "transport" -> Seq("javax.crypto..", "org.openucx.."),
      "shuffle" -> Seq("io.hearth.transport..", "scala..")
    )
  )
    test(s"$part knows Java and ${needs.mkString(" and ")}, nothing else") {
      classes()
        .that()
        .resideInAPackage(s"io.hearth.$part..")
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage("java.." +: s"io.hearth.$part.." +: needs: _*)
        .check(wire)
    }

  test("jucx may be missing: only what its loader loads knows it") {
    noClasses()
      .that()
      .haveNameNotMatching(".*\\.Ucx.*")
      .should()
      .dependOnClassesThat(resideInAPackage("org.openucx.."))
      .check(wire)
  }

  test("Hadoop's RPC is plain Java: Hadoop has neither Scala nor Spark") {
    noClasses()
      .that()
      .resideInAnyPackage("io.hearth.hadoop..", "org.apache.hadoop..")
      .should()
      .dependOnClassesThat(
        resideInAnyPackage("scala..", "org.apache.spark..", "io.hearth.shuffle..")
      )
      .check(wire)
  }

  test("of hearth's other modules the wire knows the table of keys, and no plan") {
    val keys = nameMatching(raw"io\.hearth\.core\.plan\.(HearthKeys|Key)\$$?")
    val others = resideInAnyPackage("io.hearth.core..", "io.hearth.driver..", "io.hearth.lending..")
    noClasses().should().dependOnClassesThat(others.and(not(keys))).check(wire)
  }
}
