"""Summarise the trials of a series: one row for each job and master."""

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from hearth.base.codec import LEFT_OUT
from hearth.base.limits import Amount, Count, OneOf, Positive
from hearth.studies.bench.study import Results, SeriesHead
from hearth.studies.compare.verdict import pairs
from hearth.studies.engine.statistics import CONFIDENCE, Spread, each_confidence, paired_ratio
from hearth.studies.engine.trial import Trial
from hearth.studies.engine.validity import TimedRun, validity_warnings
from hearth.workloads.shapes import AnswerVerdict, CaseResult, Streaming


@dataclass(frozen=True)
class SecondsOfRuns:
    """Seconds of the measured runs."""

    median: Amount
    least: Amount
    most: Amount
    runs: Positive


@dataclass(frozen=True)
class MasterRatio:
    """The centre of the paired ratios to the first master's seconds.

    It is their geometric mean or, with more pairs, the Hodges-Lehmann estimate.
    """

    value: Amount
    #: 95 %, for all masters of a job together: Student's t or signed ranks on the logarithms of the
    #: pairs' ratios; null: fewer than 3 pairs
    interval: list[Amount] | None
    pairs: Positive


@dataclass(frozen=True)
class StreamSummary:
    """A stream over its repetitions; times in ms are null where no batch was measured."""

    events: Count  #: of the run that processed fewest
    unsent: Count
    processing_ms: float | None  #: median of the runs' medians
    p95_ms: float | None  #: the largest of any run
    delay_ms: float | None  #: the largest of any run
    kept_up: bool


@dataclass(frozen=True)
class JobSummary:
    """A job under a master; without a finished run it has no figures."""

    label: str
    master: str
    failed: Count  #: how many runs
    reason: str | None = field(default=None, metadata=LEFT_OUT)  #: of the last that failed
    #: the masters that Spark ran under
    ran_as: list[str] | None = field(default=None, metadata=LEFT_OUT)
    seconds: SecondsOfRuns | None = field(default=None, metadata=LEFT_OUT)
    stream: StreamSummary | None = field(default=None, metadata=LEFT_OUT)
    #: how many runs had which verdict on their answer
    answers: dict[str, Positive] | None = field(default=None, metadata=LEFT_OUT)
    #: the worst verdict of the runs
    answer: AnswerVerdict | None = field(default=None, metadata=LEFT_OUT)
    #: the centre of the paired ratios to the first master: their geometric mean or, with more
    #: pairs, the Hodges-Lehmann estimate
    ratio: MasterRatio | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class JobWarning:
    """A reason to doubt the times of a job."""

    label: str
    kind: Annotated[str, OneOf("outlier", "two-groups", "slow-first", "drift", "own-state")]
    sentence: str


def summarised(results: Results) -> list[JobSummary]:
    """Return the rows, in the order of the series; a job or master without a run says why.

    Seconds are those of the jobs' own phases. `ratio` is against the first master of the series,
    over repetitions that both have; its intervals hold for all masters of a job together.
    """
    labels = [entry.label for entry in results.head.entries]
    masters = results.head.masters
    return [_row(of(results, label), label, master, masters) for label in labels
            for master in masters]  # fmt: skip


def of(results: Results, label: str) -> list[Trial]:
    """Return the trials of one job."""
    return [trial for trial in results.last if trial.turn.subject == label]


def _row(trials: Sequence[Trial], label: str, master: str, masters: Sequence[str]) -> JobSummary:
    own = [trial for trial in trials if trial.arm == master]
    failed = [trial.failure for trial in own if trial.failure is not None]
    row = JobSummary(label, master, len(failed), failed[-1] if failed else None)
    results = [t.result for t in own if t.counted_s is not None and t.result is not None]
    if not results:
        return row
    spread = Spread.of([result["seconds"] for result in results])
    streams = [result["streaming"] for result in results if "streaming" in result]
    return replace(
        row,
        ran_as=sorted({result["spark"]["master"] for result in results}),
        seconds=SecondsOfRuns(spread.median, spread.least, spread.most, spread.number),
        stream=_stream(streams) if streams else None,
        answers=dict(Counter(result["verdict"]["status"] for result in results)),
        answer=_worst(results),
        ratio=_ratio(trials, master, masters),
    )


def _worst(results: Sequence[CaseResult]) -> AnswerVerdict:
    """Return the verdict that matters most: one wrong answer is not outvoted by right ones."""
    order = ("wrong", "unchecked", "checked")
    return min((r["verdict"] for r in results), key=lambda verdict: order.index(verdict["status"]))


def _stream(streams: Sequence[Streaming]) -> StreamSummary:
    times = [stream["processing_ms"] for stream in streams if "median" in stream["processing_ms"]]
    delays = [stream["scheduling_delay_ms"] for stream in streams]
    return StreamSummary(
        events=min(stream["events_processed"] for stream in streams),
        unsent=sum(stream["unsent"] for stream in streams),
        processing_ms=statistics.median(t["median"] for t in times) if times else None,
        p95_ms=max((t["p95"] for t in times), default=None),
        delay_ms=max((delay["max"] for delay in delays if "max" in delay), default=None),
        kept_up=all(stream["kept_up"] for stream in streams),
    )


def _ratio(trials: Sequence[Trial], master: str, masters: Sequence[str]) -> MasterRatio | None:
    mine, base = pairs(master, masters[0], trials)
    if master == masters[0] or not base:
        return None
    ratio = paired_ratio(mine, base, each_confidence(CONFIDENCE, len(masters) - 1))
    interval = None if ratio.interval is None else list(ratio.interval)
    return MasterRatio(ratio.value, interval, len(base))


def job_warnings(results: Results) -> list[JobWarning]:
    """Return warnings about the times of each job, which were run in the order of the file."""
    first = results.head.masters[0]
    found = []
    for entry in results.head.entries:
        runs = [
            TimedRun(trial.arm, trial.repetition, trial.counted_s)
            for trial in of(results, entry.label)
            if trial.counted_s is not None
        ]
        found += [
            JobWarning(entry.label, w.kind, w.sentence) for w in validity_warnings(runs, first)
        ]
    return found


def is_good(results: Results) -> bool:
    """Return whether every run ended and no answer is wrong."""
    return not any(
        trial.result is None or trial.result["verdict"]["status"] == "wrong"
        for trial in results.last
    )


@dataclass(frozen=True)
class BenchResult:
    """The document that `hearth lab bench --json` prints."""

    schema: Literal["hearth/bench-result/3"]
    series: SeriesHead
    cases: list[Trial]  #: of a case that was tried again, the last
    rows: list[JobSummary]
    warnings: list[JobWarning]  #: reasons to doubt the times of a job, with the remedy


def bench_result(results: Results) -> BenchResult:
    """Return the result of a series so far."""
    rows, warnings = summarised(results), job_warnings(results)
    return BenchResult("hearth/bench-result/3", results.head, results.last, rows, warnings)
