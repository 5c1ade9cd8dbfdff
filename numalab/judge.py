"""Judges a process's placement from the raw /proc text that a guest saved (`guest/capture.py`).

Pure: reads text, decides, says what is wrong in words. Only anonymous memory counts: pages of
files (jars, libjvm) lie where the page cache has them, whoever maps them.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from numalab.idset import format_ids, parse_ids

# Part of the anonymous bytes that must lie on the process's own node. All of it: a bound policy
# never falls back to another node (set_mempolicy(2), MPOL_BIND), and it is in force before exec.
LOCAL_PART = 1.0
# Less anonymous memory than this proves nothing (a JVM holds more before its first task).
LEAST_BYTES = 8 * 2**20


@dataclass(frozen=True)
class Thread:
    """A thread's name, allowed CPUs, and last CPU (fields 2, 39 of /proc/PID/task/TID/stat)."""

    name: str
    allowed: frozenset[int]
    last_cpu: int


@dataclass(frozen=True)
class Observed:
    """What the kernel said of one process; anonymous memory in bytes by node."""

    name: str
    cpus: frozenset[int]
    memory_nodes: frozenset[int]
    policies: Counter[str]
    anonymous: Counter[int]
    threads: tuple[Thread, ...]


def observe(directory: Path) -> Observed:
    """Reads one captured process."""
    status = (directory / "status").read_text(encoding="utf-8")
    maps = (directory / "numa_maps").read_text(encoding="utf-8").splitlines()
    threads = (directory / "threads").read_text(encoding="utf-8").splitlines()
    return Observed(
        name=str(directory),
        cpus=_allowed(status, "Cpus_allowed_list"),
        memory_nodes=_allowed(status, "Mems_allowed_list"),
        policies=Counter(line.split()[1] for line in maps),
        anonymous=sum((_anonymous(line) for line in maps), Counter()),
        threads=tuple(_thread(line) for line in threads),
    )


def _allowed(status: str, name: str) -> frozenset[int]:
    match = re.search(rf"^{name}:\s*(\S+)", status, re.MULTILINE)
    if match is None:
        raise ValueError(f"no {name} in a process's status")
    return parse_ids(match.group(1))


def _anonymous(line: str) -> Counter[int]:
    """Bytes by node of one mapping of numa_maps(5); nothing for a file's."""
    words = line.split()
    if "anon=" not in line or any(word.startswith("file=") for word in words):
        return Counter()
    page = re.search(r"kernelpagesize_kB=(\d+)", line)
    size = int(page.group(1)) * 1024 if page else 4096
    counts = (re.fullmatch(r"N(\d+)=(\d+)", word) for word in words)
    return Counter({int(m.group(1)): int(m.group(2)) * size for m in counts if m})


def _thread(line: str) -> Thread:
    allowed, stat = line.split("\t", 1)
    head, _, tail = stat.rpartition(")")
    return Thread(head.partition("(")[2], parse_ids(allowed), int(tail.split()[39 - 3]))


def faults(
    process: Observed, cpus: frozenset[int], node: int, *, by_cpuset: bool = False
) -> list[str]:
    """What is wrong with a process that should run on exactly these CPUs, memory on this node.

    by_cpuset: whether a cpuset is to hold its memory there, in place of a memory policy.
    """
    problems = []
    if process.cpus != cpus:
        problems.append(f"allowed CPUs are {format_ids(process.cpus)}, not {format_ids(cpus)}")
    strays = [thread for thread in process.threads if not thread.allowed <= cpus]
    if strays or not process.threads:
        problems.append(f"{len(strays)} of {len(process.threads)} threads may leave these CPUs")
    ran = {thread.last_cpu for thread in process.threads} - cpus
    if ran:
        problems.append(f"threads last ran on CPUs {format_ids(ran)}")
    if by_cpuset and process.memory_nodes != {node}:
        problems.append(f"its cpuset allows memory nodes {format_ids(process.memory_nodes)}")
    if not by_cpuset and set(process.policies) != {f"bind:{node}"}:
        problems.append(f"memory policies are {dict(process.policies)}, not bind:{node} alone")
    problems += _memory_faults(process, node)
    return [f"{process.name}: {problem}" for problem in problems]


def _memory_faults(process: Observed, node: int) -> list[str]:
    total = sum(process.anonymous.values())
    if total < LEAST_BYTES:
        return [f"only {total} anonymous bytes: too few to judge by"]
    if process.anonymous[node] < LOCAL_PART * total:
        return [f"anonymous bytes by node are {dict(process.anonymous)}, not all on node {node}"]
    return []
