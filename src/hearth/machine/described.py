"""Machines that other tools have described: the output of `lscpu` and of `numactl -H` in a file."""

import os
import re
import select
from dataclasses import dataclass
from pathlib import Path

from hearth.base.errors import UserError
from hearth.base.ids import parse_ids, show_ids

_MOST_BYTES = 1 << 20
#: For the next words; lscpu and numactl take less than a second.
_PIPE_MS = 30_000
_LSCPU = re.compile(
    r"^[ \t]*(Architecture|(?:Thread|Core)\(s\) per (?:core|socket)|Socket\(s\)): +(\S+)", re.M
)
_ARCHITECTURE = "(?:x86_64|aarch64|ppc64le)"
#: lscpu translates its words, but for a few languages' `Architecture`.
_LSCPU_BEGINS = re.compile(rf"^[ \t]*\w+ ?: +{_ARCHITECTURE}[ \t\r]*$", re.M)
_NUMACTL_BEGINS = re.compile(r"^[ \t]*available: \d+ nodes?", re.M)
_NODE = re.compile(r"^[ \t]*node (\d+) (cpus|size): ?(.*)$", re.M)
_DISTANCES = re.compile(r"^[ \t]*(\d+): +([\d ]+)$", re.M)
_GATHER = "capture the machine with 'hearth topology --capture FILE'"
#: Nodes whose sizes differ by no more have the smallest: firmware and kernel take some of one.
_SAME_SIZE_FACTOR = 1.05


@dataclass(frozen=True)
class _Cpus:
    """What lscpu tells."""

    packages: int
    cores: int  #: of the machine
    threads: int
    architecture: str | None

    @property
    def words(self) -> str:
        """The clauses of a description of one node."""
        parts = [
            _of(self.packages, "package"),
            f"{_of(self.cores, 'core')} x {_of(self.threads, 'thread')}",
        ]
        return ", ".join(parts + ([self.architecture] if self.architecture else []))


def machine_source(text: str) -> str:
    """Return what `--machine` names as hearth reads it: a capture's path, or a description.

    The output of `numactl -H`, of `lscpu`, or of both becomes a description, whether it is in a
    file, comes through a pipe or is `text` itself. Raises UserError for one that says too little.
    """
    if "\n" in text and not _is_there(text):
        return _described(text, "...") if _is_printed(text) else " ".join(text.split())
    file = Path(text)
    try:
        piped = file.is_fifo()
        if not piped and (not file.is_file() or file.stat().st_size > _MOST_BYTES):
            return text
        output = (_piped(file) if piped else _start_of(file)).decode("utf-8", "replace")
    except OSError:
        return text  # what reads captures says what is wrong
    if piped or _is_printed(output):
        return _described(output, text)
    return text


def _is_printed(text: str) -> bool:
    return any(one.search(text) for one in (_LSCPU, _LSCPU_BEGINS, _NUMACTL_BEGINS))


def _start_of(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(_MOST_BYTES)


def _piped(file: Path) -> bytes:
    """Return what comes through a pipe to its end; raise UserError where nobody writes to it.

    A pipe of the shell's, <(COMMAND), ends with its writer, which may wait for a password.
    """
    of_shell = str(file).startswith(("/dev/", "/proc/"))
    limit_ms = None if of_shell else _PIPE_MS
    pipe, parts, left = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), [], _MOST_BYTES
    waiting = select.poll()
    waiting.register(pipe, select.POLLIN)
    try:
        while left:
            if not waiting.poll(limit_ms):
                raise UserError(
                    f"--machine: nothing came through the pipe '{file}' in {_PIPE_MS // 1000} s: "
                    "start what writes to it first, or give a file"
                )
            part = os.read(pipe, left)
            if not part:
                break
            parts.append(part)
            left -= len(part)
    finally:
        os.close(pipe)
    return b"".join(parts)


