"""Counts, in an emulated machine, which node's memory each CPU's cache misses go to.

Time means nothing in an emulator, counts do: traffic.c sees each data access of a vCPU, runs it
through a small cache of its own (1 MiB, 16 ways, lines of 64 bytes, the least recently used one
goes), and counts its misses by the node of the page. It counts between two lines of the guest's
console, "numalab: count on NAME" and "numalab: count off NAME".
"""

from __future__ import annotations

import json
import mmap
import re
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from numalab import machine
from numalab.setup import LabUnavailableError
from numalab.shape import Shape

# As in traffic.c.
VCPUS, NODES = 64, 8
_HEAD = struct.Struct("=QQ")
_RANGE = struct.Struct("=QQ")
_COUNTS = struct.Struct(f"={1 + 2 * (NODES + 1)}Q")
_COUNTERS_AT = _HEAD.size + NODES * _RANGE.size
_SIZE = _COUNTERS_AT + VCPUS * _COUNTS.size

_MARK = re.compile(r"numalab: count (on|off) (\S+)")
_BLOCK = re.compile(r"(?m)^\s*mem(\d+)\s.*?0x([0-9a-f]+)")
SWITCH_SECONDS = 60  # a busy guest's vCPUs are seldom idle
_POLL_SECONDS = 0.1
#: A control reads 64 MB again and again for 12 s: its least misses, and the part counted right.
LEAST_CONTROL_MISSES = 1_000_000
CONTROL_SHARE = 0.99


@dataclass(frozen=True)
class Window:
    """What was counted between two marks.

    cpus: for each CPU its data accesses, and its misses by node, of users and of the kernel.
    """

    name: str
    seconds: float
    cpus: tuple[CpuCounts, ...]


@dataclass(frozen=True)
class CpuCounts:
    """One CPU's counts; `user` and `kernel` hold misses by the node of the page, last of none."""

    accesses: int
    user: tuple[int, ...]
    kernel: tuple[int, ...]

    def since(self, earlier: CpuCounts) -> CpuCounts:
        """Return what was counted after `earlier`."""
        return CpuCounts(
            self.accesses - earlier.accesses,
            tuple(a - b for a, b in zip(self.user, earlier.user, strict=True)),
            tuple(a - b for a, b in zip(self.kernel, earlier.kernel, strict=True)),
        )


class Board:
    """The file that the plug-in and this process share: see `struct board`."""

    def __init__(self, file: Path) -> None:
        file.write_bytes(bytes(_SIZE))
        with file.open("r+b") as opened:
            self._memory = mmap.mmap(opened.fileno(), _SIZE)

    def place(self, ranges: dict[int, tuple[int, int]]) -> None:
        """Tell the plug-in where in QEMU's addresses of RAM each node's memory lies."""
        for node, (start, end) in ranges.items():
            _RANGE.pack_into(self._memory, _HEAD.size + node * _RANGE.size, start, end)

    def begin(self) -> None:
        """Have the plug-in count; raise GuestFailedError if it does not follow."""
        self._memory[:8] = (1).to_bytes(8, "little")
        deadline = time.monotonic() + SWITCH_SECONDS
        while not _HEAD.unpack_from(self._memory)[1]:
            if time.monotonic() > deadline:
                raise machine.GuestFailedError(f"no vCPU was idle in {SWITCH_SECONDS} s")
            time.sleep(_POLL_SECONDS / 10)

    def end(self) -> None:
        """Have the plug-in count no longer."""
        self._memory[:8] = bytes(8)

    def read(self, cpus: int, nodes: int) -> list[CpuCounts]:
        """Return the counts so far of the first CPUs, for the first nodes."""
        return [self._cpu(cpu, nodes) for cpu in range(cpus)]

    def _cpu(self, cpu: int, nodes: int) -> CpuCounts:
        accesses, *misses = _COUNTS.unpack_from(self._memory, _COUNTERS_AT + cpu * _COUNTS.size)
        columns = [*range(nodes), NODES]
        user, kernel = misses[: NODES + 1], misses[NODES + 1 :]
        return CpuCounts(
            accesses, tuple(user[n] for n in columns), tuple(kernel[n] for n in columns)
        )


def count(
    shape: Shape,
    case: str,
    evidence: Path,
    limit_seconds: float,
    further: Mapping[str, object] | None = None,
) -> Iterator[Window]:
    """Run the case in the shape and yield each window when the guest has closed it.

    Raises what `machine.boot` raises, LabUnavailableError without a C compiler, and
    GuestFailedError if the plug-in cannot be switched.
    """
    with tempfile.TemporaryDirectory(prefix="traffic.") as scratch, ThreadPoolExecutor(1) as beside:
        folder = Path(scratch)
        board, monitor, log = Board(folder / "board"), folder / "monitor", evidence / "console.log"
        log.unlink(missing_ok=True)
        flags = [
            *("-plugin", f"{_compiled(folder)},board={folder / 'board'}"),
            *("-qmp", f"unix:{monitor},server=on,wait=off"),
        ]
        run = (shape, [case], evidence, limit_seconds, flags, further)
        boot = beside.submit(machine.boot, *run)
        while not monitor.exists() and not boot.done():
            time.sleep(_POLL_SECONDS)
        try:
            if not boot.done():
                blocks = _told(monitor, "human-monitor-command", {"command-line": "info ramblock"})
                board.place(_node_ranges(blocks, shape))
                yield from _windows(_marks(log, boot.done), shape, board)
            boot.result()
        finally:
            if not boot.done():
                _told(monitor, "quit", {})


