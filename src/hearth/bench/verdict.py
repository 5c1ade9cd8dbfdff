"""What a comparison says: pure, from the times and measures of its runs to one sentence and why."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hearth.bench.statistics import CONFIDENCE, Ratio, Spread, paired_ratio

Document = dict[str, Any]
SCHEMA = "hearth/comparison/1"
#: Two arms whose interval lies within this of 1 are called equal.
EQUAL_WITHIN = 0.03
#: A measure has moved when its median changed by this share and the ranges do not overlap.
_MOVED = 0.10


@dataclass(frozen=True)
class Measure:
    """A measure that may explain a difference, how it is named and shown."""

    key: str
    words: str
    form: str


#: The arms whose executors are bound, by mask and memory policy, or by a cpuset.
_BINDING = ("bound", "docker")
MEASURES = (
    Measure("gc_share", "GC share of task time", "{:.1%}"),
    Measure("remote_share", "share of memory on another node", "{:.1%}"),
    Measure("involuntary", "involuntary context switches", "{:,.0f}"),
    Measure("voluntary", "voluntary context switches", "{:,.0f}"),
    Measure("cpu_s", "CPU seconds", "{:,.1f}"),
    Measure("cpu_use", "share of the CPUs' time used", "{:.1%}"),
    Measure("cpi", "cycles per instruction", "{:.2f}"),
    Measure("l3_misses", "L3 load misses per 1,000 instructions", "{:.2f}"),
    Measure("front_end", "share of slots bound by the front end", "{:.1%}"),
    Measure("bandwidth_gb_s", "GB/s from and to memory", "{:.1f}"),
)


def compared(head: Document, runs: Sequence[Document], confidence: float = CONFIDENCE) -> Document:
    """The comparison document (contract/comparison.schema.json).

    head: {id, application, baseline, arms: [{name, skipped}], ...}. runs: of each run {arm,
    repetition, seconds or failure, measures}; negative repetitions are warm-ups and do not count.
    """
    counted = [run for run in runs if run["repetition"] >= 0]
    arms = [_arm(arm, head["baseline"], counted, runs, confidence) for arm in head["arms"]]
    return {
        "schema": SCHEMA,
        **{key: value for key, value in head.items() if key not in ("schema", "arms")},
        "confidence": confidence,
        "arms": arms,
        "verdict": _verdict(arms, head["baseline"], counted, confidence),
    }


def certain(head: Document, runs: Sequence[Document], confidence: float) -> bool:
    """Whether each arm that runs is shown to be faster or slower than the baseline, or equal."""
    arms = compared(head, runs, confidence)["arms"]
    judged = [arm for arm in arms if arm["name"] != head["baseline"] and "skipped" not in arm]
    return bool(judged) and all(arm.get("against") in _CERTAIN for arm in judged)


_CERTAIN = ("faster", "slower", "equal")


def _arm(
    arm: Document,
    baseline: str,
    runs: Sequence[Document],
    every: Sequence[Document],
    confidence: float,
) -> Document:
    """One arm, of its counted runs; a failure counts in a warm-up too."""
    name = arm["name"]
    if arm.get("skipped"):
        return {"name": name, "seconds": [], "skipped": arm["skipped"]}
    failures = [run["failure"] for run in every if run["arm"] == name and "failure" in run]
    seconds = [run["seconds"] for run in runs if run["arm"] == name and "seconds" in run]
    found: Document = {"name": name, "seconds": seconds}
    if failures:
        found["failures"] = failures
    if not seconds:
        return found
    spread = Spread.of(seconds)
    found |= {"median_s": spread.median, "min_s": spread.least, "max_s": spread.most}
    found["measures"] = _medians(name, runs)
    mine, base = pairs(name, baseline, runs)
    if name != baseline and base:
        ratio = paired_ratio(mine, base, confidence=confidence)
        found["ratio"] = _shown(ratio)
        found["against"] = against(ratio)
    return found


def pairs(name: str, baseline: str, runs: Sequence[Document]) -> tuple[list[float], list[float]]:
    """The times of two arms in those repetitions that both finished."""
    times = {(run["arm"], run["repetition"]): run["seconds"] for run in runs if "seconds" in run}
    both = sorted(r for arm, r in times if arm == name and (baseline, r) in times)
    return [times[name, r] for r in both], [times[baseline, r] for r in both]


def against(ratio: Ratio) -> str:
    """`faster`, `slower`, `equal` (within EQUAL_WITHIN) or `undecided`."""
    if ratio.interval is None:
        return "undecided"
    low, high = ratio.interval
    if low >= 1 - EQUAL_WITHIN and high <= 1 + EQUAL_WITHIN:
        return "equal"
    if high < 1:
        return "faster"
    return "slower" if low > 1 else "undecided"


def _shown(ratio: Ratio) -> Document:
    shown: Document = {"median": ratio.value}
    if ratio.interval is not None:
        shown |= {"low": ratio.interval[0], "high": ratio.interval[1]}
    return shown


def _medians(name: str, runs: Sequence[Document]) -> Document:
    found: Document = {}
    for measure in MEASURES:
        values = _values(name, measure.key, runs)
        if values:
            found[measure.key] = statistics.median(values)
        else:
            reasons = [
                run["measures"].get(measure.key)
                for run in runs
                if run["arm"] == name and "measures" in run
            ]
            found[measure.key] = next(
                (reason for reason in reasons if isinstance(reason, dict)),
                {"absent": "not recorded"},
            )
    return found


def _values(name: str, key: str, runs: Sequence[Document]) -> list[float]:
    values = [run["measures"].get(key) for run in runs if run["arm"] == name and "measures" in run]
    return [float(value) for value in values if isinstance(value, int | float)]


def _verdict(
    arms: list[Document], baseline: str, runs: Sequence[Document], confidence: float
) -> Document:
    by_name = {arm["name"]: arm for arm in arms}
    if not by_name[baseline]["seconds"]:
        sentence = f"No verdict: {baseline} never finished, so there is nothing to compare with."
        return {"choice": None, "sentence": sentence, "why": _failures(arms)}
    faster = [arm for arm in arms if arm.get("against") == "faster"]
    if faster:
        best = min(faster, key=lambda arm: arm["ratio"]["median"])
        sentence = f"{_advice(best['name'])}: {claim(best, baseline, confidence)}."
        binding = _binding(best, arms, runs, confidence)
        why = [binding] if binding else []
        why += moved(best["name"], baseline, runs)
        return {"choice": best["name"], "sentence": sentence, "why": why + _failures(arms)}
    judged = [arm for arm in arms if arm["name"] != baseline and arm.get("ratio")]
    if not judged:
        sentence = f"No verdict: no arm beside {baseline} finished in a repetition that it did."
        return {"choice": None, "sentence": sentence, "why": _failures(arms)}
    claims = "; ".join(claim(arm, baseline, confidence) for arm in judged)
    sentence = f"{_advice(baseline)}: no arm is shown to be faster than {baseline}: {claims}."
    why = [line for arm in judged if arm["against"] == "slower"
           for line in moved(arm["name"], baseline, runs)]  # fmt: skip
    return {"choice": baseline, "sentence": sentence, "why": why + _failures(arms)}


def _advice(name: str) -> str:
    return {
        "native": "Do not bind",
        "bound": "Bind",
        "unbound": "Partition, but do not bind",
        "balanced": "Partition, do not bind, and leave NUMA balancing on",
        "docker": "Bind, by containers",
    }.get(name, f"Use {name}")


def claim(arm: Document, baseline: str, confidence: float) -> str:
    """How an arm's time stands to the baseline's, with the interval."""
    ratio = arm["ratio"]
    if "low" not in ratio:
        few = "too few repetitions for an interval"
        return f"{arm['name']} takes {ratio['median']:.2f} of {baseline}'s time ({few})"
    interval = f"{confidence:.0%} interval {ratio['low']:.2f} to {ratio['high']:.2f}"
    pairs_shown = f"{len(arm['seconds'])} runs"
    words = f"{arm['name']} takes {ratio['median']:.2f} of {baseline}'s time"
    return f"{words} ({interval}, {pairs_shown}: {arm['against']})"


def _binding(
    best: Document, arms: list[Document], runs: Sequence[Document], confidence: float
) -> str | None:
    """Whether the binding itself pays, or only the partitioning."""
    names = [arm["name"] for arm in arms if arm["seconds"]]
    if best["name"] not in _BINDING or "unbound" not in names:
        return None
    mine, base = pairs(best["name"], "unbound", runs)
    if not base:
        return None
    ratio = paired_ratio(mine, base, confidence=confidence)
    kind = against(ratio)
    words = f"{best['name']} against unbound: {ratio.value:.2f} of its time"
    if ratio.interval is not None:
        words += f" ({ratio.interval[0]:.2f} to {ratio.interval[1]:.2f})"
    if kind == "faster":
        return f"{words}: the binding itself pays, beside the partitioning"
    return f"{words}: it is the partitioning that pays; of the binding it is not shown"


def moved(name: str, baseline: str, runs: Sequence[Document]) -> list[str]:
    """A sentence for each measure that moved beyond its spread between two arms."""
    sentences = []
    for measure in MEASURES:
        mine, base = _values(name, measure.key, runs), _values(baseline, measure.key, runs)
        if not mine or not base:
            continue
        new, old = statistics.median(mine), statistics.median(base)
        apart = max(mine) < min(base) or min(mine) > max(base)
        if apart and abs(new - old) > _MOVED * abs(old):
            direction = "fell" if new < old else "rose"
            shown = f"{measure.form.format(old)} to {measure.form.format(new)}"
            sentences.append(f"{measure.words} {direction} from {shown} ({baseline} to {name})")
    return sentences or [f"no measure moved beyond its spread between {baseline} and {name}"]


def _failures(arms: list[Document]) -> list[str]:
    return [
        f"{arm['name']} failed, and was run no more: {arm['failures'][-1]}"
        for arm in arms
        if arm.get("failures")
    ]
