package io.hearth.core.topology

import java.nio.file.{Files, Path}

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.testing.Temporary

class TaskLimitsTest extends AnyFunSuite {

  private def machine(root: Path, files: (String, String)*): SysTree = {
    for ((name, text) <- files) {
      Files.createDirectories(root.resolve(name).getParent)
      Files.writeString(root.resolve(name), text)
    }
    new SysTree(root)
  }

  private val limits =
    "Limit  Soft Limit  Hard Limit  Units\nMax processes             1000   2000   processes\n"
  private val unified = Seq(
    "proc/self/mountinfo" -> "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
    "proc/self/cgroup" -> "0::/batch/job\n",
    "sys/fs/cgroup/cgroup.controllers" -> "cpu memory pids\n",
    "sys/fs/cgroup/batch/pids.max" -> "400\n",
    "sys/fs/cgroup/batch/pids.current" -> "390\n",
    "sys/fs/cgroup/batch/job/pids.max" -> "max\n",
    "proc/self/limits" -> limits,
    "proc/sys/kernel/threads-max" -> "90000\n"
  )

  test(
    "the tightest limits come first, with their values and what to do; those of no value are left out"
  ) {
    Temporary.directory { root =>
      val tree =
        machine(
          root,
          unified :+ ("proc/self/status" -> "Name:\tjava\nCapEff:\t0000000000000000\n"): _*
        )
      assert(
        TaskLimits.show(TaskLimits.of(tree)) ==
          "pids.max of the control group is 400 (390 in use now): raise it (systemd: TasksMax=; docker run " +
          "--pids-limit); the user's limit of processes (ulimit -u) is 1000: raise it " +
          "(limits.conf(5)); or use fewer executors, or fewer cores in each"
      )
    }
  }

  test("root has no limit of its own, and version 1 of the control groups has its own directory") {
    Temporary.directory { root =>
      val older = Seq(
        "proc/self/mountinfo" -> "31 24 0:27 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n",
        "proc/self/cgroup" -> "5:pids:/job\n",
        "sys/fs/cgroup/pids/job/pids.max" -> "70\n",
        "proc/self/limits" -> limits,
        "proc/self/status" -> "Name:\tjava\nCapEff:\t000001ffffffffff\n"
      )
      val found = TaskLimits.of(machine(root, older: _*))
      assert(found == Vector(TaskLimit(TaskLimit.Group, 70, None)))
    }
  }
}
