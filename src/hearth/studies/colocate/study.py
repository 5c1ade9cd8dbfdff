"""Run applications at the same time on shares of this machine, and in the arms it is compared with.

Each round is kept as it ends, so that after kill -9 it goes on where it was. What they say is
derived from what is kept (hearth.studies.colocate.result), and not stored.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

from hearth.base.codec import LEFT_OUT
from hearth.base.errors import UserError
from hearth.base.limits import AboveZero, Count, OneOf, Positive
from hearth.base.redaction import Redaction
from hearth.record.store import slug
from hearth.studies.colocate.applications import (
    ColocatedApplication,
    alone,
    on_share,
    unbound,
)
from hearth.studies.colocate.concurrent_runs import Lane, Loop, together
from hearth.studies.colocate.machine_counts import Counting
from hearth.studies.colocate.partition import Units
from hearth.studies.engine.arms import Arm
from hearth.studies.engine.progress import StudyProgress
from hearth.studies.engine.runner import measured, run_on_record
from hearth.studies.engine.schedule import Repetitions, StudyDesign, conduct
from hearth.studies.engine.store import COLOCATE, NEW, Listed, Opening, Study, started_now
from hearth.studies.engine.trial import ConcurrentRun, Trial, Turn
from hearth.studies.models.colocation import Curve, Estimate, Objective, show_split

#: The arms, and what each is.
ARMS = {
    "split": "each bound to its own share, as planned for it",
    "unbound": "at the same time on all CPUs, unbound, in the configuration of the shares",
    "whole": "at the same time on all CPUs, unbound, each as planned for the whole machine",
    "serial": "one after the other, each as planned for the whole machine",
}
_NEEDED = ("split", "serial")
ALONE = "alone on "


def parse_arms(text: str) -> list[str]:
    """Return the arms of `--arms`; raise UserError for others, and where one is missing."""
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in ARMS or names.count(name) > 1:
            raise UserError(
                f"--arms: '{name}' is unknown or repeated: use {', '.join(ARMS)}, each at most once"
            )
    for name in _NEEDED:
        if name not in names:
            raise UserError(
                f"--arms: '{text}' lacks {name}, with which the others are compared: add it"
            )
    return names


def parse_loop(text: str) -> list[float]:
    """Return the seconds of a loop and of each end of it that is not measured, a sixth of it unless
    it is given; raise UserError for others than `MINUTES[,RAMP]`.
    """
    length, comma, end = text.partition(",")
    try:
        minutes = float(length)
        ramp = float(end) if comma else minutes / 6
    except ValueError:
        raise UserError(f"--loop: '{text}' is not MINUTES[,RAMP]: use e.g. 90,15") from None
    if not 0 < minutes < float("inf") or not 0 <= ramp < minutes / 2:
        raise UserError(
            f"--loop: {minutes:g} minutes leave nothing to measure between two ramps of {ramp:g}: "
            "use more minutes, or a shorter ramp"
        )
    return [minutes * 60, ramp * 60]


@dataclass(frozen=True)
class ColocationSettings:
    """The settings of a colocation. split: as given; None for the best that is predicted.

    loop: seconds of a loop and of each end of it that is not measured; None for once.
    profile_first: whether each application first runs alone on each share.
    """

    objective: Objective
    arms: list[Annotated[str, OneOf("split", "unbound", "whole", "serial")]]
    repeat: Positive
    warmup: Count
    seed: Count
    limit_s: AboveZero
    profile_first: bool
    split: str | None = None  #: as asked
    loop: list[float] | None = None

    @property
    def looped(self) -> Loop | None:
        return None if self.loop is None else Loop(*self.loop)


@dataclass(frozen=True)
class Member:
    """An application: its name here, and what was typed."""

    name: str
    command: list[str]  #: as typed, without secrets


@dataclass(frozen=True)
class KnownCurve:
    """An application's slowdown on a part of the machine, by the number of its units."""

    application: str
    slowdown: dict[str, Estimate]
    alone_s: float | None = None

    @property
    def curve(self) -> Curve:
        slowdown = {int(units): one for units, one in self.slowdown.items()}
        return Curve(self.application, slowdown, self.alone_s)


