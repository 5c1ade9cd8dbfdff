"""A tune: which configuration of an application is fastest here, found in few runs.

The head says which configurations there are. Which trial comes next follows from it and from the
trials (hearth.studies.models.search), so that after kill -9 it goes on where it was and no finished
trial is lost. What it found is derived from both, and not stored.
"""

import math
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Literal

from hearth.analysis.findings import OTHER_LOAD_SHARE
from hearth.base.durations import show_seconds
from hearth.base.errors import UserError
from hearth.base.redaction import Redaction
from hearth.record.store import slug
from hearth.studies.engine.arms import UNBOUND, Arm, configured
from hearth.studies.engine.progress import StudyProgress
from hearth.studies.engine.runner import run_arm
from hearth.studies.engine.schedule import conduct
from hearth.studies.engine.store import NEW, TUNE, Listed, Opening, Study
from hearth.studies.engine.target import Target
from hearth.studies.engine.trial import Choice, Measures, Trial, Turn
from hearth.studies.models import search
from hearth.studies.models.performance_model import ModelEvidence
from hearth.studies.models.space import (
    SHUFFLE_PARTITIONS,
    STORAGE_SHARE,
    Configuration,
    MachineSize,
)
from hearth.studies.models.surrogate import PriorRuns
from hearth.studies.tune.result import TuneSettings
from hearth.studies.tune.search_space import Refused, SearchSpace

#: What a job may take beside its timed phases, when a trial of it is stopped early.
_BESIDE_S = 10.0
#: Of earlier tunes the newest are known; more would slow each choice down.
_EARLIER = 8
_OUT_OF_MEMORY = (
    *("OutOfMemory", "exit code 137", "ended with 137", "Container killed"),
    *("process for memory", "processes for memory"),  # memory_kills
)


@dataclass(frozen=True)
class TuneHead:
    """`tune.json`. command: as typed, without secrets. machine_key: tells machines apart."""

    schema: Literal["hearth/tune-head/1"]
    id: str
    application: str
    timed: str
    started: str
    command: list[str]
    settings: TuneSettings
    machine: MachineSize
    machine_key: str
    configurations: list[Configuration]
    proposal: int
    current: int
    refused: list[Refused]
    fixed: list[str]
    offered: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Raise ValueError for configurations that are not there."""
        number = len(self.configurations)
        if not all(0 <= at < number for at in (self.proposal, self.current)):
            raise ValueError("it names configurations that are not there")


class Tune(Study[TuneHead, Trial]):
    """One tune on disk, and the trials in it."""

    kind, head_type, line_type = TUNE, TuneHead, Trial

    def __init__(self, directory: Path, head: TuneHead, redaction: Redaction | None = None) -> None:
        super().__init__(directory, head, redaction)
        self.related: tuple[PriorRuns, ...] = ()

    @staticmethod
    def begin(
        home: Path,
        target: Target,
        search_space: Callable[[], tuple[SearchSpace, MachineSize]],
        settings: TuneSettings,
        command: Sequence[str],
        machine_key: str,
        opening: Opening = NEW,
    ) -> "Tune":
        """Return a new one below `home`, or the one to go on with, with these settings; it knows
        the earlier ones there.

        search_space: looks for the configurations of a new one, and at its machine.
        """
        made = None if opening.resume is not None else search_space()

        def head(number: str) -> TuneHead:
            space, machine = made or search_space()
            return TuneHead(
                schema="hearth/tune-head/1",
                id=number,
                application=target.name,
                timed=target.timed,
                started=datetime.now(UTC).isoformat(timespec="microseconds"),
                command=list(command),
                settings=settings,
                machine=machine,
                machine_key=machine_key,
                **{name: getattr(space, name) for name in _OF_SPACE},
            )

        identity = {"command": list(command)}
        tune = Tune.open(home, Path(target.name).stem, head, opening, identity)
        tune.related = earlier(home, tune.head)
        if settings != tune.head.settings:
            tune.head = replace(tune.head, settings=settings)
            tune.write_head()
        return tune

    @staticmethod
    def identity(head: TuneHead) -> dict[str, object]:
        return {"command": head.command}

    @staticmethod
    def listed(head: TuneHead) -> Listed:
        return Listed(head.started, head.application, [f"budget {head.settings.budget}"])

    def fits(self, line: Trial) -> bool:
        number = len(self.head.configurations)
        return line.choice is not None and 0 <= line.choice.configuration < number

    @property
    def task(self) -> search.Task:
        """The task of the search."""
        head = self.head
        configurations = tuple(head.configurations)
        ways = (configurations, head.proposal, head.current)
        limits = (head.settings.budget, head.settings.runs)
        return search.Task(head.machine, *ways, *limits, self.related)

    @property
    def searched(self) -> list[search.SearchTrial]:
        """The trials so far, as the search reads them."""
        return [search_trial(self.head, trial) for trial in self.trials]


_OF_SPACE = ("configurations", "proposal", "current", "refused", "fixed", "offered")


def configuration_of(trial: Trial) -> int:
    """Return which configuration a tune's trial was of."""
    assert trial.choice is not None, "a trial of a tune has one"
    return trial.choice.configuration


