package io.hearth.core.files

import java.nio.file.Path

import org.scalatest.funsuite.AnyFunSuite

class MountpointTest extends AnyFunSuite {
  private val table =
    """22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
      |30 22 0:25 / /dev/shm rw,nosuid,nodev,noexec - tmpfs tmpfs rw
      |31 22 0:26 / /my\040disk rw,noexec - ext4 /dev/sdb1 rw
      |32 22 0:27 / /data rw,noexec - ext4 /dev/sdc1 rw
      |33 32 0:28 / /data rw - ext4 /dev/sdd1 rw
      |""".stripMargin

  private def noexec(path: String) = Mountpoint.of(Path.of(path), table).exists(_.noexec)

  test("a path lies on the innermost mount above it, of several at one place on the last") {
    assert(noexec("/dev/shm") && noexec("/dev/shm/hearth-1/0/tmp") && noexec("/my disk/x"))
    assert(!noexec("/dev/shmem") && !noexec("/tmp") && !noexec("/data/x"))
    assert(
      Mountpoint.of(Path.of("/dev/shm/a"), table).map(_.directory).contains(Path.of("/dev/shm"))
    )
  }

  test("here programs may be run from where Java is, also for what is not there yet") {
    val java = Path.of(sys.props("java.home"))
    assert(Mountpoint.noexec(java).isEmpty && Mountpoint.noexec(java.resolve("not/there")).isEmpty)
    assert(Mountpoint.noexec(Path.of("/proc/self/none")).forall(_ == Path.of("/proc")))
  }
}
