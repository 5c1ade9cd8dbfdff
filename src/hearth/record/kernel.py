"""Readers of the kernel's text files under /proc and /sys: text in, plain values out.

Every function takes the text, so that captured trees and the live machine share one path.
Formats: proc(5), Documentation/filesystems/proc.rst.
"""

import re
from pathlib import Path
from typing import NamedTuple

#: Fields of /proc/stat's CPU lines that are kept; guest time is inside user time already.
CPU_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_VMSTAT = re.compile(
    r"^(numa_\w+|pgmigrate_\w+|thp_fault_\w+|thp_collapse_alloc\w*|pgmajfault) (\d+)",
    re.MULTILINE,
)
_SWITCHES = "voluntary_ctxt_switches:"  # and, in the next line, nonvoluntary_ctxt_switches


class Stat(NamedTuple):
    """/proc/PID/stat or /proc/PID/task/TID/stat: times in clock ticks, memory in pages."""

    comm: str
    state: str
    parent: int
    minflt: int
    majflt: int
    utime: int
    stime: int
    start_ticks: int
    cpu: int


def parse_stat(text: str) -> Stat:
    """Parse /proc/PID/stat; the command's name is in brackets, and may hold blanks and brackets."""
    open_at, close_at = text.index("("), text.rindex(")")
    rest = text[close_at + 2 :].split()
    return Stat(  # rest[0] is field 3
        comm=text[open_at + 1 : close_at],
        state=rest[0],
        parent=int(rest[4 - 3]),
        minflt=int(rest[10 - 3]),
        majflt=int(rest[12 - 3]),
        utime=int(rest[14 - 3]),
        stime=int(rest[15 - 3]),
        start_ticks=int(rest[22 - 3]),
        cpu=int(rest[39 - 3]),
    )


def parse_status(text: str) -> dict[str, str]:
    """Parse /proc/PID/status as it stands: names to values, `VmRSS` to `1752 kB`."""
    pairs = (line.partition(":") for line in text.splitlines())
    return {name: value.strip() for name, _, value in pairs}


def parse_switches(text: str) -> tuple[int, int]:
    """Parse (voluntary, involuntary) context switches of a thread's status."""
    words = text[text.index(_SWITCHES) :].split()
    return int(words[1]), int(words[3])


def kilobytes(fields: dict[str, str], name: str) -> int | None:
    """Return a memory field of /proc/PID/status in kB.

    None where the process has none (a zombie).
    """
    value = fields.get(name)
    return int(value.split()[0]) if value else None


def parse_numbers(text: str) -> dict[str, int]:
    """Parse `name: number` or `name number` lines, such as /proc/PID/io and numastat."""
    pairs = (line.replace(":", " ").split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) >= 2}


def parse_cpus(text: str) -> dict[str, list[int]]:
    """Parse the ticks of CPU_FIELDS per CPU of /proc/stat; the sum line `cpu` is left out."""
    cpus = {}
    for line in text.splitlines():
        name, *values = line.split()
        if name.startswith("cpu") and name != "cpu":
            cpus[name[3:]] = [int(value) for value in values[: len(CPU_FIELDS)]]
    return cpus


def parse_vmstat(text: str) -> dict[str, int]:
    """Parse /proc/vmstat's counts of NUMA, migration and huge pages, in pages or events."""
    return {name: int(value) for name, value in _VMSTAT.findall(text)}


def parse_numa_maps(text: str) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
    """Parse (kB by node and kind, number of mappings by memory policy) of /proc/PID/numa_maps.

    Kinds: `anon_kb`, mappings without a file (heap, stacks, what the JVM reserves); `file_kb`,
    mappings of files, which lie where the page cache has them; `huge_kb`, hugetlbfs.
    """
    nodes: dict[str, dict[str, int]] = {}
    policies: dict[str, int] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) < 2:
            continue
        policies[words[1]] = policies.get(words[1], 0) + 1
        kind, page_kb = _mapping_kind(words)
        for word in words[2:]:
            if word[0] == "N" and word[1:2].isdigit():
                node, _, pages = word[1:].partition("=")
                of_node = nodes.setdefault(node, {"anon_kb": 0, "file_kb": 0, "huge_kb": 0})
                of_node[kind] += int(pages) * page_kb
    return nodes, policies


def _mapping_kind(words: list[str]) -> tuple[str, int]:
    size = next((int(w[18:]) for w in words if w.startswith("kernelpagesize_kB=")), 4)
    if "huge" in words:
        return "huge_kb", size
    has_file = any(word.startswith("file=") for word in words)
    return ("file_kb" if has_file else "anon_kb"), size


def node_ids(sys_root: Path) -> list[str]:
    """Return the ids of online NUMA nodes, as the kernel numbers them."""
    folder = sys_root / "devices" / "system" / "node"
    names = (path.name[4:] for path in folder.glob("node[0-9]*"))
    return sorted(names, key=int)


def cpus_of_nodes(sys_root: Path) -> dict[str, str]:
    """Return the kernel's list of the CPUs of each node."""
    folder = sys_root / "devices" / "system" / "node"
    ids = node_ids(sys_root)
    return {n: (folder / f"node{n}" / "cpulist").read_text().strip() for n in ids}
