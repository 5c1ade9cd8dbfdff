package io.hearth.core.placement

/**
 * What `numa_maps` says of a process, summed over its anonymous mappings, and those of files that are
 * memory: the heap of ZGC, huge pages, anonymous memory shared with child processes. What is mapped several
 * times counts as often, as by ZGC up to Java 20.
 *
 * @param policies number of these mappings under each memory policy
 * @param anonymousBytes their bytes on each node
 */
final case class NumaMaps(policies: Map[String, Int], anonymousBytes: Map[Int, Long])

object NumaMaps {

  val empty: NumaMaps = NumaMaps(Map.empty, Map.empty)

  /** @param lines of `/proc/PID/numa_maps`; mappings of files on a file system are left out */
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
    fields.length > 1 && fields.find(_.startsWith("file=")).forall { field =>
      fields.contains("huge") || Memory.matches(field.drop("file=".length))
    }

  /**
   * Files without a name, as the kernel shows them: memfd_create(2), the heap of ZGC among them; huge pages
   * (mm/hugetlb.c); shared anonymous memory (mm/shmem.c); those of O_TMPFILE (open(2)), such as the heap of
   * -XX:AllocateHeapAt. What processes share with others, of other nodes perhaps, has had a name, as UCX's.
   */
  private val Memory =
    """(/memfd:.*|/anon_hugepage|/dev/zero|/.*/#\d+)\\040\(deleted\)""".r

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
