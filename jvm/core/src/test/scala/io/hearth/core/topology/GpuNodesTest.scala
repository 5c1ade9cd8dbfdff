package io.hearth.core.topology

import java.nio.file.Files

import org.scalatest.funsuite.AnyFunSuite

import io.hearth.core.testing.Temporary

class GpuNodesTest extends AnyFunSuite {

  private def withTree(check: GpuNodes => Unit): Unit = Temporary.directory { root =>
    def write(path: String, text: String) = {
      Files.createDirectories(root.resolve(path).getParent)
      Files.writeString(root.resolve(path), text)
    }
    for ((pci, node, uuid) <- Seq(("0000:3b:00.0", 0, "GPU-a1"), ("0000:af:00.0", 1, "GPU-b2"))) {
      write(s"sys/bus/pci/devices/$pci/numa_node", s"$node\n")
      write(s"proc/driver/nvidia/gpus/$pci/information", s"Model: \t X\nGPU UUID: \t $uuid\n")
    }
    write("sys/bus/pci/devices/0000:01:00.0/numa_node", "-1\n")
    check(new GpuNodes(new SysTree(root)))
  }

  test("a GPU's node is known by its PCI address, its UUID and its number in nvidia-smi") {
    withTree { gpus =>
      assert(gpus.nodeOf("0000:AF:00.0").contains(1))
      assert(gpus.nodeOf("00000000:AF:00.0").contains(1))
      assert(gpus.nodeOf("GPU-b2").contains(1))
      assert(gpus.nodeOf("0").contains(0) && gpus.nodeOf("1").contains(1))
    }
  }

  test("where the kernel does not tell a GPU's node, none is invented") {
    withTree { gpus =>
      for (address <- Seq("0000:01:00.0", "0000:77:00.0", "2", "GPU-c3", "", "../../etc"))
        assert(gpus.nodeOf(address).isEmpty, address)
    }
  }
}
