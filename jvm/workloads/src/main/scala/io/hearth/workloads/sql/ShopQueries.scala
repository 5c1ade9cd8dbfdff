package io.hearth.workloads.sql

import java.time.LocalDate

import scala.util.Try

import com.fasterxml.jackson.databind.node.ObjectNode

import io.hearth.workloads.{Input, Job, JobRun, Json, Parameter}

/** Sums up the order items of each article: one scan and a grouping (BigDataBench; Awan 2016). */
object Aggregation extends Job {
  val name = "sql-aggregation"
  val family = "sql"
  val summary = "number of sales, pieces and revenue of each article of a shop"
  val stresses = "scan of one table, hash aggregation with many groups, decimal arithmetic"
  val published = "6 GB of e-commerce tables (Awan 2016)"
  val parameters = Seq.empty[Parameter]
  val inputs = Seq(Input("shop", "shop"))

  private val query =
    """SELECT goods_id, count(*) AS items, sum(quantity) AS pieces, sum(amount) AS revenue,
      |       avg(price) AS mean_price
      |FROM items
      |GROUP BY goods_id""".stripMargin

  def run(run: JobRun): ObjectNode = {
    Shop.views(run)
    run.phase("aggregate") {
      run.session.sql(query).write.parquet(run.output("goods"))
    }
    Json.obj()
  }
}

/** Joins orders with their items and sums by buyer (BigDataBench; Awan 2016). */
object Join extends Job {
  val name = "sql-join"
  val family = "sql"
  val summary = "what each buyer of a shop bought since a day: orders joined with their items"
  val stresses = "a shuffled join of two large tables, then a second shuffle for the grouping"
  val published = "6 GB of e-commerce tables (Awan 2016)"
  val parameters = Seq(
    Parameter(
      "since",
      "2021-01-01",
      "counts orders from this day on",
      check =
        day => if (Try(LocalDate.parse(day)).isSuccess) None else Some("a day such as 2021-01-01")
    )
  )
  val inputs = Seq(Input("shop", "shop"))

  private val query =
    """SELECT buyer_id, count(*) AS items, sum(amount) AS total
      |FROM orders
      |JOIN items ON orders.order_id = items.order_id
      |WHERE order_date >= to_date(:since)
      |GROUP BY buyer_id""".stripMargin

  def run(run: JobRun): ObjectNode = {
    Shop.views(run)
    run.phase("join") {
      run.session
        .sql(query, Map("since" -> run.settings.text("since")))
        .write
        .parquet(run.output("buyers"))
    }
    Json.obj()
  }
}

private object Shop {

  /** Registers the tables with SQL, which reads their footers but no rows. */
  def views(run: JobRun): Unit = Seq("orders", "items").foreach { table =>
    run.session.read.parquet(s"${run.input("shop")}/$table").createOrReplaceTempView(table)
  }
}
