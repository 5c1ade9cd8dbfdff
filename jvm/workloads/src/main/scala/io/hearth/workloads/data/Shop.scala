package io.hearth.workloads.data

import java.nio.charset.StandardCharsets.UTF_8
import java.time.LocalDate

import org.apache.parquet.io.api.{Binary, RecordConsumer}

import io.hearth.workloads.Settings
import io.hearth.workloads.data.ColumnWriter.field

/** Two tables; each number is an order with its items. */
object Shop extends Generator {
  val name = "shop"
  val version = 1
  val summary = "two tables of an e-commerce site: orders, and items that refer to them"
  val distribution =
    "items per order: 1 to 7, equally often; buyers (one for four orders) and goods (one for a hundred " +
      "items) with a density of 1 / (2 sqrt(x)); a good has one price (after the e-commerce tables " +
      "of BigDataBench: Wang et al. 2014)"

  private val orders =
    "message orders { required int64 order_id; required int64 buyer_id; " +
      "required int32 order_date (DATE); required binary status (STRING); }"

  private val items =
    "message items { required int64 item_id; required int64 order_id; required int64 goods_id; " +
      "required int32 quantity; required int64 price (DECIMAL(10,2)); " +
      "required int64 amount (DECIMAL(12,2)); }"

  def tables(seed: Long, settings: Settings, numbers: Long): Seq[Table] = Seq(
    new ColumnTable("orders", orders, new OrderRows(numbers, Draws.of(seed, "shop-orders"))),
    new ColumnTable("items", items, new ItemRows(numbers, seed))
  )

  override def facts: (Settings, Long) => Map[String, Long] = (_, orders) => Map("orders" -> orders)
}

final private class OrderRows(orders: Long, draws: Draws) extends ColumnWriter {
  private val buyers = math.max(1, orders / 4)

  def write(number: Long, item: Int, to: RecordConsumer): Unit = {
    draws.seat(number)
    val u = draws.real()
    field(to, "order_id", 0)(to.addLong(number + 1))
    field(to, "buyer_id", 1)(to.addLong((u * u * buyers).toLong + 1))
    field(to, "order_date", 2)(to.addInteger(OrderRows.FirstDay + draws.below(OrderRows.Days)))
    val state = OrderRows.States(draws.below(OrderRows.States.length))
    // Of its own for each row: reading a Binary is not safe in two threads at a time.
    field(to, "status", 3)(to.addBinary(Binary.fromConstantByteArray(state)))
  }
}

private object OrderRows {
  private val FirstDay = LocalDate.of(2020, 1, 1).toEpochDay.toInt
  private val Days = LocalDate.of(2023, 12, 31).toEpochDay.toInt - FirstDay + 1

  private val States =
    Array("placed", "paid", "shipped", "delivered", "returned").map(_.getBytes(UTF_8))
}

/**
 * Of every seven consecutive orders one has one item, one two, up to seven, shuffled: so the first
 * item of any order is known without counting those before it.
 */
final private class ItemRows(orders: Long, seed: Long) extends ColumnWriter {
  private val goods = math.max(10, orders * 4 / 100)
  private val shuffles = Draws.of(seed, "shop-counts")
  private val draws = Draws.of(seed, "shop-items")
  private val counts = new Array[Int](ItemRows.Group)
  private var group = -1L

  override def count(number: Long): Int = {
    shuffle(number / ItemRows.Group)
    counts((number % ItemRows.Group).toInt)
  }

  def write(number: Long, item: Int, to: RecordConsumer): Unit = {
    val id = first(number) + item
    draws.seat(id)
    val u = draws.real()
    val good = (u * u * goods).toLong + 1
    val quantity = 1 + draws.below(20)
    val cents = ItemRows.MinCents + (Draws.mix(good) >>> 1) % ItemRows.Prices
    field(to, "item_id", 0)(to.addLong(id))
    field(to, "order_id", 1)(to.addLong(number + 1))
    field(to, "goods_id", 2)(to.addLong(good))
    field(to, "quantity", 3)(to.addInteger(quantity))
    field(to, "price", 4)(to.addLong(cents))
    field(to, "amount", 5)(to.addLong(cents * quantity))
  }

  /** The order's first item, from 1. */
  private def first(number: Long): Long = {
    shuffle(number / ItemRows.Group)
    var before = number / ItemRows.Group * ItemRows.GroupItems + 1
    var at = 0
    while (at < number % ItemRows.Group) {
      before += counts(at)
      at += 1
    }
    before
  }

  private def shuffle(wanted: Long): Unit = if (group != wanted) {
    shuffles.seat(wanted)
    for (at <- 0 until ItemRows.Group) {
      val other = shuffles.below(at + 1)
      counts(at) = counts(other)
      counts(other) = at + 1
    }
    group = wanted
  }
}

private object ItemRows {
  val Group = 7
  val GroupItems = 28
  val MinCents = 99L
  val Prices = 99901L
}
