"""The topology that each reader reported in a guest, in the form of `Shape.expected`."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from numalab.idset import format_ids, parse_ids


def hearth(evidence: Path) -> dict[str, object]:
    """What `hearth topology` read; raises ValueError with its words where it failed."""
    if (evidence / "hearth.status").read_text(encoding="ascii") != "0":
        raise ValueError((evidence / "hearth.err").read_text(encoding="utf-8"))
    read = json.loads((evidence / "hearth.out").read_text(encoding="utf-8"))
    nodes = read["nodes"]
    return {
        "packages": {package["id"]: package["cpus"] for package in read["packages"]},
        "cores": sorted(core["cpus"] for core in read["cores"]),
        "nodes": {node["id"]: node["cpus"] for node in nodes},
        "memory_mb": {node["id"]: node["memory_bytes"] // 2**20 for node in nodes},
        "distances": {
            node["id"]: [node["distances"][str(other["id"])] for other in nodes] for node in nodes
        },
        "allowed_cpus": read["allowed"]["cpus"],
        "allowed_nodes": read["allowed"]["nodes"],
    }


def kernel(evidence: Path) -> dict[str, object]:
    """What the kernel's own files say."""
    root = evidence / "kernel"
    system = root / "sys/devices/system"
    nodes = {
        int(path.name[4:]): path
        for path in sorted(system.glob("node/node*"), key=lambda path: int(path.name[4:]))
    }
    cpus = [path / "topology" for path in system.glob("cpu/cpu*") if (path / "topology").is_dir()]
    status = _text(root / "proc/self/status")
    return {
        "packages": {
            int(_text(cpu / "physical_package_id")): _text(cpu / "package_cpus_list")
            for cpu in sorted(cpus)
        },
        "cores": sorted({_text(cpu / "core_cpus_list") for cpu in cpus}),
        "nodes": {node: _text(path / "cpulist") for node, path in nodes.items()},
        "memory_mb": {node: _memory_mb(path / "meminfo") for node, path in nodes.items()},
        "distances": {
            node: [int(word) for word in _text(path / "distance").split()]
            for node, path in nodes.items()
        },
        "allowed_cpus": _field(status, "Cpus_allowed_list"),
        "allowed_nodes": _field(status, "Mems_allowed_list"),
    }


def hwloc(evidence: Path) -> dict[str, object]:
    """What hwloc's lstopo wrote as XML."""
    tree = ElementTree.fromstring((evidence / "lstopo.out").read_text(encoding="utf-8"))
    objects = {
        kind: tree.findall(f".//object[@type='{kind}']")
        for kind in ("Package", "Core", "NUMANode", "Machine")
    }
    nodes = sorted(objects["NUMANode"], key=lambda node: int(node.get("os_index", "")))
    return {
        "packages": {
            int(p.get("os_index", "")): _cpus(p, "complete_cpuset") for p in objects["Package"]
        },
        "cores": sorted(_cpus(core, "complete_cpuset") for core in objects["Core"]),
        "nodes": _node_cpus(nodes),
        "memory_mb": {
            int(n.get("os_index", "")): int(n.get("local_memory", "0")) // 2**20 for n in nodes
        },
        "distances": _distances(tree),
        "allowed_cpus": _cpus(objects["Machine"][0], "allowed_cpuset"),
        "allowed_nodes": _cpus(objects["Machine"][0], "allowed_nodeset"),
    }


def _node_cpus(nodes: list[ElementTree.Element]) -> dict[int, str]:
    """CPUs by node. hwloc knows no node without CPUs: it gives a memory-only node those of the
    object that it hangs it on, which another node has already."""
    by_node: dict[int, str] = {}
    for node in nodes:
        cpus = _cpus(node, "complete_cpuset")
        by_node[int(node.get("os_index", ""))] = "" if cpus in by_node.values() else cpus
    return by_node


def _distances(tree: ElementTree.Element) -> dict[int, list[int]]:
    for matrix in tree.findall(".//distances2"):
        if matrix.get("type") == "NUMANode":
            ids = [int(n) for e in matrix.findall("indexes") for n in (e.text or "").split()]
            values = [int(n) for e in matrix.findall("u64values") for n in (e.text or "").split()]
            rows = [values[at : at + len(ids)] for at in range(0, len(values), len(ids))]
            return dict(zip(ids, rows, strict=True))
    return {}


def _cpus(element: ElementTree.Element, attribute: str) -> str:
    """A set of an hwloc object: comma-separated words of 32 bits, the highest first."""
    number = 0
    for word in element.get(attribute, "").split(","):
        number = number << 32 | int(word or "0", 16)
    return format_ids(bit for bit in range(number.bit_length()) if number >> bit & 1)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip()


def _field(status: str, name: str) -> str:
    match = re.search(rf"^{name}:\s*(\S*)", status, re.MULTILINE)
    return format_ids(parse_ids(match.group(1))) if match else ""


def _memory_mb(meminfo: Path) -> int:
    match = re.search(r"MemTotal:\s*(\d+) kB", _text(meminfo))
    return int(match.group(1)) // 1024 if match else 0
