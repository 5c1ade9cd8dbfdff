package io.hearth.core.launch

import java.nio.file.{Files, Path}

object Mounts {
  private val MaxLinks = 40 // path_resolution(7)

  /**
   * What is mounted so that all of it can be reached: what is there, the places to which links lead, and
   * of what hearth itself wants nothing twice.
   *
   * @param chosen by the user, who has the last word on what may be written
   */
  def combined(wanted: Iterable[Mount], chosen: Iterable[Mount] = Vector.empty): Vector[Mount] = {
    val users = followed(chosen)
    val hearths = followed(wanted)
    def covered(path: Path, writable: Boolean) =
      Iterator
        .iterate(path.getParent)(_.getParent)
        .takeWhile(Option(_).nonEmpty)
        .flatMap(hearths.get)
        .exists(_ || !writable)
    val needed = hearths.filterNot { case (path, writable) => covered(path, writable) }
    (needed ++ users).toVector.map { case (path, writable) => Mount(path, writable) }.sortBy(_.path)
  }

  private def followed(mounts: Iterable[Mount]): Map[Path, Boolean] = mounts
    .filter(mount => Files.exists(mount.path))
    .flatMap(mount => hops(mount.path.normalize).map(_ -> mount.writable))
    .filter { case (path, _) => Mount.possible(path) }
    .groupMapReduce(_._1)(_._2)(_ || _)

  /** A path, and each that it becomes as its links are followed one by one. */
  private def hops(path: Path): Vector[Path] = {
    def next(at: Path): Option[Path] = (1 to at.getNameCount)
      .map(n => at.getRoot.resolve(at.subpath(0, n)))
      .find(Files.isSymbolicLink)
      .map(link =>
        link.resolveSibling(Files.readSymbolicLink(link)).resolve(link.relativize(at)).normalize
      )
    Vector.unfold(Option(path))(_.map(at => at -> next(at))).take(MaxLinks)
  }
}
