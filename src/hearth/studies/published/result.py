"""The document of a published study that ran here: its table beside the published one."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from hearth.base.codec import LEFT_OUT
from hearth.base.limits import AboveZero, Count, OneOf, Time
from hearth.studies.published.preset import RATIOS, Preset, Reading, Schema, Value, fill
from hearth.studies.published.readings import Readings

#: Fills the places of an arm's name.
Filled = Callable[[str], str]
SCHEMA: Schema = "hearth/study/1"


@dataclass(frozen=True)
class StudyHead:
    """`study.json`: what was asked for. numbers: of the machine, as steps use them."""

    id: str
    preset: str
    started: str
    scale: AboveZero
    numbers: dict[str, int]
    repeat: Count | None = None
    warmup: Count | None = None
    steps: list[str] | None = None


@dataclass(frozen=True)
class StepLine:
    """A line of the journal: a step that has ended, or why it did not run.

    study: the id of the comparison or the like that it made. readings: see `readings`.
    """

    name: str
    command: list[str]
    #: ran: with all its runs. failed: not all of them. skipped: not possible here
    state: Annotated[str, OneOf("ran", "failed", "skipped")]
    reasons: list[str] = field(default_factory=list)
    study: str | None = field(default=None, metadata=LEFT_OUT)
    readings: dict[str, dict[str, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """A published value beside the one measured here."""

    what: str
    place: str  #: in the paper
    published: str  #: with its unit
    unit: str
    value: float | None = field(default=None, metadata=LEFT_OUT)  #: as published, where it is one
    measured: float | None = field(default=None, metadata=LEFT_OUT)  #: here, in the same unit
    #: measured / published
    ratio: float | None = field(default=None, metadata=LEFT_OUT)
    reason: str | None = field(default=None, metadata=LEFT_OUT)  #: why it was not measured here


@dataclass(frozen=True)
class Repeated:
    """What `hearth lab study run --json` prints."""

    schema: Schema
    id: str
    preset: str
    study: str  #: docs/sources.md
    title: str
    started: Time
    scale: AboveZero  #: of the study's data and counts
    steps: list[StepLine]
    rows: list[Row]
    #: parts of the experiment that hearth has no command for
    not_available: list[str]


def repeated(head: StudyHead, preset: Preset, lines: Sequence[StepLine]) -> Repeated:
    """Return what the steps so far say. Of a step with two lines the later one counts."""
    last = {line.name: line for line in lines}
    rows = [_row(value, last, lambda text: fill(text, head.numbers, head.scale))
            for value in preset.values]  # fmt: skip
    parts = [f"{part.what}: {part.why}" for part in preset.parts]
    return Repeated(
        SCHEMA, head.id, preset.name, preset.study, preset.title, head.started, head.scale,
        list(last.values()), rows, parts,
    )  # fmt: skip


def _row(value: Value, lines: Mapping[str, StepLine], filled: Filled) -> Row:
    row = (value.what, value.place, value.published, value.unit, value.value)
    if value.read is None:
        return Row(*row, reason="no command of hearth measures it")
    try:
        measured = _measured(value.read, value.unit, lines, filled)
    except LookupError as missing:
        return Row(*row, reason=str(missing.args[0]))
    ratio = None if not value.value else measured / value.value
    return Row(*row, measured=measured, ratio=ratio)


def _measured(read: Reading, unit: str, lines: Mapping[str, StepLine], filled: Filled) -> float:
    """Return it in the unit of the published one; raise LookupError, saying why, without it."""
    arm = _arm(_readings(read.step, lines), filled(read.arm), read.measure)
    if read.over is None:
        return arm
    other = _readings(read.over_step or read.step, lines)
    over = _arm(other, filled(read.over), read.measure)
    if not arm or not over:
        raise LookupError(f"'{read.measure}' is 0 here: there is no ratio to it")
    ratio = over / arm
    if unit not in RATIOS:
        return 100 * (1 / ratio - 1)  # so much more of a measure
    return {"times": ratio, "%": 100 * (ratio - 1), "% less": 100 * (1 - 1 / ratio)}[unit]


def _readings(step: str, lines: Mapping[str, StepLine]) -> Readings:
    line = lines.get(step)
    if line is None:
        raise LookupError(f"the step '{step}' did not run")
    if not line.readings:
        raise LookupError("; ".join(line.reasons) or f"the step '{step}' measured nothing")
    return line.readings


def _arm(readings: Readings, name: str, measure: str) -> float:
    """Return a measure of an arm, or of the fastest whose name begins so, see `Reading`."""
    beginning = {"best": ""}.get(name, name.removesuffix("*") if "*" in name else f"{name} ")
    named = [name] if name in readings else [arm for arm in readings if arm.startswith(beginning)]
    if not named:
        raise LookupError(f"'{name}' did not run here")
    arm = min(named, key=lambda arm: readings[arm].get("seconds", math.inf))
    if readings[arm].get(measure) is None:
        raise LookupError(f"'{measure}' of '{arm}' was not measured here")
    return readings[arm][measure]