@dataclass(frozen=True)
class PriorCurves:
    """Predictions before a run. source: where from, in words. stretch, notes, used: see `Shared`.

    nodes: how many NUMA nodes are split; None where cores are.
    """

    source: str
    curves: list[KnownCurve]
    notes: list[str] = field(default_factory=list)
    stretch: float | None = None
    used: list[float] | None = field(default=None, metadata=LEFT_OUT)
    nodes: int | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class PlannedColocation:
    """The applications, the parts of the machine that they share, and the splits to choose from.

    known: from earlier runs of each.
    """

    applications: Sequence[ColocatedApplication]
    units: Units
    settings: ColocationSettings
    known: PriorCurves | None
    ways: Sequence[tuple[int, ...]]

    @property
    def members(self) -> list[Member]:
        return [Member(one.name, one.command) for one in self.applications]

    @property
    def redaction(self) -> Redaction:
        return Redaction.of({k: v for one in self.applications for k, v in one.settings.items()})


@dataclass(frozen=True)
class ColocationHead:
    """`colocation.json`. units: the CPUs of each part of the machine, of this kind."""

    schema: Literal["hearth/colocation-head/1"]
    id: str
    started: str
    members: list[Member]
    kind: Literal["node", "core"]
    units: list[str]
    settings: ColocationSettings
    known: PriorCurves | None = None

    @property
    def title(self) -> str:
        return " + ".join(member.name for member in self.members)


class Colocation(Study[ColocationHead, Trial]):
    """One colocation on disk, and the rounds in it."""

    kind, head_type, line_type = COLOCATE, ColocationHead, Trial

    @staticmethod
    def begin(home: Path, planned: PlannedColocation, opening: Opening = NEW) -> "Colocation":
        """Return a new, empty one below `home`, or the one to go on with."""

        def head(number: str) -> ColocationHead:
            return ColocationHead(
                schema="hearth/colocation-head/1",
                id=number,
                started=started_now(),
                members=planned.members,
                kind=planned.units.kind,
                units=planned.units.shown,
                settings=planned.settings,
                known=planned.known,
            )

        names = "-".join(Path(one.name).stem for one in planned.applications)
        return Colocation.open(home, names, head, replace(opening, redaction=planned.redaction))

    @staticmethod
    def identity(head: ColocationHead) -> dict[str, object]:
        words = [word for member in head.members for word in ("--", *member.command)]
        return {"applications": words[1:], "CPUs": head.units, **vars(head.settings)}

    @staticmethod
    def listed(head: ColocationHead) -> Listed:
        return Listed(head.started, head.title, head.settings.arms)

    def fits(self, line: Trial) -> bool:
        return all(0 <= run.member < len(self.head.members) for run in line.runs or ())


#: By subject and arm, who takes part in a round: its place in the head, and how it is run.
Rounds = dict[tuple[str, str], list[tuple[int, ColocatedApplication, Arm]]]


def profile_alone(
    colocation: Colocation, planned: PlannedColocation, progress: StudyProgress
) -> None:
    """Run each application alone on the whole machine, and on each share that it may get.

    Raises UserError where one fails: there is nothing to split then.
    """
    units, limit = planned.units, colocation.head.settings.limit_s
    whole = len(units.cpus)
    rounds: Rounds = {}
    for at, one in enumerate(planned.applications):
        for size in sorted({*(way[at] for way in planned.ways), whole}):
            name = f"{ALONE}{size}"
            (share,) = units.shares((size,))
            bound = (one, units, share, name, limit)
            arm = alone(one, name, limit) if size == whole else on_share(*bound)
            rounds[one.name, name] = [(at, one, arm)]
    _conduct(colocation, rounds, None, progress)
    for trial in colocation.trials:
        if trial.failure is not None and trial.arm.startswith(ALONE):
            failed = f"{trial.turn.subject} {trial.arm}: {trial.failure}"
            raise UserError(f"{failed}; make it run with 'hearth submit' first")


def run(
    colocation: Colocation,
    planned: PlannedColocation,
    split: Sequence[int],
    progress: StudyProgress,
    budget_s: float | None = None,
) -> None:
    """Make the rounds that are missing, of the split and of what it is held against."""
    title = colocation.head.title
    rounds: Rounds = {
        (title, name): [
            (at, *one) for at, one in enumerate(zip(planned.applications, arms, strict=True))
        ]
        for name, arms in ways_of(planned, split).items()
    }
    _conduct(colocation, rounds, show_split(split), progress, budget_s)