def search_trial(head: TuneHead, trial: Trial) -> search.SearchTrial:
    """Return a trial as the search reads it."""
    index = configuration_of(trial)
    reached = trial.seconds if trial.seconds is not None else trial.stopped_s
    measured, failure = trial.measures or {}, trial.failure or ""
    out_of_memory = any(word in failure for word in _OUT_OF_MEMORY)
    evidence, idle = evidence_of(measured), _idle(measured) & set(head.offered)
    stopped = trial.stopped_s is not None
    return search.SearchTrial(index, reached, stopped, out_of_memory, evidence, idle)


def _idle(measures: Measures) -> frozenset[str]:
    """Return settings that a run shows to have nothing to act on."""
    acts = {SHUFFLE_PARTITIONS: "sql_shuffle_mb", STORAGE_SHARE: "spilled_mb"}
    return frozenset(key for key, name in acts.items() if measures.get(name) == 0)


def evidence_of(measures: Measures) -> ModelEvidence:
    """Return what a run's measures tell the performance model.

    CPU measures are left out where other programs used CPU time.
    """
    known = {name: float(v) for name, v in measures.items() if isinstance(v, int | float)}
    share, switches, cpu_s = (known.get(n) for n in ("gc_share", "voluntary", "cpu_s"))
    alone = known.get("other_load", 0.0) <= OTHER_LOAD_SHARE
    return ModelEvidence(
        None if share is None else share / max(1 - share, 0.01),
        known.get("cpu_use") if alone else None,
        known.get("bandwidth_share") if alone else None,
        switches / cpu_s if switches is not None and cpu_s else None,
    )


def read_tune(directory: Path) -> Tune:
    """Return one from disk, which knows the earlier ones; raise UserError where there is none."""
    tune = Tune.read(directory)
    tune.related = earlier(tune.state_home, tune.head)
    return tune


def earlier(home: Path, head: TuneHead) -> tuple[PriorRuns, ...]:
    """Return the measurements of the newest earlier tunes, of any application and machine."""
    prior_runs: list[PriorRuns] = []
    for directory in reversed(TUNE.directories(home)):
        if len(prior_runs) == _EARLIER:
            break
        try:
            tune = Tune.read(directory)
            known = _known(tune) if tune.head.started < head.started else None
        except (UserError, OSError, ValueError):  # it is listed by name in `hearth runs`
            continue
        if known is not None:
            prior_runs.append(known)
    return tuple(prior_runs)


def _known(tune: Tune) -> PriorRuns | None:
    """Return the mean seconds of its configurations; None where fewer than two were measured."""
    import numpy as np

    head = tune.head
    logs: dict[int, list[float]] = {}
    for trial in tune.trials:
        if trial.seconds is not None:
            logs.setdefault(configuration_of(trial), []).append(math.log(trial.seconds))
    if len(logs) < 2:
        return None
    ways = [head.configurations[index] for index in logs]
    values = np.array([np.mean(of) for of in logs.values()])
    cells = tuple(way.cell for way in ways)
    return PriorRuns(head.machine, cells, values, tuple(way.choices for way in ways))


def run(
    tune: Tune,
    target: Target,
    settings: Mapping[str, str],
    progress: StudyProgress,
    typed: Collection[str | None] = (),
) -> search.Stop:
    """Make trials until it is enough; the reason. settings: the user's own. typed: the keys of
    those that the user typed.

    Raises UserError where neither the plan's proposal nor the user's configuration ends.
    """
    schedule = _TuneSchedule(tune, target, settings, typed, progress)
    conduct(schedule, schedule.run, schedule.keep, progress=progress)
    return schedule.end


