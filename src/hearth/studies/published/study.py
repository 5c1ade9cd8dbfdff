"""Published studies that run here: their steps one after the other, each by its own command.

The steps' commands make comparisons, characterisations and the like, which are kept and resumed as
those of anybody; this keeps what they say in a journal of its own, a line for each step.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hearth.base.errors import UserError
from hearth.studies.engine.statistics import FEWEST_PAIRS
from hearth.studies.engine.store import NEW, STUDY, Listed, Opening, Study, started_now
from hearth.studies.published.needs import Capabilities
from hearth.studies.published.preset import (
    Preset,
    Request,
    Step,
    bound_steps,
    chosen,
    preset,
    words,
)
from hearth.studies.published.readings import readings, reasons, runs
from hearth.studies.published.result import Repeated, StepLine, StudyHead, repeated

#: A step has at least this, for runs enough that there is an interval.
LEAST_S = 120
#: Runs a command of hearth's and returns the document that it prints.
Command = Callable[[list[str]], dict[str, Any]]


@dataclass(frozen=True)
class ReadyStep:
    """A step with its command here, and why it cannot run; no reason where it can."""

    preset: str
    step: Step
    command: list[str]
    missing: list[str]

    @property
    def takes_time(self) -> bool:
        """Whether it runs something: one that is missing does not, and a plan is at once there."""
        return not self.missing and not self.step.run.startswith("plan ")


def ready(preset: Preset, request: Request, machine: Capabilities) -> list[ReadyStep]:
    """Return the steps that are asked for; nothing runs."""
    cold = preset.cold and not request.warm and machine.lack("cold") is None
    return [
        ReadyStep(
            preset.name,
            step,
            words(preset, step, request, machine.numbers, cold=cold),
            machine.missing(step, request.scale),
        )
        for step in chosen(preset, request)
    ]


@dataclass(frozen=True)
class Budget:
    """The time that all steps may take, by a clock in seconds; infinite for no limit."""

    ends_at: float = math.inf
    clock: Callable[[], float] = time.monotonic

    @property
    def left_s(self) -> float:
        return self.ends_at - self.clock()

    def fitting(self, steps: Sequence[ReadyStep]) -> list[ReadyStep]:
        """Return those for which there is time, first those that say whether binding pays."""
        if not math.isfinite(self.left_s):
            return list(steps)
        first = sorted(steps, key=lambda one: one.step.name not in bound_steps(preset(one.preset)))
        number = max(1, round(self.left_s) // LEAST_S)
        late = [one for one in first if one.takes_time][number:]
        return [one for one in first if one not in late]

    def words(self, steps: int) -> list[str]:
        """Return the option that gives a step an equal part of what is left for so many."""
        if not math.isfinite(self.left_s):
            return []
        return ["--budget", f"{max(1, round(self.left_s / steps))}s"]


class PublishedStudy(Study[StudyHead, StepLine]):
    """One on disk."""

    kind, head_type, line_type = STUDY, StudyHead, StepLine

    @staticmethod
    def begin(
        home: Path,
        presets: Sequence[str],
        request: Request,
        machine: Capabilities,
        opening: Opening = NEW,
    ) -> "PublishedStudy":
        """Return a new one below `home`, or the one to go on with."""
        steps = None if request.steps is None else list(request.steps)
        what = (request.scale, dict(machine.numbers), request.repeat, request.warmup, steps)
        now = (list(presets), started_now(), *what)
        name = presets[0] if len(presets) == 1 else "studies"
        return PublishedStudy.open(home, name, lambda number: StudyHead(number, *now), opening)

    @staticmethod
    def identity(head: StudyHead) -> dict[str, object]:
        return {name: of for name, of in vars(head).items() if name not in ("id", "started")}

    @staticmethod
    def listed(head: StudyHead) -> Listed:
        name = head.presets[0] if len(head.presets) == 1 else f"{len(head.presets)} experiments"
        return Listed(head.started, name, [f"scale {head.scale:g}", *(head.steps or ())])

    def left(self, steps: Sequence[ReadyStep]) -> list[ReadyStep]:
        """Return those that have not ended yet; then those with too few runs for an interval."""
        ended = {(line.preset, line.name): line for line in self.trials if line.state != "failed"}
        lines = [ended.get((one.preset, one.step.name)) for one in steps]
        few = [one for one, line in zip(steps, lines, strict=True) if line and self._is_short(line)]
        return [one for one, line in zip(steps, lines, strict=True) if line is None] + few

    def _is_short(self, line: StepLine) -> bool:
        enough = min(FEWEST_PAIRS, self.head.repeat or preset(line.preset).repeat)
        return any(len(each["seconds"]) < enough for each in line.runs.values())

    def run(self, steps: Sequence[ReadyStep], command: Command, budget: Budget) -> bool:
        """Run these until the budget is over, in their order; whether one failed."""
        begun = False
        for position, one in enumerate(steps):
            if one.takes_time and begun and budget.left_s < LEAST_S / 2:
                continue  # the steps before took longer
            begun = begun or one.takes_time
            left = sum(other.takes_time for other in steps[position:])
            self.keep(_line(one, command, budget.words(left) if one.takes_time else []))
        last = {(line.preset, line.name): line for line in self.trials}
        return any(line.state == "failed" for line in last.values())

    def repeated(self) -> Repeated:
        """Return what the study says so far."""
        return repeated(self.head, self.trials)


def _line(one: ReadyStep, command: Command, budget: list[str]) -> StepLine:
    name = one.step.name
    words = [*_command_name(one.command), *budget, *_rest(one.command)]
    if one.missing:
        return StepLine(one.preset, name, one.command, "skipped", one.missing)
    try:
        document = command(words)
        read, why = readings(document), reasons(document)
    except (UserError, ValueError) as problem:
        return StepLine(one.preset, name, one.command, "failed", [str(problem)])
    state = "ran" if read and not why else "failed"
    kept = document.get("series", document).get("id")
    return StepLine(one.preset, name, one.command, state, why, kept, read, runs(document))


def _command_name(words: Sequence[str]) -> Sequence[str]:
    return words[: 2 if words[0] == "lab" else 1]


def _rest(words: Sequence[str]) -> Sequence[str]:
    return words[len(_command_name(words)) :]
