"""A published experiment as data: its steps, each a command of hearth's, and what was published.

A preset is a file of TOML in `presets`. The command of a step is words with places in braces, which
the request and the machine fill. `--scale` makes a size or a number of the study smaller (`{47g}`,
`{376}`, `{180>10}` with its least, `{48g>1g}` for a heap). The machine gives its numbers
(`{nodes}`), a share of its memory (`{48/1024 of memory}`) or of a node's CPUs (`{8/48 of node}`),
and executors on some nodes (`{2x3 on nodes}`: three on each of two, or as many as a node has CPUs).
`{how}`: the repetitions and Spark's settings; `{conf}`: the settings alone, for the second
application of a pair. Of published values that stand together (`[[values]]`), `rows` has what
differs.
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

_PLACE = re.compile(r"\{([^{}]+)\}")
_SIZE = re.compile(r"(?<!\d)\d+[kmgt]")
_HEAP = re.compile(r"(\d{1,9}[kmgt])>(\d{1,9}[kmgt])")
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

    arm: its name, or how it begins, before a blank or `*`: the fastest of those; `best` is the
    fastest of all. over: another arm, whose value is divided by this one's; over_step: where
    that is another step's.
    """

    step: str
    arm: str
    over: str | None = field(default=None, metadata=LEFT_OUT)
    over_step: str | None = field(default=None, metadata=LEFT_OUT)
    measure: str = "seconds"


@dataclass(frozen=True)
class Answer:
    """What hearth's benchmarks say of a published value.

    page: where, below the root of the sources. kind: `measured`, it was tried here; `predicted`, by
    a model; `open`, this machine cannot, which `text` explains. machine: where it was measured, or
    what machine could.
    """

    kind: Annotated[str, OneOf("measured", "predicted", "open")]
    text: str
    machine: str = ""
    page: str | None = None


@dataclass(frozen=True)
class Value:
    """A published value. shown: as published, where it is not one number; place: in the paper."""

    what: str
    place: str
    value: float | None = None
    unit: str = "s"
    shown: str | None = None
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
    return typed({"name": name, **document, "values": values}, Preset)


def chosen(preset: Preset, request: Request) -> list[Step]:
    """Return the steps that are asked for; raise UserError for one that there is not."""
    known = [step.name for step in preset.steps]
    for name in request.steps or ():
        if name not in known:
            near = nearest(name, known)
            hint = f"did you mean '{near}'?" if near else f"it has {', '.join(known) or 'none'}"
            raise UserError(f"--steps: '{name}' is not a step of {preset.name}: {hint}")
    return [step for step in preset.steps if request.steps is None or step.name in request.steps]


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
    return max((_scaled_heap_mb(heap, scale) for heap in places if heap), default=0)


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
    if _SIZE.fullmatch(word):
        size = _scaled_bytes(word, scale)
        return f"{size >> 20}m" if size >= 1 << 20 else f"{size >> 10}k"
    if heap := _HEAP.fullmatch(word):
        return f"{_scaled_heap_mb(heap, scale)}m"
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


def _scaled_heap_mb(heap: re.Match[str], scale: float) -> int:
    whole, least = (parse_bytes(part, "size") for part in heap.groups())
    return max(int(whole * scale), least) >> 20


def _scaled_bytes(size: str, scale: float) -> int:
    return max(int(parse_bytes(size, "size") * scale), _LEAST_BYTES)


Schema = Literal["hearth/study/1"]
