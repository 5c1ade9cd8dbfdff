package io.hearth.driver

import java.nio.file.Path

import scala.jdk.CollectionConverters._

import com.tngtech.archunit.core.domain.JavaClass
import com.tngtech.archunit.core.importer.ClassFileImporter
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes
import com.tngtech.archunit.{library => rules}
import org.scalatest.funsuite.AnyFunSuite

class ArchitectureSuite extends AnyFunSuite {
  private val own = new ClassFileImporter()
    .importPath(Path.of(sys.props.getOrElse("basedir", ".")).resolve("target/classes"))

  /** Spark's access rules force these there: what they extend or call is `private[spark]`. */
  private val inSpark = Set(
    "scheduler.cluster.numa.CreatesBackend",
    "scheduler.cluster.numa.DriversLease",
    "scheduler.cluster.numa.DriversPlan",
    "scheduler.cluster.numa.DriversLaunch",
    "scheduler.cluster.numa.ExecutorLogs",
    "scheduler.cluster.numa.ExecutorResources",
    "scheduler.cluster.numa.LocalNumaBackend",
    "scheduler.cluster.numa.LocalNumaClusterManager",
    "scheduler.cluster.numa.LocalNumaScheduler",
    "scheduler.cluster.numa.NativeScheduler",
    "scheduler.cluster.numa.NumaCoarseGrainedExecutorBackend",
    "scheduler.cluster.numa.PlannedScheduler",
    "scheduler.cluster.numa.StageWidths",
    "scheduler.cluster.numa.TaskProfiles",
    "scheduler.cluster.numa.UserSettings",
    "scheduler.cluster.numa.WideStages",
    "scheduler.cluster.numa.Wiring",
    "scheduler.cluster.numa.WorkerResources",
    "shuffle.JoiningShuffleManager",
    "shuffle.numa.NumaShuffleManager",
    "shuffle.numa.RegisteredLocalDirs",
    "sql.execution.numa.QueryFacts",
    "ui.numa.HearthTab"
  ).map("org.apache.spark." + _)

  private def outermost(name: String): String = name.takeWhile(_ != '$')

  private def standsInSpark(c: JavaClass): Boolean = c.getPackageName.startsWith("org.apache.spark")

  test("the packages are free of cycles") {
    assert(own.contain("io.hearth.driver.ExecutorPool"))
    rules.dependencies.SlicesRuleDefinition
      .slices()
      .matching("(**)")
      .should()
      .beFreeOfCycles()
      .check(own)
  }

  test("only the few classes that need it stand in org.apache.spark") {
    val found = own.asScala.filter(standsInSpark).map(c => outermost(c.getName)).toSet
    assert(found == inSpark)
  }

  test("each class in org.apache.spark uses Spark itself") {
    val needy = own.asScala
      .filter(standsInSpark)
      .filter(_.getDirectDependenciesFromSelf.asScala.exists { dependency =>
        val target = outermost(dependency.getTargetClass.getName)
        target.startsWith("org.apache.spark.") && !inSpark.contains(target)
      })
      .map(c => outermost(c.getName))
    assert(needy.toSet == inSpark)
  }

  test(
    "io.hearth.driver and io.hearth.lending know core, the JDK and libraries, but no class of Spark's"
  ) {
    classes()
      .that()
      .resideInAnyPackage("io.hearth.driver..", "io.hearth.lending..")
      .should()
      .onlyDependOnClassesThat()
      .resideInAnyPackage(
        "io.hearth.driver..",
        "io.hearth.lending..",
        "io.hearth.core..",
        "java..",
        "scala..",
        "com.fasterxml.jackson.."
      )
      .check(own)
  }
}
