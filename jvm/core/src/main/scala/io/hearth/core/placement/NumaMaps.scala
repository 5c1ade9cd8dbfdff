package io.hearth.core.placement

/**
 * What `numa_maps` says of a process, summed over its mappings.
 *
 * @param policies number of anonymous mappings under each memory policy
 * @param anonymousBytes bytes of anonymous mappings on each node
 */
final case class NumaMaps(policies: Map[String, Int], anonymousBytes: Map[Int, Long])

object NumaMaps {

  private val empty = NumaMaps(Map.empty, Map.empty)

  /** @param lines of `/proc/PID/numa_maps`; file mappings are left out */
  def summarise(lines: Iterator[String]): NumaMaps =
    lines.map(_.split(' ')).filter(isAnonymous).foldLeft(empty) { (sum, fields) =>
      val pageBytes = fields.iterator.collectFirst(kernelPageBytes).getOrElse(4096L)
      val pages = fields.iterator.collect(pagesOnNode)
      NumaMaps(
        sum.policies.updatedWith(fields(1))(n => Some(n.getOrElse(0) + 1)),
        pages.foldLeft(sum.anonymousBytes) { case (bytes, (node, count)) =>
          bytes.updated(node, bytes.getOrElse(node, 0L) + count * pageBytes)
        }
      )
    }

  private def isAnonymous(fields: Array[String]): Boolean =
    fields.length > 1 && !fields.exists(_.startsWith("file="))

  private val kernelPageBytes: PartialFunction[String, Long] = {
    case field if field.startsWith("kernelpagesize_kB=") =>
      field.substring(field.indexOf('=') + 1).toLong * 1024
  }

  /** `N0=512`: 512 pages on node 0. */
  private val pagesOnNode: PartialFunction[String, (Int, Long)] = {
    case field if field.startsWith("N") && field.indexOf('=') > 1 =>
      val at = field.indexOf('=')
      field.substring(1, at).toInt -> field.substring(at + 1).toLong
  }
}
