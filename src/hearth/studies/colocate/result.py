"""Derive a colocation's result from its rounds: each slowdown, and the gain in throughput. Pure.

An application's slowdown in a round is its seconds there to those alone, one after the other, in
the same repetition; throughput, the worst slowdown and fairness follow from it as predictions do
(hearth.studies.models.colocation).
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from hearth.base.absent import Measured
from hearth.base.codec import LEFT_OUT
from hearth.base.limits import AboveZero, Count, OneOf
from hearth.studies.colocate.machine_counts import WORDS
from hearth.studies.colocate.study import (
    ALONE,
    ARMS,
    Colocation,
    ColocationHead,
    ColocationSettings,
    KnownCurve,
    Member,
    PriorCurves,
)
from hearth.studies.engine.measures import medians
from hearth.studies.engine.statistics import (
    CONFIDENCE,
    Ratio,
    against,
    each_confidence,
    paired_ratio,
)
from hearth.studies.engine.trial import ConcurrentRun, Trial
from hearth.studies.engine.validity import busy_runs
from hearth.studies.models.colocation import (
    Curve,
    Estimate,
    Objective,
    Shared,
    Split,
    fairness,
    predict,
    ranked,
    throughput,
    unbound,
)

SCHEMA: Literal["hearth/colocation/1"] = "hearth/colocation/1"
#: Of the measures of runs, those shown of each application.
SHOWN = ("involuntary", "voluntary", "remote_share", "gc_share", "cpu_use")


@dataclass(frozen=True)
class MemberResult:
    """An application in one arm."""

    name: str
    #: of the measured rounds; of a loop, the mean of its runs in the middle
    seconds: list[AboveZero]
    median_s: AboveZero | None = field(default=None, metadata=LEFT_OUT)
    #: completions an hour at the median
    per_hour: AboveZero | None = field(default=None, metadata=LEFT_OUT)
    #: to running alone in the same repetition
    slowdown: Estimate | None = field(default=None, metadata=LEFT_OUT)
    runs: Count = 0
    #: measured runs: of a loop, those that ended in its middle
    completed: Count = 0
    failures: list[str] = field(default_factory=list)
    #: medians over its runs
    measures: dict[str, Measured[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class ArmResult:
    """An arm: one way to run the applications."""

    name: Annotated[str, OneOf("split", "unbound", "whole", "serial")]
    what: str
    rounds: Count  #: that were measured
    members: list[MemberResult]
    #: seconds until all have ended, where each ran once; empty for a loop
    all_end_s: list[AboveZero] = field(default_factory=list)
    #: work an hour of applications that run again and again, one after the other = 1
    throughput: Estimate | None = field(default=None, metadata=LEFT_OUT)
    worst: Estimate | None = field(default=None, metadata=LEFT_OUT)  #: the largest slowdown
    #: the least slowdown to the largest
    fairness: Estimate | None = field(default=None, metadata=LEFT_OUT)
    #: this throughput to that of the split
    to_split: Estimate | None = field(default=None, metadata=LEFT_OUT)
    #: seconds until all have ended, to those of one after the other; absent for a loop
    all_end: Estimate | None = field(default=None, metadata=LEFT_OUT)
    #: of the whole machine, in the middle of a loop: context switches a second (switches_per_s),
    #: and allocations on another node than the task's a second (remote_per_s; numastat's
    #: other_node, where a huge page counts once); medians of rounds
    machine: dict[str, Measured[float]] | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class PredictionCheck:
    """Predicted against measured slowdown on the share."""

    name: str
    predicted: Estimate
    measured: Estimate
    error: float  #: predicted / measured - 1


@dataclass(frozen=True)
class Predicted:
    """The predicted splits."""

    source: str  #: what it was made from
    splits: list[Split]  #: the best by the objective first
    notes: list[str]  #: what is not in it
    #: the configurations of each of these splits, not bound; of one NUMA node there is none
    unbound: list[Split] | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class ShownRun:
    """The start and end of a run in its round."""

    application: Count  #: its place among the applications
    start_s: float  #: seconds from the round's start
    end_s: float
    #: as it ended itself, stopped when a loop was over, or failed
    end: Literal["itself", "stopped", "failed"]


@dataclass(frozen=True)
class ShownRound:
    """The last repetition of an arm, run by run."""

    arm: str
    repetition: Count
    runs: list[ShownRun]


@dataclass(frozen=True)
class Colocated:
    """The result of a colocation."""

    schema: Literal["hearth/colocation/1"]
    id: str | None  #: null where nothing was run or kept
    started: str | None
    applications: list[Member]
    kind: Annotated[str, OneOf("node", "core")]  #: what the machine is split into
    units: list[str]  #: CPUs of each part
    objective: Objective
    confidence: AboveZero  #: of the intervals of one measured figure, for all arms together
    split: str | None  #: parts of each application: what runs, or would
    prediction: Predicted | None
    settings: ColocationSettings | None = None
    arms: list[ArmResult] = field(default_factory=list)
    #: slowdown on the share, predicted and measured
    checks: list[PredictionCheck] = field(default_factory=list)
    sentence: str = ""  #: the best arm and whether it pays; empty where nothing ran
    warnings: list[str] = field(default_factory=list)
    #: the last repetition of each arm, run by run
    rounds: list[ShownRound] = field(default_factory=list)


def known_alone(head: ColocationHead, lines: Sequence[Trial], shared: Shared) -> PriorCurves | None:
    """Return what each application's runs alone show; None if there were none.

    The slowdown on a share is over pairs of runs of one repetition, with their interval.
    """
    whole = len(head.units)
    curves = []
    for member in head.members:
        times: dict[int, dict[int, float]] = {}
        for line in lines:
            is_measured = line.turn.subject == member.name and line.turn.counts
            if (
                is_measured
                and line.arm.startswith(ALONE)
                and line.runs
                and line.runs[0].trial.seconds
            ):
                units = int(line.arm.removeprefix(ALONE))
                times.setdefault(units, {})[line.repetition] = line.runs[0].trial.seconds
        base = times.get(whole, {})
        slow = {
            str(n): of
            for n, is_measured in times.items()
            if (of := _paired(is_measured, base)) is not None
        }
        if not base or not slow:
            return None
        alone_s = statistics.median(base.values())
        curves.append(KnownCurve(member.name, {**slow, str(whole): Estimate(1, 1, 1)}, alone_s))
    nodes = whole if head.kind == "node" else None
    notes = list(shared.notes)
    return PriorCurves("runs of each alone", curves, notes, shared.stretch, nodes=nodes)


def _paired(mine: dict[int, float], base: dict[int, float]) -> Estimate | None:
    both = sorted(mine.keys() & base.keys())
    if not both:
        return None
    return _estimate(paired_ratio([mine[r] for r in both], [base[r] for r in both]))


def _estimate(ratio: Ratio) -> Estimate:
    return Estimate(ratio.value, *(ratio.interval or ()))


_UNBOUND = (
    "unbound is the split's prediction, longer by what local memory was worth to five published "
    "workloads on four nodes of a POWER8; published gains of bound pairs reached 1.39 (Baig 2018)"
)


def predicted(
    known: PriorCurves, ways: Sequence[tuple[int, ...]], objective: Objective
) -> Predicted:
    """Return the splits of these, the best first."""
    curves: list[Curve] = [one.curve for one in known.curves]
    used = None if known.used is None else tuple(known.used)
    splits = predict(curves, ways, Shared(known.stretch, tuple(known.notes), used))
    best = ranked(splits, objective)
    if known.nodes is None or known.nodes < 2:
        return Predicted(known.source, best, known.notes)
    free = [unbound(split, known.nodes) for split in best]
    return Predicted(known.source, best, [*known.notes, _UNBOUND], free)


def colocated(colocation: Colocation, prediction: Predicted | None, split: str | None) -> Colocated:
    """Return the result of these rounds."""
    head, settings = colocation.head, colocation.head.settings
    lines = [line for line in colocation.trials if line.turn.subject == head.title]
    arms = arm_results(head, lines)
    checks = _checks(head, arms, prediction, split)
    return Colocated(
        schema=SCHEMA,
        id=head.id,
        started=head.started,
        applications=head.members,
        kind=head.kind,
        units=head.units,
        objective=settings.objective,
        confidence=CONFIDENCE,
        split=split,
        prediction=prediction,
        settings=settings,
        arms=arms,
        checks=checks,
        sentence=sentence(arms, settings, split),
        warnings=_disturbed(colocation.trials),
        rounds=_last_rounds(settings.arms, lines),
    )


def _last_rounds(arms: Sequence[str], lines: Sequence[Trial]) -> list[ShownRound]:
    rounds = []
    for arm in arms:
        measured = [line for line in lines if line.arm == arm and line.repetition >= 0]
        if measured:
            last = max(measured, key=lambda line: line.repetition)
            rounds.append(ShownRound(arm, last.repetition, _shown_runs(arm, last.runs or ())))
    return rounds


def _shown_runs(arm: str, runs: Sequence[ConcurrentRun]) -> list[ShownRun]:
    """Return the runs as long as the applications took, which is what all figures are of.

    What hearth does before and after each is left out, as it is of them.
    """
    shown: list[ShownRun] = []
    for run in runs:
        seconds = run.trial.seconds
        took = run.end_s - run.start_s if seconds is None else seconds
        before = max((one.end_s for one in shown), default=0.0) if arm == "serial" else run.start_s
        shown.append(_shown_run(run, before, took))
    return shown


def _shown_run(run: ConcurrentRun, start_s: float, took_s: float) -> ShownRun:
    end: Literal["itself", "stopped", "failed"] = "itself"
    if run.trial.stopped_s is not None:
        end = "stopped"
    elif run.trial.failure is not None:
        end = "failed"
    return ShownRun(run.member, round(start_s, 3), round(start_s + took_s, 3), end)


def _disturbed(lines: Sequence[Trial]) -> list[str]:
    """Return where other programs used much of the machine while an application ran alone.

    While several run, each one's record counts the others among the other programs.
    """
    alone = [line for line in lines if line.arm == "serial" or line.arm.startswith(ALONE)]
    runs = [run.trial for line in alone for run in line.runs or ()]
    shares = [(run.measures or {}).get("other_load") for run in runs]
    return busy_runs(shares, "runs alone", "colocate again")


def arm_results(head: ColocationHead, lines: Sequence[Trial]) -> list[ArmResult]:
    """Return each arm, with what it shows against running one after the other."""
    each = each_confidence(CONFIDENCE, max(len(head.settings.arms) - 1, 1))
    seconds = {
        (line.arm, line.repetition): _seconds(head, line)
        for line in lines
        if line.repetition >= 0 and line.failure is None
    }
    return [_arm(head, arm, lines, seconds, each) for arm in head.settings.arms]


def _seconds(head: ColocationHead, line: Trial) -> list[float]:
    """Return the seconds of each application in a measured round."""
    return [statistics.fmean(_counted(head, line, at)) for at in range(len(head.members))]


def _counted(head: ColocationHead, line: Trial, at: int) -> list[float]:
    """Return the seconds of each measured run of an application."""
    loop = head.settings.looped if line.arm != "serial" else None
    runs = [run for run in line.runs or () if run.member == at]
    ended = [run.trial for run in runs if loop is None or loop.counts(run.end_s)]
    return [trial.seconds for trial in ended if trial.seconds is not None]


_Seconds = dict[tuple[str, int], list[float]]


def _arm(
    head: ColocationHead, arm: str, lines: Sequence[Trial], seconds: _Seconds, each: float
) -> ArmResult:
    every = [line for line in lines if line.arm == arm]
    measured = [line for line in every if line.repetition >= 0]
    good = [line for line in measured if line.failure is None]
    paired = [
        line.repetition
        for line in good
        if arm != "serial" and ("serial", line.repetition) in seconds
    ]
    slow = [
        [mine / alone for mine, alone in zip(seconds[arm, r], seconds["serial", r], strict=True)]
        for r in paired
    ]
    members = [
        replace(_member(head, at, measured, seconds, slow, each), failures=_failures(at, every))
        for at in range(len(head.members))
    ]
    last = sum if arm == "serial" else max
    once = head.settings.loop is None or arm == "serial"
    ends = [last(seconds[arm, line.repetition]) for line in good] if once else []
    result = ArmResult(
        arm, ARMS[arm], len(good), members, [round(end, 3) for end in ends],
        machine=medians(WORDS, [line.machine for line in good]) or None,
    )  # fmt: skip
    if not slow:
        return result
    base = [sum(seconds["serial", r]) for r in paired]
    mine = [max(seconds[arm, r]) for r in paired]
    return replace(
        result,
        throughput=_over(slow, throughput, each),
        worst=_over(slow, max, each),
        fairness=_over(slow, fairness, each),
        to_split=_to_split(arm, seconds, each),
        all_end=_estimate(paired_ratio(mine, base, each)) if once else None,
    )


def _over(
    slow: Sequence[Sequence[float]], figure: Callable[[Sequence[float]], float], each: float
) -> Estimate:
    """Return the middle of a figure over repetitions, and its interval."""
    values = [figure(one) for one in slow]
    return _estimate(paired_ratio(values, [1.0] * len(values), each))


def _to_split(arm: str, seconds: _Seconds, each: float) -> Estimate | None:
    """Return throughput to the split's: over the repetitions that both and the serial arm have."""
    if arm == "split":
        return None
    both = sorted(
        r
        for name, r in seconds
        if name == arm and all((o, r) in seconds for o in ("split", "serial"))
    )
    if not both:
        return None

    def work(name: str, r: int) -> float:
        pairs = zip(seconds[name, r], seconds["serial", r], strict=True)
        return throughput([mine / alone for mine, alone in pairs])

    mine, theirs = ([work(name, r) for r in both] for name in (arm, "split"))
    return _estimate(paired_ratio(mine, theirs, each))


