"""A published study that runs here: its steps one after the other, each by its own command.

The steps' commands make comparisons, characterisations and the like, which are kept and resumed as
those of anybody; this keeps what they say in a journal of its own, a line for each step.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hearth.base.errors import UserError
from hearth.studies.engine.store import NEW, STUDY, Listed, Opening, Study, started_now
from hearth.studies.published.needs import Capabilities
from hearth.studies.published.preset import Preset, Request, Step, chosen, preset, words
from hearth.studies.published.readings import readings, reasons
from hearth.studies.published.result import Repeated, StepLine, StudyHead, repeated

#: Runs a command of hearth's and returns the document that it prints.
Command = Callable[[list[str]], dict[str, Any]]


@dataclass(frozen=True)
class ReadyStep:
    """A step with its command here, and why it cannot run; no reason where it can."""

    step: Step
    command: list[str]
    missing: list[str]


def ready(preset: Preset, request: Request, machine: Capabilities) -> list[ReadyStep]:
    """Return the steps that are asked for; nothing runs."""
    cold = preset.cold and not request.warm and machine.lack("cold") is None
    return [
        ReadyStep(
            step,
            words(preset, step, request, machine.numbers, cold=cold),
            machine.missing(step, request.scale),
        )
        for step in chosen(preset, request)
    ]


class PublishedStudy(Study[StudyHead, StepLine]):
    """One on disk."""

    kind, head_type, line_type = STUDY, StudyHead, StepLine

    @staticmethod
    def begin(
        home: Path, name: str, request: Request, machine: Capabilities, opening: Opening = NEW
    ) -> "PublishedStudy":
        """Return a new one below `home`, or the one to go on with."""
        steps = None if request.steps is None else list(request.steps)
        what = (request.scale, dict(machine.numbers), request.repeat, request.warmup, steps)
        now = (name, started_now(), *what)
        return PublishedStudy.open(home, name, lambda number: StudyHead(number, *now), opening)

    @staticmethod
    def identity(head: StudyHead) -> dict[str, object]:
        return {name: of for name, of in vars(head).items() if name not in ("id", "started")}

    @staticmethod
    def listed(head: StudyHead) -> Listed:
        return Listed(head.started, head.preset, [f"scale {head.scale:g}", *(head.steps or ())])

    def run(self, steps: Sequence[ReadyStep], command: Command) -> bool:
        """Run those that have not ended yet, in their order; whether one failed."""
        done = {line.name for line in self.trials if line.state != "failed"}
        for one in steps:
            if one.step.name not in done:
                self.keep(_line(one, command))
        last = {line.name: line for line in self.trials}
        return any(line.state == "failed" for line in last.values())

    def repeated(self) -> Repeated:
        """Return what the study says so far."""
        return repeated(self.head, preset(self.head.preset), self.trials)


def _line(one: ReadyStep, command: Command) -> StepLine:
    name = one.step.name
    if one.missing:
        return StepLine(name, one.command, "skipped", one.missing)
    try:
        document = command(one.command)
        read, why = readings(document), reasons(document)
    except (UserError, ValueError) as problem:
        return StepLine(name, one.command, "failed", [str(problem)])
    state = "ran" if read and not why else "failed"
    return StepLine(name, one.command, state, why, document.get("id"), read)
