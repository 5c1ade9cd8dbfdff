package io.hearth.driver

import java.nio.file.Path
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

/**
 * The driver's own temporary directories, which go when it ends: each is named to the reaper once.
 *
 * @param find those that there are now
 */
final class DriverDirectories(find: () => Vector[Path], reaper: Reaper) {
  private val named = ConcurrentHashMap.newKeySet[Path]()

  /** @return whether there are new ones */
  def nameNew(): Boolean = {
    val fresh = find().filter(named.add)
    fresh.foreach(reaper.removeLater)
    fresh.nonEmpty
  }

  def all: Vector[Path] = named.asScala.toVector.sorted
}
