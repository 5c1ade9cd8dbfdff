"""From the cases of a series to its table: one row for each job and master."""

import statistics
from collections import Counter
from typing import Any

from hearth.experiments.doubts import Timed, doubts
from hearth.experiments.series import Document, Results
from hearth.experiments.statistics import CONFIDENCE, Spread, each_confidence, paired_ratio


def summarised(results: Results) -> list[Document]:
    """The rows, in the order of the series; a job or master without a run says why.

    Seconds are those of the jobs' own phases. `ratio` is against the first master of the series,
    over repetitions that both have; its intervals hold for all masters of a job together.
    """
    labels = [entry["label"] for entry in results.series["entries"]]
    masters = results.series["masters"]
    return [_row(results, label, master, masters[0]) for label in labels for master in masters]


def _row(results: Results, label: str, master: str, first: str) -> Document:
    counted = _counted(results, label, master)
    failed = [
        case["reason"]
        for case in results.cases
        if (case["label"], case["master"]) == (label, master) and "reason" in case
    ]
    row: Document = {"label": label, "master": master, "failed": len(failed)}
    if failed:
        row["reason"] = failed[-1]
    if not counted:
        return row
    seconds = {number: result["seconds"] for number, result in counted.items()}
    spread = Spread.of(list(seconds.values()))
    row["ran_as"] = sorted({result["spark"]["master"] for result in counted.values()})
    row["seconds"] = {
        "median": spread.median,
        "least": spread.least,
        "most": spread.most,
        "runs": spread.number,
    }
    streams = [result["streaming"] for result in counted.values() if "streaming" in result]
    if streams:
        row["stream"] = _stream(streams)
    row["answers"] = dict(Counter(result["verdict"]["status"] for result in counted.values()))
    row["answer"] = _worst(counted)
    if master != first:
        base = {n: r["seconds"] for n, r in _counted(results, label, first).items()}
        row |= _ratio(seconds, base, len(results.series["masters"]) - 1)
    return row


def _counted(results: Results, label: str, master: str) -> dict[int, Document]:
    """The result of each repetition that counts: no warm-up, no failure."""
    return {
        case["repetition"]: case["result"]
        for case in results.cases
        if (case["label"], case["master"]) == (label, master)
        and case["repetition"] >= 0
        and "reason" not in case
    }


def _worst(counted: dict[int, Document]) -> Document:
    """The verdict that matters most: one wrong answer is not outvoted by right ones."""
    order = ("wrong", "unchecked", "checked")
    verdicts = [result["verdict"] for result in counted.values()]
    worst: Document = min(verdicts, key=lambda verdict: order.index(verdict["status"]))
    return worst


def _stream(streams: list[Document]) -> Document:
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


def _ratio(seconds: dict[int, float], base: dict[int, float], claims: int) -> dict[str, Any]:
    both = sorted(seconds.keys() & base.keys())
    if not both:
        return {}
    each = each_confidence(CONFIDENCE, claims)
    ratio = paired_ratio([seconds[n] for n in both], [base[n] for n in both], each)
    interval = None if ratio.interval is None else list(ratio.interval)
    return {"ratio": {"value": ratio.value, "interval": interval, "pairs": len(both)}}


def doubted(results: Results) -> list[Document]:
    """Warnings about the times of each job, which were run in the order of the file."""
    first = results.series["masters"][0]
    found = []
    for entry in results.series["entries"]:
        label = entry["label"]
        runs = [
            Timed(case["master"], case["repetition"], case["result"]["seconds"])
            for case in results.cases
            if case["label"] == label and case["repetition"] >= 0 and "reason" not in case
        ]
        found += [
            {"label": label, "kind": doubt.kind, "sentence": doubt.sentence}
            for doubt in doubts(runs, first)
        ]
    return found


def is_good(results: Results) -> bool:
    """Whether every run ended and no answer is wrong."""
    return not any(
        "reason" in case or case["result"]["verdict"]["status"] == "wrong" for case in results.cases
    )
