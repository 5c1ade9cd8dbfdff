"""Build call trees of what the JVMs executed from their flight recordings, which the JDK's jfr
reads, or from the stacks that async-profiler left.
"""

import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hearth.analysis.document import Flame, Method
from hearth.base.absent import Absent, Measured
from hearth.base.codec import read_typed_lines
from hearth.base.java import own_directory, own_environment
from hearth.record.flame import FILE, FOLDER, PERIOD_MS, RECORDING, STACKS
from hearth.record.schema import Recorded

#: Frames of a stack that are read, its innermost.
DEEPEST = 64
#: Limits of reading: of one file, and of all in time.
_MOST_BYTES = 64 << 20
_MOST_S = 120.0
#: A node of the tree with a smaller share of all samples goes into its caller.
_LEAST_SHARE = 0.001
_FRAME = re.compile(r"^\s{4,}(\S.*?)\((?:.*)$")
#: What differs from run to run in the names of generated classes.
_NUMBERED = re.compile(
    r"(\$\$Lambda|GeneratedMethodAccessor|LambdaForm\$\w+?)(?:[$/+.]?(?:0x[0-9a-f]+|\d+))+"
)
#: A Java method as async-profiler writes it.
_SLASHED = re.compile(r"\A[\w$]+(?:/[\w$+.]+)+")
#: What a flame may have been sampled by.
FLIGHT_RECORDER, ASYNC_PROFILER = "Java's flight recorder", "async-profiler"
_Stack = tuple[str, ...]


@dataclass
class _Read:
    """Stacks from the outermost frame inwards, by process."""

    stacks: dict[str, Counter[_Stack]] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    sampled_by: str = FLIGHT_RECORDER


def read_flame(directory: Path, jfr: str | None) -> Measured[Flame]:
    """Read the flame graph of a record, if its run was sampled. jfr: the JDK's program, or None."""
    try:
        rows = read_typed_lines(directory / FILE, Recorded)[0]
    except (OSError, ValueError) as error:
        return Absent(f"{FILE} cannot be read: {error}")
    read, until = _Read(), time.monotonic() + _MOST_S
    for row in rows:
        name = row.executor_id or row.role
        why = row.reason or _add(
            read, name, directory / FOLDER / f"{row.pid}{RECORDING}", jfr, until
        )
        if why is not None:
            read.absent[name] = why
    total = sum(stacks.total() for stacks in read.stacks.values())
    if not total:
        reasons = "; ".join(f"{name}: {why}" for name, why in read.absent.items())
        return Absent(reasons or "no JVM was found to record")
    return _flame(read, total)


def _add(read: _Read, name: str, file: Path, jfr: str | None, until: float) -> str | None:
    """Read what one JVM left, whose recording would be this file; why it was not."""
    counted = file.with_suffix(STACKS)
    is_counted = counted.is_file()
    if not is_counted and not file.is_file():
        return "its JVM left no recording: it was killed, or could not write it"
    size = (counted if is_counted else file).stat().st_size
    if size > _MOST_BYTES:
        return f"its recording has {size >> 20} MB: {_MOST_BYTES >> 20} are read"
    if is_counted:
        return _add_counted(read, name, counted)
    if jfr is None:
        return "this Java has no 'jfr' to read recordings with: install its JDK"
    left_s = until - time.monotonic()
    if left_s <= 0:
        return f"reading the others took {_MOST_S:g} s, the limit"
    command = [jfr, "print", "--events", "jdk.ExecutionSample", "--stack-depth", f"{DEEPEST}"]
    try:
        with subprocess.Popen(
            ["timeout", f"{left_s:.0f}", *command, str(file)],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace",
            env=own_environment(), cwd=own_directory(),
        ) as process:  # fmt: skip
            assert process.stdout is not None
            counts = Counter(stacks(process.stdout))
    except OSError as error:
        return f"jfr cannot be started: {error.strerror}"
    if process.returncode:
        return f"jfr print ended with {process.returncode}: the recording is cut off or damaged"
    if not counts:
        return "its recording holds no sample: no thread of it ran Java code while it was recorded"
    read.stacks.setdefault(name, Counter()).update(counts)
    return None


def _add_counted(read: _Read, name: str, file: Path) -> str | None:
    """Add async-profiler's stacks, and return why some could not be read."""
    try:
        with file.open(encoding="utf-8", errors="replace") as lines:
            counts = counted_stacks(lines)
    except (OSError, ValueError) as error:
        return f"its stacks cannot be read: {error}"
    if not counts:
        return "no thread of it ran while it was sampled"
    read.stacks.setdefault(name, Counter()).update(counts)
    read.sampled_by = ASYNC_PROFILER
    return None


def counted_stacks(lines: Iterable[str]) -> Counter[_Stack]:
    """Yield the stacks of lines `outermost;...;innermost COUNT`; raise ValueError for others."""
    counts: Counter[_Stack] = Counter()
    for line in lines:
        text, _, count = line.rstrip("\n").rpartition(" ")
        if not text or not count.isdecimal():
            raise ValueError(f"'{line.strip()[:60]}' is not a stack with its count")
        frames = text.split(";")[-DEEPEST:]
        counts[tuple(_NUMBERED.sub(r"\1", _dotted(frame)) for frame in frames)] += int(count)
    return counts


def _dotted(frame: str) -> str:
    """Return a frame as Java writes a method; native and kernel frames stay as they are."""
    return frame.replace("/", ".") if _SLASHED.fullmatch(frame) else frame


def stacks(lines: Iterable[str]) -> Iterator[_Stack]:
    """Yield the stacks in the output of `jfr print`: frames from the outermost inwards."""
    frames: list[str] | None = None
    for line in lines:
        text = line.strip()
        if text.startswith("stackTrace = ["):
            frames = []
        elif frames is not None and text == "]":
            yield tuple(reversed(frames))
            frames = None
        elif frames is not None and (match := _FRAME.match(line)):
            frames.append(_NUMBERED.sub(r"\1", match[1]))


def _flame(read: _Read, total: int) -> Flame:
    """Return one tree of all; `self_samples` are those of each process that end in a node."""
    names = sorted(read.stacks)
    weights: Counter[_Stack] = Counter()
    for counts in read.stacks.values():
        for stack, count in counts.items():
            for depth in range(1, len(stack) + 1):
                weights[stack[:depth]] += count
    drawn_paths = {path for path, count in weights.items() if count >= total * _LEAST_SHARE}
    nodes = sorted(drawn_paths)
    row_of = {path: number for number, path in enumerate(nodes)}
    self_samples = {name: [0] * len(nodes) for name in names}
    methods: dict[str, Counter[str]] = {name: Counter() for name in names}
    for name in names:
        for stack, count in read.stacks[name].items():
            if stack:
                methods[name][stack[-1]] += count
            drawn = next((d for d in range(len(stack), 0, -1) if stack[:d] in row_of), 0)
            if drawn:
                self_samples[name][row_of[stack[:drawn]]] += count
    frames = list(dict.fromkeys(path[-1] for path in nodes))
    number = {frame: at for at, frame in enumerate(frames)}
    everywhere: Counter[str] = Counter()
    for of in methods.values():
        everywhere.update(of)
    return Flame(
        sampled_by=read.sampled_by,
        period_ms=PERIOD_MS,
        samples={name: read.stacks[name].total() for name in names},
        frames=frames,
        frame=[number[path[-1]] for path in nodes],
        parent=[row_of.get(path[:-1], -1) for path in nodes],
        self_samples=self_samples,
        top=[Method(method, count) for method, count in everywhere.most_common(50)],
        absent=read.absent,
    )
