package io.hearth.core.placement

/** What the kernel's view of an executor says of its plan; `text` is its name in a document. */
sealed abstract class PlacementVerdict(val text: String) extends Product with Serializable {
  override def toString: String = text
}

object PlacementVerdict {

  /** Its process has ended. */
  case object Gone extends PlacementVerdict("gone")

  /** The kernel did not let it be read. */
  case object Unreadable extends PlacementVerdict("unreadable")

  /** It is not to be bound. */
  case object Unbound extends PlacementVerdict("unbound")
  case object AsPlanned extends PlacementVerdict("as planned")

  /** So are its CPUs; the kernel did not let its memory be bound. */
  case object CpusAsPlanned extends PlacementVerdict("CPUs as planned, memory not bound")
  case object Drift extends PlacementVerdict("drift")
}
