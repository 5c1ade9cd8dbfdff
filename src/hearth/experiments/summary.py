"""From the outcomes of a series to its table: one row for each job and master."""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hearth.experiments.doubts import Timed, doubts
from hearth.experiments.outcome import Outcome
from hearth.experiments.series import Results, case_line
from hearth.experiments.shapes import CaseResult
from hearth.experiments.statistics import CONFIDENCE, Spread, each_confidence, paired_ratio
from hearth.experiments.verdict import pairs
from hearth.model.documents import to_json
from hearth.workloads.shapes import Streaming, Verdict

Document = dict[str, Any]


@dataclass(frozen=True)
class Ran:
    """The runs of a job and master that count. ratio: to the first master, as a document."""

    as_masters: list[str]
    seconds: Spread
    answers: Mapping[str, int]
    answer: Verdict
    stream: Document | None
    ratio: Document | None


@dataclass(frozen=True)
class Row:
    """One job under one master. failed: how many runs; reason: of the last of them."""

    label: str
    master: str
    failed: int
    reason: str | None
    ran: Ran | None

    def document(self) -> Document:
        """As contract/bench-result.schema.json has it."""
        row: Document = {"label": self.label, "master": self.master, "failed": self.failed}
        if self.reason is not None:
            row["reason"] = self.reason
        if self.ran is None:
            return row
        ran, spread = self.ran, self.ran.seconds
        row["ran_as"] = ran.as_masters
        row["seconds"] = {
            "median": spread.median,
            "least": spread.least,
            "most": spread.most,
            "runs": spread.number,
        }
        if ran.stream is not None:
            row["stream"] = ran.stream
        row |= {"answers": dict(ran.answers), "answer": ran.answer}
        return row if ran.ratio is None else {**row, "ratio": ran.ratio}


def summarised(results: Results) -> list[Row]:
    """The rows, in the order of the series; a job or master without a run says why.

    Seconds are those of the jobs' own phases. `ratio` is against the first master of the series,
    over repetitions that both have; its intervals hold for all masters of a job together.
    """
    labels = [entry.label for entry in results.series.entries]
    masters = results.series.masters
    return [_row(of(results, label), label, master, masters) for label in labels
            for master in masters]  # fmt: skip


def of(results: Results, label: str) -> list[Outcome]:
    """The outcomes of one job."""
    return [outcome for outcome in results.outcomes if outcome.turn.subject == label]


def _row(outcomes: Sequence[Outcome], label: str, master: str, masters: Sequence[str]) -> Row:
    own = [outcome for outcome in outcomes if outcome.arm == master]
    failed = [outcome.failure for outcome in own if outcome.failure is not None]
    ran = None
    if any(outcome.counted_s is not None for outcome in own):
        ran = _ran(own, _ratio(outcomes, master, masters))
    return Row(label, master, len(failed), failed[-1] if failed else None, ran)


def _ran(own: Sequence[Outcome], ratio: Document | None) -> Ran:
    results = [o.result for o in own if o.counted_s is not None and o.result is not None]
    streams = [result["streaming"] for result in results if "streaming" in result]
    return Ran(
        as_masters=sorted({result["spark"]["master"] for result in results}),
        seconds=Spread.of([result["seconds"] for result in results]),
        answers=Counter(result["verdict"]["status"] for result in results),
        answer=_worst(results),
        stream=_stream(streams) if streams else None,
        ratio=ratio,
    )


def _worst(results: Sequence[CaseResult]) -> Verdict:
    """The verdict that matters most: one wrong answer is not outvoted by right ones."""
    order = ("wrong", "unchecked", "checked")
    return min((r["verdict"] for r in results), key=lambda verdict: order.index(verdict["status"]))


def _stream(streams: Sequence[Streaming]) -> Document:
    """The figures of a stream over its repetitions; None where no batch was measured.

    Processing time: median of the runs' medians, and the largest 95th percentile, as the delay.
    """
    times = [stream["processing_ms"] for stream in streams if "median" in stream["processing_ms"]]
    delays = [stream["scheduling_delay_ms"] for stream in streams]
    largest = [delay["max"] for delay in delays if "max" in delay]
    return {
        "events": min(stream["events_processed"] for stream in streams),
        "unsent": sum(stream["unsent"] for stream in streams),
        "processing_ms": statistics.median(t["median"] for t in times) if times else None,
        "p95_ms": max((t["p95"] for t in times), default=None),
        "delay_ms": max(largest, default=None),
        "kept_up": all(stream["kept_up"] for stream in streams),
    }


def _ratio(outcomes: Sequence[Outcome], master: str, masters: Sequence[str]) -> Document | None:
    mine, base = pairs(master, masters[0], outcomes)
    if master == masters[0] or not base:
        return None
    ratio = paired_ratio(mine, base, each_confidence(CONFIDENCE, len(masters) - 1))
    interval = None if ratio.interval is None else list(ratio.interval)
    return {"value": ratio.value, "interval": interval, "pairs": len(base)}


def doubted(results: Results) -> list[Document]:
    """Warnings about the times of each job, which were run in the order of the file."""
    first = results.series.masters[0]
    found = []
    for entry in results.series.entries:
        runs = [
            Timed(outcome.arm, outcome.repetition, outcome.counted_s)
            for outcome in of(results, entry.label)
            if outcome.counted_s is not None
        ]
        found += [
            {"label": entry.label, "kind": doubt.kind, "sentence": doubt.sentence}
            for doubt in doubts(runs, first)
        ]
    return found


def is_good(results: Results) -> bool:
    """Whether every run ended and no answer is wrong."""
    return not any(
        outcome.result is None or outcome.result["verdict"]["status"] == "wrong"
        for outcome in results.outcomes
    )


def result_document(results: Results) -> Document:
    """What `hearth bench --json` prints: contract/bench-result.schema.json."""
    return {
        "schema": "hearth/bench-result/2",
        "series": to_json(results.series),
        "cases": [case_line(outcome) for outcome in results.outcomes],
        "rows": [row.document() for row in summarised(results)],
        "warnings": doubted(results),
    }
