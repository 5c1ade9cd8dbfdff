package io.hearth.core.topology

import java.nio.file.{Files, Path}

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.UserError
import io.hearth.core.testing.{Child, Temporary}
import io.hearth.core.topology.Fixture.Cpu

class GathererTest extends AnyFunSuite {

  private def captured[A](root: Path)(use: Path => A): A = Temporary.directory { directory =>
    use(new Gatherer(root).write(directory.resolve("machine.tar.gz"), force = false).output)
  }

  private def reread(root: Path): Topology =
    captured(root)(file => TopologyReader.load(Some(file.toString)))

  for ((name, fixture) <- Machines.small + ("GPU driver" -> Machines.powerWithGpuDriver))
    test(s"a capture of $name reads back to the same topology") {
      fixture.in { root =>
        val read = TopologyReader.read(root, "")
        assert(reread(root).copy(source = "") == read)
      }
    }

  // A virtual machine's memory may grow and shrink between two looks.
  test("a capture of this machine reads back to the same topology, what changes meanwhile aside") {
    def still(t: Topology) = t.copy(
      source = "",
      nodes = t.nodes.map(_.copy(memoryBytes = 0, freeBytes = None)),
      allowed = t.allowed.copy(
        cpuQuota = t.allowed.cpuQuota.map(quota => CpuQuota(quota.cpus)),
        taskLimits = t.allowed.taskLimits.map(_.copy(current = None))
      )
    )
    assert(still(reread(Path.of("/"))) == still(TopologyReader.live()))
  }

  test("a capture names no user, container, host, serial number or address") {
    val secrets = Vector("alice", "c0ffee", "myhost", "SER123", "001122334455", "nfs-server")
    val fixture = Machines.nestedCgroup2
      .cgroup2("/user-alice/docker-c0ffee", "/user-alice/memory.max" -> "1073741824")
      .set(
        "proc/self/mounts",
        "nfs-server:/home /home nfs rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0"
      )
      .set("proc/self/cpuset", "/user-alice/docker-c0ffee")
      .set("proc/self/status", "Name: alice\nCpus_allowed_list:\t0-7\nMems_allowed_list:\t0-1")
      .set("proc/cpuinfo", "processor : 0\nSerial : SER123\nHardware : myhost\n")
      .set("proc/hwloc-nofile-info", "HostName: myhost\nArchitecture: x86_64")
      .set("sys/class/dmi/id/product_serial", "SER123")
      .set("sys/class/net/enx001122334455/device/numa_node", "1")
      .set("sys/class/net/enx001122334455/address", "00:11:22:33:44:55")
    fixture.in { root =>
      captured(root) { file =>
        val all = Child.run(Vector("tar", "-xzOf", file.toString)).out +
          Child.run(Vector("tar", "-tvzf", file.toString)).out
        assert(secrets.filter(all.contains).isEmpty)
        val t = TopologyReader.load(Some(file.toString))
        assert(t.devices.map(d => d.name -> d.node) == Vector("enx-0" -> Some(1)))
        assert(t.architecture.contains("x86_64") && t.allowed.cpus.toString == "0-7")
        assert(t.allowed.memoryLimitBytes.contains(1L << 30))
      }
    }
  }

  test(
    "a capture holds the settings that the doctor judges, and nothing beside them in the same files"
  ) {
    val fixture = Machines.twoNodes
      .set("proc/sys/vm/swappiness", "60\n")
      .set("proc/sys/kernel/hostname", "myhost")
      .set("proc/cmdline", "root=UUID=c0ffee ip=10.0.0.1 token=SER123")
      .set("proc/version", "Linux version 6.1.0-myhost (alice@myhost) #1 SMP PREEMPT_RT Debian")
      .set("proc/vmstat", "nr_free_pages 1\noom_kill 3\n")
      .set("proc/stat", "cpu 1 2 3\ncpu0 1 2 3\n")
      .set(s"$Cpu/cpufreq/policy0/scaling_governor", "performance\n")
    fixture.in { root =>
      captured(root) { file =>
        def text(path: String) =
          Child.run(Vector("tar", "-xzOf", file.toString, s"machine/$path")).out
        assert(text("proc/sys/vm/swappiness").trim == "60")
        assert(text("proc/vmstat").trim == "oom_kill 3")
        assert(text("proc/stat").trim == "cpu 1 2 3")
        assert(text(s"$Cpu/cpufreq/policy0/scaling_governor").trim == "performance")
        val all = Child.run(Vector("tar", "-xzOf", file.toString)).out
        assert(Vector("myhost", "alice", "c0ffee", "SER123").filter(all.contains).isEmpty)
      }
    }
  }

  test("an existing file is kept unless --force says otherwise") {
    Machines.twoNodes.in { root =>
      captured(root) { file =>
        Files.writeString(file, "mine")
        val error = intercept[UserError](new Gatherer(root).write(file, force = false))
        assert(error.getMessage.contains("it already exists; use --force"))
        assert(Files.readString(file) == "mine")
        assert(new Gatherer(root).write(file, force = true).bytes > 100)
      }
    }
  }

  test("a place that cannot be written is one clear error and leaves nothing behind") {
    Machines.twoNodes.in { root =>
      Temporary.directory { directory =>
        val gatherer = new Gatherer(root)
        def message(path: Path) =
          intercept[UserError](gatherer.write(path, force = true)).getMessage
        assert(message(directory).contains("it is a directory"))
        assert(message(directory.resolve("no/such.tar.gz")).contains("no is not a directory"))
        assert(
          message(Path.of("/proc/hearth.tar.gz")).contains("cannot be written to /proc/hearth")
        )
        Files.createDirectories(directory.resolve("x.tar.gz"))
        assert(directory.toFile.list.toVector == Vector("x.tar.gz"))
      }
    }
  }

  test("offline CPUs and those without a topology stay what they are") {
    val fixture = Machines.twoNodes
      .offline(IdSet(3))
      .without(s"$Cpu/cpu9/topology")
      .set(s"$Cpu/cpu9/online", "1")
    fixture.in(root => assert(reread(root).copy(source = "") == TopologyReader.read(root, "")))
  }
}
