"""Run applications at the same time on shares of this machine, and in the arms it is compared with.

Each round is kept as it ends, so that after kill -9 it goes on where it was. What they say is
derived from what is kept (hearth.studies.colocate.result), and not stored.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

from hearth.base.absent import Measured
from hearth.base.codec import LEFT_OUT
from hearth.base.errors import UserError
from hearth.base.limits import AboveZero, Count, OneOf, Positive
from hearth.base.redaction import Redaction
from hearth.record.store import claimed, read_record, records_home, slug
from hearth.studies.colocate.applications import (
    ColocatedApplication,
    alone,
    name_of,
    on_share,
    unbound,
)
from hearth.studies.colocate.concurrent_runs import STOPPED, ConcurrentRun, Lane, Loop, together
from hearth.studies.colocate.machine_counts import Counting
from hearth.studies.colocate.partition import Units
from hearth.studies.engine.arms import Arm
from hearth.studies.engine.measures import measures
from hearth.studies.engine.progress import StudyProgress
from hearth.studies.engine.schedule import Repetitions, StudyDesign, conduct
from hearth.studies.engine.store import COLOCATE, NEW, Opening, StudyDirectory, started_now
from hearth.studies.engine.trial import Trial, Turn
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
        found = {int(units): one for units, one in self.slowdown.items()}
        return Curve(self.application, found, self.alone_s)


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


@dataclass(frozen=True)
class MemberRun:
    """One run in a round. member: its place in the head. start_s, end_s: from the round's start."""

    member: int
    start_s: float
    end_s: float
    record: str | None = None
    seconds: float | None = None
    failure: str | None = None
    stopped: bool = False
    measures: dict[str, Measured[float]] | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class RoundLine:
    """A line of `rounds.jsonl`. subject: all applications, or the one that ran alone."""

    subject: str
    arm: str
    repetition: int
    split: str | None
    runs: list[MemberRun]
    failure: str | None = None
    #: of the whole machine, see `machine_counts`
    machine: dict[str, Measured[float]] | None = field(default=None, metadata=LEFT_OUT)

    @property
    def elapsed_s(self) -> float:
        """The time from the start of the first run to the end of the last."""
        return max(run.end_s for run in self.runs) if self.runs else 0.0

    @property
    def turn(self) -> Turn:
        return Turn(self.subject, self.arm, self.repetition)

    @property
    def trial(self) -> Trial:
        seconds = None if self.failure else self.elapsed_s
        return Trial(self.turn, seconds=seconds, failure=self.failure)


class Colocation(StudyDirectory[ColocationHead, RoundLine]):
    """One colocation on disk, and the rounds in it."""

    kind, head_type, line_type = COLOCATE, ColocationHead, RoundLine

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
    def asked(head: ColocationHead) -> dict[str, object]:
        words = [word for member in head.members for word in ("--", *member.command)]
        return {"applications": words[1:], "CPUs": head.units, **vars(head.settings)}

    def fits(self, line: RoundLine) -> bool:
        return all(0 <= run.member < len(self.head.members) for run in line.runs)

    def records(self) -> Iterable[str | None]:
        return (run.record for line in self.lines for run in line.runs if run.seconds)


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
    for line in colocation.lines:
        if line.failure is not None and line.arm.startswith(ALONE):
            raise UserError(
                f"{line.subject} {line.arm}: {line.failure}; make it run with 'hearth submit' first"
            )


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
    settings, made = colocation.head.settings, list[RoundLine]()
    arms: dict[str, list[str]] = {}
    for subject, name in rounds:
        arms.setdefault(subject, []).append(name)

    def make(turn: Turn) -> Trial:
        made.append(_round(colocation, turn, rounds[turn.subject, turn.arm], split))
        return made[-1].trial

    design = StudyDesign(arms, settings.repeat, settings.warmup, settings.seed, budget_s)
    conduct(
        Repetitions(design),
        make,
        lambda _trial: colocation.keep(made.pop()),
        earlier=[line.trial for line in colocation.lines if line.subject in arms],
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
) -> RoundLine:
    """Return one turn: all at once, or one after the other."""
    serial = turn.arm == "serial"
    lanes = [_lane(colocation, turn, *member) for member in members]
    loop = colocation.head.settings.looped if len(lanes) > 1 and not serial else None
    ran: list[ConcurrentRun] = []
    counting = Counting(loop)
    for batch in [[lane] for lane in lanes] if serial else [lanes]:
        begun = max((one.end_s for one in ran), default=0.0)
        first = lanes.index(batch[0])
        ran += [
            replace(r, lane=first + r.lane, start_s=begun + r.start_s, end_s=begun + r.end_s)
            for r in together(batch, loop, look=counting.look)
        ]
    machine = counting.counted()
    runs = [_member_run(colocation, members[one.lane][0], one) for one in ran]
    failure = _failure(colocation.head, runs, loop)
    return RoundLine(turn.subject, turn.arm, turn.repetition, split, runs, failure, machine)


def _lane(
    colocation: Colocation, turn: Turn, at: int, application: ColocatedApplication, arm: Arm
) -> Lane:
    def make(number: int) -> Trial:
        name = f"{slug(turn.arm)}-{turn.repetition}-{at}-{number}.log"
        log = colocation.directory / name
        with claimed(colocation.state_home, name_of(application)) as record:
            trial = application.target.run(turn, arm, record, log)
        if trial.failure is None:
            log.unlink(missing_ok=True)
        return replace(trial, streaming=None, result=None)

    return Lane(turn, make, arm.cpus)


def _member_run(colocation: Colocation, at: int, ran: ConcurrentRun) -> MemberRun:
    """Return one application's run; its seconds are the application's, from start to end."""
    trial = ran.trial
    times = (round(ran.start_s, 3), round(ran.end_s, 3))
    found = MemberRun(at, *times, trial.record, failure=trial.failure, stopped=trial.stopped)
    if trial.failure is not None:
        return found
    if trial.record is None:
        return replace(found, failure="left no record")
    record = read_record(records_home(colocation.state_home) / trial.record)
    colocation.check_alike(record)
    return replace(found, seconds=record.wall_s, measures=measures(record))


def _failure(head: ColocationHead, runs: Sequence[MemberRun], loop: Loop | None) -> str | None:
    """Return why a round does not count.

    An application that was stopped with its loop did not fail.
    """
    problems = [
        f"{head.members[run.member].name}: {run.failure}"
        for run in runs
        if run.failure is not None and run.failure != STOPPED
    ]
    if loop is not None and not problems:
        ended = {run.member for run in runs if run.seconds and loop.counts(run.end_s)}
        problems = [
            f"{head.members[at].name}: no run of it ended in the middle: give a longer --loop"
            for at in sorted({run.member for run in runs} - ended)
        ]
    return "; ".join(problems) or None