def _conduct(
    colocation: Colocation,
    rounds: Rounds,
    split: str | None,
    progress: StudyProgress,
    budget_s: float | None = None,
) -> None:
    """Run the rounds that are missing."""
    settings, arms = colocation.head.settings, dict[str, list[str]]()
    for subject, name in rounds:
        arms.setdefault(subject, []).append(name)
    design = StudyDesign(arms, settings.repeat, settings.warmup, settings.seed, budget_s)
    conduct(
        Repetitions(design),
        lambda turn: _round(colocation, turn, rounds[turn.subject, turn.arm], split),
        colocation.keep,
        earlier=[trial for trial in colocation.trials if trial.turn.subject in arms],
        progress=progress,
    )


def ways_of(planned: PlannedColocation, split: Sequence[int]) -> dict[str, list[Arm]]:
    """Return how each application runs in each arm. Raises UserError where a share is too small."""
    units, limit = planned.units, planned.settings.limit_s
    pairs = list(zip(planned.applications, units.shares(split), strict=True))
    made: dict[str, Callable[[ColocatedApplication, tuple[int, ...]], Arm]] = {
        "split": lambda one, share: on_share(one, units, share, "split", limit),
        "unbound": lambda one, share: unbound(one, units, share, share, "unbound", limit),
        "whole": lambda one, share: unbound(one, units, share, units.all, "whole", limit),
        "serial": lambda one, share: alone(one, "serial", limit),
    }
    return {arm: [made[arm](one, share) for one, share in pairs] for arm in planned.settings.arms}


def _round(
    colocation: Colocation,
    turn: Turn,
    members: Sequence[tuple[int, ColocatedApplication, Arm]],
    split: str | None,
) -> Trial:
    """Return one turn: all at once, or one after the other.

    Its seconds are from the start of the first run to the end of the last.
    """
    serial = turn.arm == "serial"
    lanes = [_lane(colocation, turn, *member) for member in members]
    loop = colocation.head.settings.looped if len(lanes) > 1 and not serial else None
    ran: list[ConcurrentRun] = []
    counting = Counting(loop)
    for batch in [[lane] for lane in lanes] if serial else [lanes]:
        begun = max((one.end_s for one in ran), default=0.0)
        first = lanes.index(batch[0])
        ran += [
            replace(
                one,
                member=members[first + one.member][0],
                start_s=round(begun + one.start_s, 3),
                end_s=round(begun + one.end_s, 3),
            )
            for one in together(batch, loop, look=counting.look)
        ]
    machine = counting.counted()
    runs = [replace(one, trial=_with_record(colocation, one.trial)) for one in ran]
    failure = _failure(colocation.head, runs, loop)
    seconds = None if failure else max((run.end_s for run in runs), default=0.0)
    return Trial(turn, seconds, failure, runs=runs, split=split, machine=machine)


def _lane(
    colocation: Colocation, turn: Turn, at: int, application: ColocatedApplication, arm: Arm
) -> Lane:
    def make(number: int) -> Trial:
        log = f"{slug(turn.arm)}-{turn.repetition}-{at}-{number}"
        trial = run_on_record(colocation, application.target, arm, turn, log)
        return replace(trial, streaming=None)

    return Lane(turn, make, arm.cpus)


def _with_record(colocation: Colocation, trial: Trial) -> Trial:
    """Return one application's run with its measures; its seconds are from its start to its end."""
    if trial.seconds is None:
        return trial
    if trial.record is None:
        return replace(trial, seconds=None, failure="left no record")
    return replace(measured(colocation, trial), seconds=trial.wall_s)


def _failure(head: ColocationHead, runs: Sequence[ConcurrentRun], loop: Loop | None) -> str | None:
    """Return why a round does not count.

    An application that was stopped with its loop did not fail.
    """
    problems = [
        f"{head.members[run.member].name}: {run.trial.failure}"
        for run in runs
        if run.trial.failure is not None
    ]
    if loop is not None and not problems:
        ended = {run.member for run in runs if run.trial.seconds and loop.counts(run.end_s)}
        problems = [
            f"{head.members[at].name}: no run of it ended in the middle: give a longer --loop"
            for at in sorted({run.member for run in runs} - ended)
        ]
    return "; ".join(problems) or None