class _TuneSchedule:
    """The schedule of a tune: one trial at a time, which the search chooses."""

    def __init__(
        self,
        tune: Tune,
        target: Target,
        settings: Mapping[str, str],
        typed: Collection[str | None],
        progress: StudyProgress,
    ) -> None:
        self._tune, self._target, self._progress = tune, target, progress
        self._settings, self._typed = settings, typed
        self._step: search.SearchStep
        self._arm: Arm
        self.end: search.Stop

    def next_turns(self, _trials: Sequence[Trial]) -> Sequence[Turn]:
        tune = self._tune
        step = search.next_step(tune.task, tune.searched)
        _refuse_hopeless(tune, step)
        if isinstance(step, search.Stop):
            self.end = step
            return []
        self._step, self._arm = step, _arm(tune, step, self._settings, self._typed)
        self._progress.question = _question(tune, step)
        before = sum(configuration_of(trial) == step.index for trial in tune.trials)
        return [Turn(self._target.name, self._arm.name, before)]

    def after(self, turn: Turn, _trials: Sequence[Trial]) -> Sequence[Turn]:
        return [turn] * (self._tune.head.settings.budget - len(self._tune.trials) - 1)

    def run(self, turn: Turn) -> Trial:
        step, tune, limit_s = self._step, self._tune, self._arm.limit_s
        expected = None
        if step.before is not None:
            expected = [round(value, 4) for value in step.before.interval(step.index)]
        log = f"{slug(turn.arm)}-{step.index}-{turn.repetition}"
        trial = run_arm(tune, self._target, self._arm, turn, log)
        choice = Choice(step.index, step.role, expected, step.gain)
        return replace(_ended(trial, limit_s, tune.head.settings.limit_s), choice=choice)

    def keep(self, trial: Trial) -> None:
        if _is_newest_best(self._tune, trial):
            shown = self._tune.head.configurations[configuration_of(trial)].shown
            seconds = show_seconds(trial.seconds, 2)
            print(f"hearth: best so far: {shown}, {seconds}", file=sys.stderr, flush=True)
        self._tune.keep(trial)


def _ended(trial: Trial, limit_s: float | None, longest_s: float) -> Trial:
    """Return a trial that its limit ended as one that was stopped, or failed by the user's limit.

    longest_s: the user's limit.
    """
    wall_s = trial.wall_s
    if trial.failure is None or limit_s is None or wall_s is None or wall_s < limit_s:
        return trial
    if limit_s < longest_s:
        return replace(trial, failure=None, stopped_s=limit_s)
    return replace(trial, failure=f"was not over after {limit_s:g} s: give a longer --limit")


def _is_newest_best(tune: Tune, trial: Trial) -> bool:
    """Return whether a trial that has ended beats all that ended before, of which there are any."""
    if trial.seconds is None:
        return False
    earlier = [each.seconds for each in tune.trials if each.seconds is not None]
    return bool(earlier) and trial.seconds < min(earlier)


def _refuse_hopeless(tune: Tune, step: search.SearchStep | search.Stop) -> None:
    first = {tune.head.proposal, tune.head.current}
    failed = [trial for trial in tune.trials if trial.failure is not None]
    over = isinstance(step, search.Stop) or step.index not in first
    if not failed or not over or len(failed) < len(tune.trials):
        return
    why = failed[0].failure
    ways = "in its first run" if len(first) == 1 else "as planned and as typed"
    raise UserError(
        f"{tune.head.application} failed {ways}, so there is nothing to tune: {why}; "
        "make it run with 'hearth submit' first"
    )


def _question(tune: Tune, step: search.SearchStep) -> str:
    """Return the progress line of a trial: why it is made, and the best so far."""
    now = step.before
    role = {
        "proposal": "the plan",
        "current": "as typed",
        "search": "" if step.gain is None else f"may save {step.gain:.0%}",
        "repeat": "again, to be sure",
    }[step.role]
    if now is None:
        return role
    best = tune.head.configurations[now.best]
    runs = [trial for trial in tune.searched if trial.index == now.best]
    seconds = fmean(trial.seconds for trial in runs if trial.seconds is not None)
    return f"best so far {seconds:.2f} s ({best.shown}); {role}"


def _arm(
    tune: Tune, step: search.SearchStep, settings: Mapping[str, str], typed: Collection[str | None]
) -> Arm:
    way = tune.head.configurations[step.index]
    conf = way.conf(settings) if step.index != tune.head.current else dict(way.varied)
    unbound = way.executors and way.binding == "none"
    limit = tune.head.settings.limit_s
    if step.role == "search":
        limit = min(limit, _early_stop_limit_s(tune, step.before))
    words = UNBOUND if unbound else ()
    arm = Arm(way.shown, words, master=way.master, limit_s=limit)
    return configured(arm, conf, settings, typed, tune.state_home)


def _early_stop_limit_s(tune: Tune, now: search.Outlook | None) -> float:
    """Return when a trial cannot be the best any more, start and end of Spark included."""
    if now is None:
        return math.inf
    known = [one for one in tune.trials if configuration_of(one) == now.best and one.seconds]
    seconds = max(one.seconds or 0.0 for one in known)
    beside = max(one.wall_s or seconds for one in known) - seconds
    return search.EARLY_STOP_FACTOR * seconds + (beside + _BESIDE_S if beside > 1 else 0.0)
