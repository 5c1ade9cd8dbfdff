"""The document of published studies that ran here: their tables beside the published ones."""

import math
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated

from hearth.base.codec import LEFT_OUT
from hearth.base.limits import AboveZero, Count, OneOf, Time
from hearth.studies.published.judge import (
    CONTRADICTED,
    NOT_HERE,
    UNDECIDED,
    VERDICTS,
    Measured,
    Verdict,
    judged,
    mean,
    ratios,
)
from hearth.studies.published.needs import few
from hearth.studies.published.preset import (
    RATIOS,
    Preset,
    Reading,
    Schema,
    Value,
    fill,
    preset,
)
from hearth.studies.published.readings import Readings

#: Fills the places of an arm's name.
Filled = Callable[[str], str]
SCHEMA: Schema = "hearth/study/2"
_TOO_LITTLE = "fewer than three runs, or their interval is too wide, or holds no effect as well"
#: So many experiments are named in a title.
_NAMED = 3
_TAKEN = "hearth's plan has this study's rule"


@dataclass(frozen=True)
class StudyHead:
    """`study.json`: what was asked for. numbers: of the machine, as steps use them."""

    id: str
    presets: list[str]
    started: str
    scale: AboveZero
    numbers: dict[str, int]
    repeat: Count | None = None
    warmup: Count | None = None
    steps: list[str] | None = None


