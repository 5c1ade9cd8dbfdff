"""Published studies that run here: their steps one after the other, each by its own command.

The steps' commands make comparisons, characterisations and the like, which are kept and resumed as
those of anybody; this keeps what they say in a journal of its own, a line for each step.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hearth.base.errors import UserError
from hearth.studies.engine.store import NEW, STUDY, Listed, Opening, Study, started_now
from hearth.studies.published.needs import Capabilities
from hearth.studies.published.preset import Preset, Request, Step, chosen, words
from hearth.studies.published.readings import readings, reasons, runs
from hearth.studies.published.result import Repeated, StepLine, StudyHead, repeated

#: A step has at least this, for its first repetition.
_LEAST_S = 1
#: Runs a command of hearth's and returns the document that it prints.
Command = Callable[[list[str]], dict[str, Any]]


@dataclass(frozen=True)
class ReadyStep:
    """A step with its command here, and why it cannot run; no reason where it can."""

    preset: str
    step: Step
    command: list[str]
    missing: list[str]


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
    """The time that all steps may take, by a clock in seconds; None for no limit."""

    ends_at: float | None = None
    clock: Callable[[], float] = time.monotonic

    def words(self, steps: int) -> list[str]:
        """Return the option that gives a step an equal part of what is left for so many."""
        if self.ends_at is None or not steps:
            return []
        part = (self.ends_at - self.clock()) / steps
        return ["--budget", f"{max(_LEAST_S, round(part))}s"]


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

    def run(self, steps: Sequence[ReadyStep], command: Command, budget: Budget) -> bool:
        """Run those that have not ended yet, in their order; whether one failed."""
        done = {(line.preset, line.name) for line in self.trials if line.state != "failed"}
        open_steps = [one for one in steps if (one.preset, one.step.name) not in done]
        for position, one in enumerate(open_steps):
            left = sum(not other.missing for other in open_steps[position:])
            self.keep(_line(one, command, budget.words(left)))
        last = {(line.preset, line.name): line for line in self.trials}
        return any(line.state == "failed" for line in last.values())

    def repeated(self) -> Repeated:
        """Return what the study says so far."""
        return repeated(self.head, self.trials)


def _line(one: ReadyStep, command: Command, budget: list[str]) -> StepLine:
    name, planned = one.step.name, one.step.run.startswith("plan ")
    words = one.command if planned else [*_command_name(one.command), *budget, *_rest(one.command)]
    if one.missing:
        return StepLine(one.preset, name, one.command, "skipped", one.missing)
    try:
        document = command(words)
        read, why = readings(document), reasons(document)
    except (UserError, ValueError) as problem:
        return StepLine(one.preset, name, one.command, "failed", [str(problem)])
    state = "ran" if read and not why else "failed"
    kept = document.get("id")
    return StepLine(one.preset, name, one.command, state, why, kept, read, runs(document))


def _command_name(words: Sequence[str]) -> Sequence[str]:
    return words[: 2 if words[0] == "lab" else 1]


def _rest(words: Sequence[str]) -> Sequence[str]:
    return words[len(_command_name(words)) :]
