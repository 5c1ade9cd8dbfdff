package org.apache.spark.ui.numa

import java.lang.reflect.Method
import java.util.concurrent.atomic.AtomicReference

import scala.util.control.NonFatal
import scala.xml.{Node, Text}

import jakarta.servlet.http.HttpServletRequest

import org.apache.spark.SparkContext
import org.apache.spark.ui.{SparkUI, SparkUITab, UIUtils, WebUIPage}

import io.hearth.driver.{Log, UiTable}

/** The tab "hearth" of a driver's UI: tables, in Spark's own page. */
private[spark] class HearthTab(ui: SparkUI) extends SparkUITab(ui, HearthTab.Prefix) {
  private val sources = new AtomicReference(Vector.empty[() => Vector[UiTable]])

  /** Not found at the application's start, which it would slow. */
  private lazy val frame = HearthTab.frame

  override val name: String = HearthTab.Prefix

  private def add(tables: () => Vector[UiTable]): Unit = {
    sources.updateAndGet(_ :+ tables)
    ()
  }

  /** Shows what there is when somebody looks. */
  private val page = new WebUIPage("") {
    override def render(request: HttpServletRequest): Seq[Node] =
      framed(request, HearthTab.content(sources.get.flatMap(_())))
  }
  attachPage(page)

  /** The last parameters, which have defaults, are not the same in all versions of Spark. */
  private def framed(request: HttpServletRequest, content: => Seq[Node]): Seq[Node] = {
    val first = Vector[AnyRef](request, name, () => content, this)
    val rest = (first.size + 1 to frame.getParameterCount).map { number =>
      classOf[UIUtils.type].getMethod(s"headerSparkPage$$default$$$number").invoke(UIUtils)
    }
    frame.invoke(UIUtils, first ++ rest: _*).asInstanceOf[Seq[Node]]
  }
}

object HearthTab {
  val Prefix: String = "hearth"

  /**
   * Shows further tables in the tab of an application, where that has a UI. No application fails without it.
   *
   * @param tables is asked whenever the page is
   */
  def show(sc: SparkContext, log: Log)(tables: () => Vector[UiTable]): Unit =
    try
      sc.ui.foreach { ui =>
        val there = ui.getTabs.collectFirst { case known: HearthTab => known }
        val tab = there.getOrElse(new HearthTab(ui))
        tab.add(tables)
        if (there.isEmpty) ui.attachTab(tab)
      }
    catch {
      case e @ (NonFatal(_) | _: LinkageError) =>
        log.warn(s"Spark's UI has no tab '$Prefix': $e. `hearth status` shows where executors are")
    }

  /** What the tables say may be anybody's: XML's nodes escape it. */
  private[numa] def content(tables: Vector[UiTable]): Seq[Node] = tables.flatMap { table =>
    val rows = table.rows.map(row => <tr>{row.map(cell => <td>{withWholeOptions(cell)}</td>)}</tr>)
    <h4>{table.title}</h4> ++ <p>{withWholeOptions(table.note)}</p> ++
      (if (rows.isEmpty) Seq.empty
       else <div style="overflow-x: auto">
          <table class="table table-bordered table-sm table-striped" style="width: auto">
            <thead><tr>{table.columns.map(column => <th>{column}</th>)}</tr></thead>
            <tbody>{rows}</tbody>
          </table>
        </div>)
  }

  /** A browser breaks lines at the dashes of an option, but not in these words. */
  private def withWholeOptions(text: String): Seq[Node] =
    text.split("(?= )|(?<= )").toSeq.map { word =>
      if (word.contains("--")) <span style="white-space: nowrap">{word}</span> else Text(word)
    }

  private def frame: Method = classOf[UIUtils.type].getMethods
    .find(_.getName == "headerSparkPage")
    .getOrElse(throw new NoSuchMethodException("UIUtils.headerSparkPage"))
}