@dataclass(frozen=True)
class StepLine:
    """A line of the journal: a step that has ended, or why it did not run.

    study: the id of the comparison or the like that it made. readings, runs: see `readings`.
    """

    preset: str
    name: str
    command: list[str]
    #: ran: with all its runs. failed: not all of them. skipped: not possible here
    state: Annotated[str, OneOf("ran", "failed", "skipped")]
    reasons: list[str] = field(default_factory=list)
    study: str | None = field(default=None, metadata=LEFT_OUT)
    readings: dict[str, dict[str, float]] = field(default_factory=dict)
    runs: dict[str, dict[str, list[float]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """A published value beside the one measured here."""

    what: str
    place: str  #: in the paper
    published: str  #: with its unit
    unit: str
    verdict: Verdict
    value: float | None = field(default=None, metadata=LEFT_OUT)  #: as published, where it is one
    measured: float | None = field(default=None, metadata=LEFT_OUT)  #: here, in the same unit
    #: its 95 % interval, of ratios
    interval: list[float] | None = field(default=None, metadata=LEFT_OUT)
    #: why it was not measured here, or is not judged
    reason: str | None = field(default=None, metadata=LEFT_OUT)

    @property
    def is_number(self) -> bool:
        return any(sign.isdigit() for sign in self.published)


@dataclass(frozen=True)
class RepeatedStudy:
    """One experiment: its steps, and its table."""

    preset: str
    study: str  #: docs/sources.md
    title: str
    steps: list[StepLine]
    rows: list[Row]
    #: parts of the experiment that hearth has no command for
    not_available: list[str]


@dataclass(frozen=True)
class Repeated:
    """What `hearth lab study run --json` prints."""

    schema: Schema
    id: str
    started: Time
    scale: AboveZero  #: of the studies' data and counts
    verdicts: dict[str, Count]  #: how many published numbers have which
    binding: str  #: whether it paid here
    studies: list[RepeatedStudy]

    @property
    def title(self) -> str:
        """Its experiments by name, or how many where they are more than a title holds."""
        names = [study.preset for study in self.studies]
        return ", ".join(names) if len(names) <= _NAMED else f"{len(names)} published experiments"


def repeated(head: StudyHead, lines: Sequence[StepLine]) -> Repeated:
    """Return what the steps so far say. Of a step with two lines the later one counts."""
    studies = [_one(head, preset(name), lines) for name in head.presets]
    counted = Counter(row.verdict for study in studies for row in study.rows if row.is_number)
    return Repeated(
        SCHEMA, head.id, head.started, head.scale, {name: counted[name] for name in VERDICTS},
        _binding(head, studies), studies,
    )  # fmt: skip


def _one(head: StudyHead, one: Preset, lines: Sequence[StepLine]) -> RepeatedStudy:
    last = {line.name: line for line in lines if line.preset == one.name}
    rows = [_row(value, one, last, head)
            for value in [*one.values, *_cells(one, last)]]  # fmt: skip
    parts = [f"{part.what}: {part.why}" for part in one.parts]
    return RepeatedStudy(one.name, one.study, one.title, list(last.values()), rows, parts)


def _cells(preset: Preset, lines: Mapping[str, StepLine]) -> list[Value]:
    """Return the published cells that were measured here, each to the best of its step."""
    return [Value(f"{step}, {cell}, to the best cell", "its table", min(cells.values()) / seconds,
                  "times", read=Reading(step, cell, over="best"))
            for step, cells in preset.cells.items() if step in lines
            for cell, seconds in cells.items() if cell in lines[step].runs]  # fmt: skip


def _binding(head: StudyHead, studies: Sequence[RepeatedStudy]) -> str:
    """Return whether binding paid: what each published gain of it is here."""
    known = [row for study in studies
             for value, row in zip(preset(study.preset).values, study.rows, strict=False)
             if value.binding and row.interval is not None]  # fmt: skip
    if not known:
        return "not known: nothing ran bound and unbound with an interval"
    gains = [_ratio_ends(row) for row in known]
    paid, cost = sum(low > 1 for low, _ in gains), sum(high < 1 for _, high in gains)
    return f"it paid in {paid} of {len(known)} workloads, and cost time in {cost}"


def _ratio_ends(row: Row) -> tuple[float, float]:
    low, high = sorted(_ratio(end, row.unit) for end in row.interval or ())
    return low, high


def _row(value: Value, of: Preset, lines: Mapping[str, StepLine], head: StudyHead) -> Row:
    def row(verdict: str, reason: str | None = None, **more: object) -> Row:
        return Row(value.what, value.place, value.published, value.unit, verdict, value.value,
                   reason=reason, **more)  # type: ignore[arg-type]  # fmt: skip

    if value.read is None:
        return row(NOT_HERE, "no command of hearth measures it")
    try:
        filled = partial(fill, numbers=head.numbers, scale=head.scale)
        one = _measured(value.read, value.unit, lines, filled)
    except LookupError as missing:
        return row(NOT_HERE, str(missing.args[0]))
    taken = of.answer_of(value).kind == "taken"
    if not isinstance(one, Measured):
        why = _TAKEN if taken else "a number of its machine, which no other can share"
        return row(NOT_HERE, why, measured=one)
    known = {"measured": _in_unit(one.ratio, value.unit), "interval": _ends(one, value.unit)}
    lacks = [_TAKEN] if taken else [few(need, head.numbers) for need in value.needs]
    if value.value is None or any(lacks):
        lacks += ["not published as one number"] if value.value is None else []
        return row(NOT_HERE, "; ".join(filter(None, lacks)), **known)
    verdict = judged(_ratio(value.value, value.unit), one)
    less = value.read.of == "most" and _in_unit(one.ratio, value.unit) < value.value
    if verdict == CONTRADICTED and less:
        return row(UNDECIDED, "published as the most: what did not run may reach it", **known)
    return row(verdict, _TOO_LITTLE if verdict == UNDECIDED else None, **known)


def _in_unit(ratio: float, unit: str) -> float:
    """Return a ratio of times, or of a measure's values, in the unit of the published one."""
    if unit not in RATIOS:
        return 100 * (1 / ratio - 1)  # so much more of a measure
    return {"times": ratio, "%": 100 * (ratio - 1), "% less": 100 * (1 - 1 / ratio)}[unit]


def _ratio(value: float, unit: str) -> float:
    """Return the ratio that a value is in its unit."""
    if unit not in RATIOS:
        return 1 / (1 + value / 100)
    return {"times": value, "%": 1 + value / 100, "% less": 1 / (1 - value / 100)}[unit]


def _ends(one: Measured, unit: str) -> list[float] | None:
    if one.interval is None:
        return None
    return sorted(_in_unit(end, unit) for end in one.interval)


def _measured(
    read: Reading, unit: str, lines: Mapping[str, StepLine], filled: Filled
) -> Measured | float:
    """Return a ratio, or a value that is none; raise LookupError, saying why, without it."""
    steps = read.step.split(",")
    if read.over is None:
        values = [_plain(replace(read, step=step), lines, filled) for step in steps]
        return {"most": max, "least": min}.get(read.of, statistics.fmean)(values)
    others = read.over_step.split(",") if read.over_step else steps
    if len(others) < len(steps):
        others *= len(steps)
    each = [_compared(replace(read, step=step, over_step=other), lines, filled)
            for step, other in zip(steps, others, strict=True)]  # fmt: skip
    if read.of == "mean":
        return Measured.of(mean(each))
    ends = {"most": max, "least": min}[read.of]
    return ends(map(Measured.of, each), key=lambda one: _in_unit(one.ratio, unit))


def _plain(read: Reading, lines: Mapping[str, StepLine], filled: Filled) -> float:
    return _arm(_line(read.step, lines).readings, filled(read.arm), read.measure)[1]


def _compared(read: Reading, lines: Mapping[str, StepLine], filled: Filled) -> list[float]:
    """Return the ratio of the other arm's value to this one's, of each run where that is known."""
    line, other = _line(read.step, lines), _line(read.over_step or read.step, lines)
    name, mine = _arm(line.readings, filled(read.arm), read.measure)
    base, theirs = _arm(other.readings, filled(read.over or ""), read.measure)
    if not mine or not theirs:
        raise LookupError(f"'{read.measure}' is 0 here: there is no ratio to it")
    each = [
        of.runs.get(arm, {}).get(read.measure, [0.0]) for of, arm in ((other, base), (line, name))
    ]
    return ratios(*each) if min(map(min, each)) > 0 else [theirs / mine]


def _line(step: str, lines: Mapping[str, StepLine]) -> StepLine:
    line = lines.get(step)
    if line is None:
        raise LookupError(f"the step '{step}' did not run")
    if not line.readings:
        raise LookupError("; ".join(line.reasons) or f"the step '{step}' measured nothing")
    return line


def _arm(readings: Readings, name: str, measure: str) -> tuple[str, float]:
    """Return a measure of an arm, or of the fastest whose name begins so, see `Reading`."""
    beginning = {"best": ""}.get(name, name.removesuffix("*") if "*" in name else f"{name} ")
    named = [name] if name in readings else [arm for arm in readings if arm.startswith(beginning)]
    if not named:
        raise LookupError(f"'{name}' did not run here")
    arm = min(named, key=lambda arm: readings[arm].get("seconds", math.inf))
    if readings[arm].get(measure) is None:
        raise LookupError(f"'{measure}' of '{arm}' was not measured here")
    return arm, readings[arm][measure]