def _is_there(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # it is longer than a path, or holds a NUL
        return False


def _described(output: str, name: str) -> str:
    """Return the description of a machine whose nodes have equal CPUs, which most have."""
    output = output.replace("\r", "")
    machine = _lscpu(output, name)
    cpus, sizes = _nodes(output, name)
    if not cpus:
        raise UserError(f"--machine: '{name}' {_without_nodes(output, machine)}")
    if machine is None:
        raise UserError(
            f"--machine: '{name}' is numactl's output, which does not tell packages and threads: "
            "add that of lscpu, run as LC_ALL=C lscpu"
        )
    working = sorted(node for node, ids in cpus.items() if ids)
    every = sorted(cpu for node in working for cpu in cpus[node])
    if len(every) != machine.cores * machine.threads:
        raise UserError(f"--machine: '{name}': {_other_cpus(machine, len(every), len(working))}")
    count, odd = divmod(len(every), len(working) * machine.threads)
    if odd or any(len(cpus[node]) != count * machine.threads for node in working):
        raise UserError(f"--machine: the nodes of '{name}' have unequal CPUs: {_GATHER}")
    bare = sorted(node for node in sizes if node not in working and sizes[node])
    # The firmware of POWER9 (skiboot) numbers the memory of GPUs from 255 downwards.
    gpus = machine.architecture == "ppc64le" and bare == list(range(256 - len(bare), 256))
    parts = [
        _of(machine.packages, "package"),
        *_of_memory(working, sizes, ""),
        f"{_of(count, 'core')} x {_of(machine.threads, 'thread')}",
        *_of_memory(bare, sizes, "GPU " if gpus else "memory-only "),
        *_distances(output, {*working, *bare}),
        *([machine.architecture] if machine.architecture else []),
    ]
    lists = [sorted(cpus[node]) for node in working]
    if lists != _usual(machine, len(working)):
        parts.append(f"cpus {' / '.join(map(show_ids, lists))}")
    return ", ".join(parts)


def _lscpu(output: str, name: str) -> _Cpus | None:
    """Return what lscpu printed; None where it is not there."""
    fields = dict(_LSCPU.findall(output))
    if not fields.keys() - {"Architecture"}:
        if _LSCPU_BEGINS.search(output):
            raise UserError(
                f"--machine: '{name}' has none of lscpu's English words: run it as LC_ALL=C lscpu"
            )
        return None
    numbers = []
    for key in ("Socket(s)", "Core(s) per socket", "Thread(s) per core"):
        value = fields.get(key, "nothing")
        if not re.fullmatch(r"0{0,9}[1-9][0-9]{0,5}", value):
            raise UserError(f"--machine: '{name}': lscpu's '{key}' is {value[:20]}: {_GATHER}")
        numbers.append(int(value))
    packages, cores, threads = numbers
    known = re.fullmatch(_ARCHITECTURE, fields.get("Architecture", ""))
    return _Cpus(packages, packages * cores, threads, known and known[0])


def _without_nodes(output: str, machine: _Cpus | None) -> str:
    """Return why there is no memory, and what to do."""
    if machine is None:
        return "is not that of lscpu and numactl -H"
    if "No NUMA support" in output:
        return (
            "does not tell memory, since numactl found no NUMA nodes: describe the machine, with "
            f"its memory in place of SIZE: --machine 'SIZE GB, 1 node, {machine.words}'"
        )
    return "is lscpu's output, which does not tell memory: add that of numactl -H"


def _other_cpus(machine: _Cpus, number: int, nodes: int) -> str:
    """Return how the CPUs of lscpu and those of numactl differ, and what to do."""
    says = (
        f"lscpu has {_of(machine.cores, 'core')} of {_of(machine.threads, 'thread')}, numactl "
        f"{_of(number, 'CPU')}"
    )
    fast, odd = divmod(number - machine.cores, max(machine.threads - 1, 1))
    if odd or nodes > 1 or not 0 < fast < machine.cores:
        return f"{says}: some are off line, or the output is of two machines: {_GATHER}"
    return (
        f"{says}: if its cores are of two kinds, describe the machine with '{_of(fast, 'core')} x "
        f"{_of(machine.threads, 'thread')}, {_of(machine.cores - fast, 'efficient core')}'; "
        f"else {_GATHER}"
    )


def _of(number: int, noun: str) -> str:
    """Return a number of things in the words of a description, whose numbers have no commas."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _of_memory(nodes: list[int], sizes: dict[int, int], kind: str) -> list[str]:
    """Return the clauses of some nodes, those with as much memory in one."""
    groups: list[list[int]] = []
    for node in sorted(nodes, key=lambda one: (sizes[one], one)):
        if groups and sizes[node] <= sizes[groups[-1][0]] * _SAME_SIZE_FACTOR:
            groups[-1].append(node)
        else:
            groups.append([node])
    return [
        f"{kind}node{'s' if len(group) > 1 else ''} {show_ids(group)} "
        + (f"of {sizes[group[0]]} MB" if sizes[group[0]] else "without memory")
        for group in groups
    ]


def _distances(output: str, nodes: set[int]) -> list[str]:
    """Return the clause of the distances between some of the nodes."""
    rows = {int(node): row.split() for node, row in _DISTANCES.findall(output)}
    columns = [at for at, node in enumerate(rows) if node in nodes]
    if len(columns) < 2 or any(len(row) != len(rows) for row in rows.values()):
        return []
    return [
        "distances "
        + " / ".join(" ".join(row[at] for at in columns) for n, row in rows.items() if n in nodes)
    ]


def _usual(machine: _Cpus, nodes: int) -> list[list[int]]:
    """Return the CPUs of each node as a description that does not list them numbers them."""
    size, threads = machine.cores // nodes, machine.threads
    if machine.architecture in ("aarch64", "ppc64le"):
        size, threads = size * threads, 1
    return [
        [t * machine.cores + node * size + at for t in range(threads) for at in range(size)]
        for node in range(nodes)
    ]


def _nodes(output: str, name: str) -> tuple[dict[int, list[int]], dict[int, int]]:
    """Return the CPUs of each node, and its memory in MB."""
    cpus: dict[int, list[int]] = {}
    sizes: dict[int, int] = {}
    for node, what, value in _NODE.findall(output):
        try:
            if what == "cpus":
                cpus[int(node)] = parse_ids(",".join(value.split()))
            else:
                sizes[int(node)] = int(value.split()[0])
        except (ValueError, IndexError):
            line = f"node {node} {what}: {value}"[:60]
            raise UserError(f"--machine: '{name}': '{line}' is not understood: {_GATHER}") from None
    if cpus and not any(cpus.values()):
        raise UserError(f"--machine: '{name}' has no node with CPUs: {_GATHER}")
    for node in cpus.keys() ^ sizes.keys():
        raise UserError(f"--machine: '{name}' has not both CPUs and size of node {node}: {_GATHER}")
    return cpus, sizes
