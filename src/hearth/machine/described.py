"""Machines that other tools have described: the output of `lscpu` and of `numactl -H` in a file."""

import os
import re
import select
from pathlib import Path

from hearth.base.errors import UserError
from hearth.base.ids import parse_ids

_MOST_BYTES = 1 << 20
#: For the next words; lscpu and numactl take less than a second.
_PIPE_MS = 30_000
_LSCPU = re.compile(
    r"^(Architecture|CPU\(s\)|(?:Socket|NUMA node)\(s\)|Thread\(s\) per core): +(\S+)", re.M
)
_PRINTED = re.compile(r"^available: \d+ nodes?|\AArchitecture:", re.M)
_NODE = re.compile(r"^node (\d+) (cpus|size): ?(.*)$", re.M)
_DISTANCES = re.compile(r"^ *\d+: +([\d ]+)$", re.M)
_GATHER = "capture the machine with 'hearth gather' instead"


def machine_source(text: str) -> str:
    """Return what `--machine` names as hearth reads it: a capture's path, or a description.

    The output of `numactl -H`, of `lscpu`, or of both becomes a description, whether it is in a
    file, comes through a pipe or is `text` itself. Raises UserError for one that says too little.
    """
    if "\n" in text and not _is_there(text):
        return _described(text, "...") if _PRINTED.search(text) else " ".join(text.split())
    file = Path(text)
    try:
        piped = file.is_fifo()
        if not piped and (not file.is_file() or file.stat().st_size > _MOST_BYTES):
            return text
        said = (_piped(file) if piped else _start_of(file)).decode("utf-8", "replace")
    except OSError:
        return text  # what reads captures says what is wrong
    if piped or _PRINTED.search(said):
        return _described(said, text)
    return text


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


def _described(said: str, name: str) -> str:
    """Return the description of a machine whose nodes are alike, which most are."""
    lscpu = dict(_LSCPU.findall(said))
    cpus, sizes = _nodes(said, name)
    if not sizes:
        what = "lscpu's output, which does not tell memory: add that of" if lscpu else "not that of"
        raise UserError(f"--machine: '{name}' is {what} numactl -H")
    working = [node for node, ids in cpus.items() if ids]
    if any(node not in sizes for node in working):
        raise UserError(f"--machine: '{name}' has a node with CPUs and no memory: {_GATHER}")
    empty = [node for node in sizes if node not in working]
    counts = {len(cpus[node]) for node in working}
    threads = _number(lscpu.get("Thread(s) per core"), 1)
    packages = _number(lscpu.get("Socket(s)"), len(working))
    if len(counts) != 1 or (count := counts.pop()) % threads or max(working) >= len(working):
        raise UserError(f"--machine: the nodes of '{name}' are not alike: {_GATHER}")
    parts = [
        _of(packages, "package"),
        f"{_of(len(working), 'node')} of {min(sizes[node] for node in working)} MB",
        f"{_of(count // threads, 'core')} x {_of(threads, 'thread')}",
    ]
    if empty:
        parts.append(f"{_of(len(empty), 'memory-only node')} of {min(sizes[n] for n in empty)} MB")
    rows = [" ".join(row.split()) for row in _DISTANCES.findall(said)]
    parts += [f"distances {' / '.join(rows)}"] if len(rows) > 1 else []
    return ", ".join([*parts, *([lscpu["Architecture"]] if "Architecture" in lscpu else [])])


def _of(number: int, noun: str) -> str:
    """Return a number of things in the words of a description, whose numbers have no commas."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _nodes(said: str, name: str) -> tuple[dict[int, list[int]], dict[int, int]]:
    """Return the CPUs of each node, and its memory in MB."""
    cpus: dict[int, list[int]] = {}
    sizes: dict[int, int] = {}
    for node, what, value in _NODE.findall(said):
        try:
            if what == "cpus":
                cpus[int(node)] = parse_ids(",".join(value.split()))
            else:
                sizes[int(node)] = int(value.split()[0])
        except (ValueError, IndexError):
            line = f"node {node} {what}: {value}"[:60]
            raise UserError(f"--machine: '{name}': '{line}' is not understood: {_GATHER}") from None
    if sizes and not any(cpus.values()):
        raise UserError(f"--machine: '{name}' has no node with CPUs: {_GATHER}")
    return cpus, {node: size for node, size in sizes.items() if size}


def _number(text: str | None, otherwise: int) -> int:
    return int(text) if text and re.fullmatch(r"0{0,9}[1-9][0-9]{0,8}", text) else otherwise