def _member(
    head: ColocationHead,
    at: int,
    lines: Sequence[Trial],
    seconds: _Seconds,
    slow: Sequence[Sequence[float]],
    each: float,
) -> MemberResult:
    trials = [run.trial for line in lines for run in line.runs or () if run.member == at]
    good = [seconds[line.arm, line.repetition][at] for line in lines if line.failure is None]
    median = statistics.median(good) if good else None
    return MemberResult(
        name=head.members[at].name,
        seconds=[round(s, 3) for s in good],
        median_s=median,
        per_hour=None if median is None else 3600 / median,
        slowdown=_over([[one[at]] for one in slow], max, each) if slow else None,
        runs=sum(run.seconds is not None for run in trials),
        completed=sum(len(_counted(head, line, at)) for line in lines if line.failure is None),
        measures=medians(SHOWN, [run.measures for run in trials]),
    )


def _failures(at: int, lines: Sequence[Trial]) -> list[str]:
    """Return how an application failed, in warm-ups too."""
    return [
        f"{'' if line.repetition >= 0 else 'in a warm-up, '}"
        f"after {run.end_s - run.start_s:.1f} s: {run.trial.failure}"
        for line in lines
        for run in line.runs or ()
        if run.member == at and run.trial.failure is not None
    ]


def _checks(
    head: ColocationHead, arms: Sequence[ArmResult], prediction: Predicted | None, split: str | None
) -> list[PredictionCheck]:
    """Compare prediction and measurement of each application on the share that it ran on."""
    checks: list[PredictionCheck] = []
    for name, splits in _predicted_ways(prediction):
        ran = next((arm for arm in arms if arm.name == name), None)
        expected = next((s for s in splits if s.shown == split), None)
        if ran is None or expected is None:
            continue
        where = "" if name == "split" else f", {name}"
        checks += [
            PredictionCheck(
                f"{m.name}{where}", e.slowdown, m.slowdown, e.slowdown.value / m.slowdown.value - 1
            )
            for m, e in zip(ran.members, expected.applications, strict=True)
            if m.slowdown is not None
        ]
    return checks