def _compiled(folder: Path) -> Path:
    library = folder / "libtraffic.so"
    words = ["cc", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-o", str(library)]
    try:
        subprocess.run([*words, str(Path(__file__).with_suffix(".c"))], check=True)
    except FileNotFoundError as problem:
        raise LabUnavailableError("counting needs a C compiler: apt-get install gcc") from problem
    return library


def _told(monitor: Path, command: str, arguments: Mapping[str, str]) -> str:
    """Return what QEMU's monitor answers (QMP)."""
    with socket.socket(socket.AF_UNIX) as opened:
        opened.settimeout(SWITCH_SECONDS)
        opened.connect(str(monitor))
        with opened.makefile("rw", encoding="utf-8") as lines:
            lines.readline()  # its greeting
            for words in (
                {"execute": "qmp_capabilities"},
                {"execute": command, "arguments": arguments},
            ):
                print(json.dumps(words), file=lines, flush=True)
                answer: dict[str, object] = {}
                while "return" not in answer:  # events may come before it
                    answer = json.loads(lines.readline())
    return str(answer["return"])


def _node_ranges(blocks: str, shape: Shape) -> dict[int, tuple[int, int]]:
    """Where each node's memory lies in what `qemu_plugin_hwaddr_phys_addr` returns.

    That is the block's offset and the region's place in the machine's memory, where the nodes
    follow each other.
    """
    offsets = {int(node): int(offset, 16) for node, offset in _BLOCK.findall(blocks)}
    ranges, before = {}, 0
    for node in shape.nodes:
        size = node.memory_mb << 20
        ranges[node.id] = (offsets[node.id] + before, offsets[node.id] + before + size)
        before += size
    return ranges


def control_fault(shape: Shape, window: Window) -> str:
    """Return what is wrong with the counts of a control (cases/traffic_controls.py), or nothing."""
    own = shape.usable(shape.nodes[1])
    wanted = {"local": 1, "remote": 0}[window.name]
    misses = [window.cpus[cpu].user for cpu in own]
    right, every = sum(one[wanted] for one in misses), sum(map(sum, misses))
    if every < LEAST_CONTROL_MISSES or right < CONTROL_SHARE * every:
        return f"{window.name}: {right} of {every} misses of known memory went to node {wanted}"
    return ""


def _marks(log: Path, ended: Callable[[], bool]) -> Iterator[tuple[bool, str]]:
    """Yield (on or off, name) of each mark on the console as it comes, to the guest's end."""
    with log.open(encoding="utf-8", errors="replace") as console:
        line = ""
        while True:
            last = ended()
            line += console.readline()
            if line.endswith("\n"):
                if mark := _MARK.search(line):
                    yield mark.group(1) == "on", mark.group(2)
                line = ""
            elif last:
                return
            else:
                time.sleep(_POLL_SECONDS)


def _windows(marks: Iterable[tuple[bool, str]], shape: Shape, board: Board) -> Iterator[Window]:
    cpus, nodes = len(shape.cpus), len(shape.nodes)
    opened = None
    for on, name in marks:
        if on:
            board.begin()
            opened = time.monotonic(), board.read(cpus, nodes)
        elif opened:
            began, before = opened
            seconds, after = time.monotonic() - began, board.read(cpus, nodes)
            board.end()
            opened = None
            counted = [late.since(early) for late, early in zip(after, before, strict=True)]
            yield Window(name, round(seconds, 1), tuple(counted))


@dataclass(frozen=True)
class Counted:
    """One arm of one round; misses are of user code, in the window.

    rounds: what the workload did meanwhile. local, remote: by node of the CPU, [node][0 or 1].
    moves: how many of thread_looks looks before the window found a thread on another node than the
    look before, a second earlier.
    """

    arm: str
    repeat: int
    rounds: int
    seconds: float
    accesses: int
    local: tuple[int, ...]
    remote: tuple[int, ...]
    kernel_misses: int
    moves: int
    thread_looks: int

    @property
    def remote_share(self) -> float:
        """The part of the misses that went to another node's memory."""
        return sum(self.remote) / (sum(self.local) + sum(self.remote))


def counted(shape: Shape, arm: str, repeat: int, window: Window, evidence: Path) -> Counted:
    """Join a window with what the guest noted of the same arm, in `evidence`/result.json."""
    noted = json.loads((evidence / "result.json").read_text(encoding="ascii"))
    local, remote = [0] * len(shape.nodes), [0] * len(shape.nodes)
    for cpu, counts in enumerate(window.cpus):
        node = shape.node_of(cpu)
        local[node] += counts.user[node]
        remote[node] += sum(counts.user[: len(shape.nodes)]) - counts.user[node]
    return Counted(
        arm,
        repeat,
        noted["rounds"],
        window.seconds,
        sum(cpu.accesses for cpu in window.cpus),
        tuple(local),
        tuple(remote),
        sum(sum(cpu.kernel) for cpu in window.cpus),
        noted["moves"],
        noted["thread_looks"],
    )


def raw_line(shape: Shape, workload: str, arm: Counted) -> str:
    """Return an arm as a line of JSON."""
    return json.dumps({"shape": shape.name, "workload": workload, **asdict(arm)}) + "\n"
