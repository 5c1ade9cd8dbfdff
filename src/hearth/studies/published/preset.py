"""A published experiment as data: its steps, each a command of hearth's, and what was published.

A preset is a file of TOML in `presets`. The command of a step is words with places in braces, which
the request and the machine fill. `--scale` makes a size or a number of the study smaller (`{47g}`,
`{376}`, `{180>10}` with its least, `{48g>1g}` for a heap). The machine gives its numbers
(`{nodes}`), a share of its memory (`{48/1024 of memory}`) or of a node's CPUs (`{8/48 of node}`),
executors on some nodes (`{2x3 on nodes}`: three on each of two, or as many as a node has CPUs), the
heap of each of some executors (`{4g>512m by sockets}`: an equal part for each socket, with its
least), and all executors x cores that Baig tried (`{cells}`: on each node any divisor of its CPUs).
`{how}`: the repetitions and Spark's settings; `{conf}`: the settings alone, for the second
application of a pair. Of steps and published values that stand together (`[[steps]]`,
`[[values]]`), `rows` has what differs; in the command of a step `<name>` is what its row has.
"""

import re
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Annotated, Any, Literal

from hearth.base.codec import LEFT_OUT, typed
from hearth.base.errors import UserError, nearest
from hearth.base.limits import OneOf
from hearth.base.sizes import parse_bytes
from hearth.studies.characterise.questions import cells_of_a_node

_PLACE = re.compile(r"\{([^{}]+)\}")
_SIZE = re.compile(r"(?<!\d)\d+[kmgt]")
_HEAP = re.compile(r"(\d{1,9}[kmgt])>(\d{1,9}[kmgt])(?: by (sockets|pairs))?")
_OF_ROW = re.compile(r"<(\w+)>")
_SHARE = re.compile(r"(?<!\d)(\d+)/(\d+) of (memory|node)")
_ON_NODES = re.compile(r"(\d{1,9})x(\d{1,9}) on nodes")
#: The least that is scaled to: bytes, and a count such as partitions.
_LEAST_BYTES, _LEAST_COUNT = 64 << 10, 2
#: The units of published values that are computed from two times; any other is seconds or a
#: measure's own. `%`: so much more speed; `% less`: so much less time.
RATIOS = ("times", "%", "% less")


@dataclass(frozen=True)
class Step:
    """A command of hearth's. needs: of the machine, see `needs`."""

    name: str
    run: str
    needs: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Part:
    """A part of the experiment that no command of hearth's makes, and why."""

    what: str
    why: str


@dataclass(frozen=True)
class Reading:
    """Where the value of a published one is found: the seconds of an arm, or one of its measures.

    step: its name; of several, with commas between, the geometric mean, or what `of` says. arm: its
    name, or how it begins, before a blank or `*`: the fastest of those; `best` is the fastest of
    all. over: another arm, whose value is divided by this one's; over_step: where
    that is another step's.
    """

    step: str
    arm: str
    over: str | None = field(default=None, metadata=LEFT_OUT)
    over_step: str | None = field(default=None, metadata=LEFT_OUT)
    measure: str = "seconds"
    of: Annotated[str, OneOf("mean", "most", "least")] = "mean"


@dataclass(frozen=True)
class Answer:
    """What hearth's benchmarks say of a published value.

    page: where, below the root of the sources. kind: `measured`, it was tried here; `predicted`, by
    a model; `taken`, what hearth does was taken from it, so it is no evidence; `open`, this machine
    cannot, which `text` explains. machine: where it was measured, or
    what machine could.
    """

    kind: Annotated[str, OneOf("measured", "predicted", "taken", "open")]
    text: str
    machine: str = ""
    page: str | None = None


@dataclass(frozen=True)
class Value:
    """A published value. shown: as published, where it is not one number; place: in the paper.

    predicted: what a model says that did not know it. binding: a gain by binding. needs: numbers
    of a machine that it can be judged on.
    """

    what: str
    place: str
    value: float | None = None
    unit: str = "s"
    shown: str | None = None
    predicted: float | None = None
    binding: bool = False
    needs: list[str] = field(default_factory=list)
    read: Reading | None = None
    answer: Answer | None = None

    @property
    def published(self) -> str:
        """Return it with its unit."""
        return self.shown or show_value(self.value or 0.0, self.unit)


@dataclass(frozen=True)
class Preset:
    """One published experiment. answer: of each value that has none of its own."""

    name: str
    study: str
    title: str
    machine: str
    protocol: str
    measured: str
    answer: Answer
    repeat: int = 5
    warmup: int = 1
    cold: bool = False
    settings: dict[str, str] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    #: of a sweep: the published seconds of each executors x cores, by step
    cells: dict[str, dict[str, float]] = field(default_factory=dict)

    def answer_of(self, value: Value) -> Answer:
        return value.answer or self.answer


@dataclass(frozen=True)
class Request:
    """What the user asked for; None: as the preset has it. warm: never drop the page cache."""

    scale: float = 1.0
    repeat: int | None = None
    warmup: int | None = None
    steps: tuple[str, ...] | None = None
    warm: bool = False


def show_value(value: float, unit: str) -> str:
    """Return a value with its unit: `1.15 times`, `323.71 s`."""
    number = f"{value:.4g}" if abs(value) < 100 else f"{value:,.2f}".rstrip("0").rstrip(".")
    return f"{number} {unit}"


def names() -> list[str]:
    """Return the names of all presets, in the order of their files."""
    files = resources.files(__package__).joinpath("presets").iterdir()
    return sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml"))