def _predicted_ways(prediction: Predicted | None) -> list[tuple[str, list[Split]]]:
    if prediction is None:
        return []
    return [("split", prediction.splits), ("unbound", prediction.unbound or [])]


_BEST: dict[Objective, tuple[str, Callable[[ArmResult], Estimate | None], bool]] = {
    "throughput": ("throughput", lambda arm: arm.throughput, True),
    "slowdown": ("the worse slowdown", lambda arm: arm.worst, False),
    "fairness": ("fairness", lambda arm: arm.fairness, True),
}


def sentence(arms: Sequence[ArmResult], settings: ColocationSettings, split: str | None) -> str:
    """Return the best arm by the objective, and whether running at the same time pays at all.

    Where each runs once that is when the last has ended; in a loop, the work of an hour.
    """
    name, figure, most = _BEST[settings.objective]
    judged = [(of.value, arm) for arm in arms if (of := figure(arm)) is not None]
    failed = [arm.name for arm in arms if not arm.rounds and any(m.failures for m in arm.members)]
    if not judged:
        if failed and not any(arm.rounds for arm in arms):
            where = "every warm-up" if settings.warmup else "every arm"
            return f"Nothing was measured: {where} failed, as said above."
        return "No repetition ended both in an arm and alone, so there is nothing to compare."
    value, best = (max if most else min)(judged, key=lambda pair: pair[0])
    shown = f"split {split}" if best.name == "split" else best.name
    text = f"Best by {name}: {shown} ({value:.2f})"
    if failed:
        text = f"No best arm, because {' and '.join(failed)} failed; {name} of {shown} {value:.2f}"
    if best.all_end is not None:
        times = best.all_end
        text += f"; all end in {times.value:.2f} of the time of running one after the other"
        return f"{text} ({_certain(times, 'faster', 'slower')})."
    work = best.throughput
    if work is None:
        raise ValueError(f"{best.name} is judged without its throughput")
    text += f"; it does {work.value:.2f} times the work per hour of running one after the other"
    return f"{text} ({_certain(work, 'slower', 'faster')})."


def _certain(figure: Estimate, gain: str, loss: str) -> str:
    """Say what a ratio to one after the other shows.

    gain, loss: what `against`, which speaks of times, says of a ratio that is good, and of one that
    is bad.
    """
    if figure.ends is None:
        return "too few repetitions for an interval"
    sure = {
        gain: "so running them at the same time pays",
        loss: "so run them one after the other",
        "equal": "which is the same",
        "undecided": "which may be chance",
    }[against(Ratio(figure.value, figure.ends))]
    return f"{CONFIDENCE:.0%} interval {figure.ends[0]:.2f} to {figure.ends[1]:.2f}, {sure}"
