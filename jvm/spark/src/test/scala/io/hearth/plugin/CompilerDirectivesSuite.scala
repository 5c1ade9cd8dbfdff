package io.hearth.plugin

import java.lang.management.ManagementFactory
import javax.management.ObjectName

import org.scalatest.funsuite.AnyFunSuite

class CompilerDirectivesSuite extends AnyFunSuite {
  private def diagnostics(command: String): String = String.valueOf(
    ManagementFactory.getPlatformMBeanServer
      .invoke(new ObjectName("com.sun.management:type=DiagnosticCommand"), command, null, null)
  )

  test("the second compiler leaves out Janino, and what it cannot read changes nothing") {
    try {
      CompilerDirectives.command("compilerDirectivesAdd", "no directives")
      assert(!diagnostics("compilerDirectivesPrint").contains("codehaus"))
      CompilerDirectives.command("compilerDirectivesAdd", CompilerDirectives.Directives)
      val second =
        diagnostics("compilerDirectivesPrint").split("Directive:").find(_.contains("codehaus"))
      assert(second.exists(_.split("c2 directives:")(1).contains("Exclude:true")))
    } finally diagnostics("compilerDirectivesClear")
  }
}