@cache
def preset(name: str) -> Preset:
    """Return the preset of a name; raise UserError for one that there is not."""
    if name not in names():
        near = nearest(name, names())
        hint = f"did you mean '{near}'?" if near else "'hearth lab study list' lists them"
        raise UserError(f"'{name}' is not a study: {hint}")
    file = resources.files(__package__).joinpath("presets", f"{name}.toml")
    document: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    values = [
        {**table, **row} for table in document.pop("values", ()) for row in table.get("rows", [{}])
    ]
    steps = [step for table in document.pop("steps", ()) for step in _steps(table)]
    cells = {step: _seconds(text) for step, text in document.pop("cells", {}).items()}
    made = {"name": name, **document, "steps": steps, "values": values, "cells": cells}
    return typed(made, Preset)


def _seconds(text: str) -> dict[str, float]:
    """Return those of each executors x cores: `4x1 1437.95, 4x2 1018.4`."""
    cells = (part.split() for part in text.split(","))
    return {cell: float(seconds) for cell, seconds in cells}


def _steps(table: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the steps of a table: itself, or one for each of its rows."""
    rows: list[dict[str, str]] = table.pop("rows", [{}])
    return [_step(table, row) for row in rows]


def _step(table: dict[str, Any], row: dict[str, str]) -> dict[str, Any]:
    run = _OF_ROW.sub(lambda match: row[match[1]], table["run"])
    return {**table, "name": row.get("name", table.get("name")), "run": run}


def chosen(preset: Preset, request: Request) -> list[Step]:
    """Return the steps that are asked for; raise UserError for one that there is not."""
    known = [step.name for step in preset.steps]
    for name in request.steps or ():
        if name not in known:
            near = nearest(name, known)
            hint = f"did you mean '{near}'?" if near else f"it has {', '.join(known) or 'none'}"
            raise UserError(f"--steps: '{name}' is not a step of {preset.name}: {hint}")
    return [step for step in preset.steps if request.steps is None or step.name in request.steps]


def bound_steps(preset: Preset) -> set[str]:
    """Return the names of the steps that say whether binding pays."""
    return {name for value in preset.values if value.binding and value.read
            for name in value.read.step.split(",")}  # fmt: skip


def words(
    preset: Preset, step: Step, request: Request, numbers: Mapping[str, int], *, cold: bool
) -> list[str]:
    """Return the command of a step, without `hearth`, on a machine of these numbers."""
    conf = _conf(preset, numbers)
    of_all = {"{how}": [*_how(preset, step, request, cold=cold), *conf], "{conf}": conf}
    filled: list[str] = []
    for word in shlex.split(" ".join(step.run.split())):
        filled += of_all[word] if word in of_all else [fill(word, numbers, request.scale)]
    return [word for word in filled if word]


def fill(text: str, numbers: Mapping[str, int], scale: float = 1.0) -> str:
    """Return a text with its places filled."""
    return _PLACE.sub(lambda match: _filled(match[1], numbers, scale), text)


def data_bytes(step: Step, scale: float) -> int:
    """Return the bytes of all data that a step names."""
    sizes = [word for word in _PLACE.findall(step.run) if _SIZE.fullmatch(word)]
    return sum(_scaled_bytes(word, scale) for word in sizes)


def heap_mb(step: Step, scale: float) -> int:
    """Return the heap of an executor that a step names, in MiB; 0 where it names none."""
    places = [_HEAP.fullmatch(word) for word in _PLACE.findall(step.run)]
    return max((_scaled_heap_mb(heap, scale) for heap in places if heap and not heap[3]), default=0)


def _how(preset: Preset, step: Step, request: Request, *, cold: bool) -> list[str]:
    repeat = preset.repeat if request.repeat is None else request.repeat
    warmup = preset.warmup if request.warmup is None else request.warmup
    often = ["--repeat", str(repeat), "--warmup", str(warmup)]
    drop = (
        ["--cold"]
        if cold and step.run.removeprefix("lab ").startswith(("compare ", "characterise "))
        else []
    )
    return [*often, *drop]


def _conf(preset: Preset, numbers: Mapping[str, int]) -> list[str]:
    settings = {key: fill(value, numbers) for key, value in preset.settings.items()}
    return [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]


def _filled(word: str, numbers: Mapping[str, int], scale: float) -> str:
    if word in numbers:
        return str(numbers[word])
    if word == "cells":
        of_node, nodes = cells_of_a_node(numbers["per_node"]), numbers["nodes"]
        return ",".join(f"{each * nodes}x{cores}" for each, cores in of_node)
    if _SIZE.fullmatch(word):
        size = _scaled_bytes(word, scale)
        return f"{size >> 20}m" if size >= 1 << 20 else f"{size >> 10}k"
    if heap := _HEAP.fullmatch(word):
        return f"{_scaled_heap_mb(heap, scale, numbers[heap[3]] if heap[3] else 1)}m"
    if share := _SHARE.fullmatch(word):
        part, whole = int(share[1]), int(share[2])
        if share[3] == "node":
            return str(max(1, numbers["per_node"] * part // whole))
        return f"{numbers['memory_mb'] * part // whole}m"
    if executors := _ON_NODES.fullmatch(word):
        return str(int(executors[1]) * min(int(executors[2]), numbers["per_node"]))
    if re.fullmatch(r"\d+\.\d+", word):
        return f"{float(word) * scale:g}"
    count, _, least = word.partition(">")
    return str(max(min(int(count), int(least or _LEAST_COUNT)), round(int(count) * scale)))


def _scaled_heap_mb(heap: re.Match[str], scale: float, parts: int = 1) -> int:
    whole, least = (parse_bytes(part, "size") for part in heap.groups()[:2])
    return max(int(whole * scale) // parts, least) >> 20


def _scaled_bytes(size: str, scale: float) -> int:
    return max(int(parse_bytes(size, "size") * scale), _LEAST_BYTES)


Schema = Literal["hearth/study/2"]
