package org.apache.spark.ui.numa

import scala.xml.{NodeSeq, XML}

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.driver.UiTable

class HearthTabSuite extends AnyFunSuite {

  test("what tables say is text in the page, whatever it is") {
    val evil = "<script>alert('1')</script> & \"CPUs\""
    val shown = HearthTab.content(Vector(UiTable(evil, evil, Vector(evil), Vector(Vector(evil)))))
    val read = XML.loadString(s"<page>${NodeSeq.fromSeq(shown).mkString}</page>")
    assert((read \\ "script").isEmpty)
    assert(Vector("h4", "p", "th", "td").map(name => (read \\ name).text) == Vector.fill(4)(evil))
  }

  test("a table without rows is its title and its note, in which no line ends within an option") {
    val note = "'hearth status --leases' shows."
    val shown = HearthTab.content(Vector(UiTable("Loans", note, Vector("CPUs"), Vector.empty)))
    val whole = "<span style=\"white-space: nowrap\">--leases'</span>"
    assert(NodeSeq.fromSeq(shown).mkString == s"<h4>Loans</h4><p>'hearth status $whole shows.</p>")
  }
}
