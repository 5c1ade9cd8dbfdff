"""What a comparison says: pure, from the times and measures of its runs to one sentence and why."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hearth.experiments.doubts import Timed, doubts
from hearth.experiments.statistics import (
    CONFIDENCE,
    FEWEST_PAIRS,
    Ratio,
    Spread,
    against,
    each_confidence,
    needed,
    paired_ratio,
    reached,
)

Document = dict[str, Any]
SCHEMA = "hearth/comparison/2"
#: A measure has moved when its median changed by this share and the ranges do not overlap, which
#: of two arms of five equal runs happens by chance in 2 of 252 cases: of fewer it says nothing.
_MOVED = 0.10
_FEWEST_TO_MOVE = 5
#: An interval of this half-width is what more repetitions are asked for.
_WORTH_KNOWING = 0.05


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


@dataclass(frozen=True)
class _Asked:
    """What all claims of a comparison share: the baseline, and how sure they are to be.

    confidence: of all claims together, at every look. each: of one claim alone. looks: the numbers
    of pairs at which a comparison that stops by its result looks; empty where the number is fixed.
    """

    baseline: str
    confidence: float
    each: float
    looks: tuple[int, ...]

    @staticmethod
    def of(head: Document, confidence: float) -> "_Asked":
        """As many claims as arms beside the baseline were to run, whichever of them finished."""
        looks = tuple(head.get("settings", {}).get("looks", ()))
        others = [a for a in head["arms"] if a["name"] != head["baseline"] and not a.get("skipped")]
        each = each_confidence(confidence, len(others), looks)
        return _Asked(head["baseline"], confidence, each, looks)

    def ratio(self, mine: list[float], base: list[float]) -> tuple[Ratio, int]:
        """Of as many of these pairs as count, and how many those are; of all where none does."""
        pairs = reached(self.looks, len(base))
        if not pairs:
            return Ratio(paired_ratio(mine, base).value, None), len(base)
        return paired_ratio(mine[:pairs], base[:pairs], self.each), pairs


def compared(head: Document, runs: Sequence[Document], confidence: float = CONFIDENCE) -> Document:
    """The comparison document (contract/comparison.schema.json).

    head: {id, application, baseline, arms: [{name, skipped}], settings, ...}. runs: of each run
    {arm, repetition, seconds or failure, measures}, in the order of time; negative repetitions are
    warm-ups and do not count. confidence: of all that is claimed together.
    """
    counted = [run for run in runs if run["repetition"] >= 0]
    asked = _Asked.of(head, confidence)
    arms = [_arm(arm, asked, counted, runs) for arm in head["arms"]]
    timed = [Timed(r["arm"], r["repetition"], r["seconds"]) for r in counted if "seconds" in r]
    warnings = [{"kind": d.kind, "sentence": d.sentence} for d in doubts(timed, asked.baseline)]
    return {
        "schema": SCHEMA,
        **{key: value for key, value in head.items() if key not in ("schema", "arms")},
        "confidence": confidence,
        "confidence_each": asked.each,
        "arms": arms,
        "verdict": _verdict(arms, asked, counted),
        "warnings": warnings,
    }


def certain(head: Document, runs: Sequence[Document]) -> bool:
    """Whether each arm that runs is shown to be faster or slower than the baseline, or equal."""
    arms = compared(head, runs)["arms"]
    judged = [arm for arm in arms if arm["name"] != head["baseline"] and "skipped" not in arm]
    return bool(judged) and all(arm.get("against") in _CERTAIN for arm in judged)


_CERTAIN = ("faster", "slower", "equal")


def _arm(
    arm: Document, asked: _Asked, runs: Sequence[Document], every: Sequence[Document]
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
    mine, base = pairs(name, asked.baseline, runs)
    if name != asked.baseline and base:
        ratio, number = asked.ratio(mine, base)
        found["ratio"] = _shown(ratio, number)
        found["against"] = against(ratio)
    return found


def pairs(name: str, baseline: str, runs: Sequence[Document]) -> tuple[list[float], list[float]]:
    """The times of two arms in those repetitions that both finished."""
    times = {(run["arm"], run["repetition"]): run["seconds"] for run in runs if "seconds" in run}
    both = sorted(r for arm, r in times if arm == name and (baseline, r) in times)
    return [times[name, r] for r in both], [times[baseline, r] for r in both]


def _shown(ratio: Ratio, pairs_counted: int) -> Document:
    shown: Document = {"value": ratio.value, "pairs": pairs_counted}
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


def _verdict(arms: list[Document], asked: _Asked, runs: Sequence[Document]) -> Document:
    baseline, confidence = asked.baseline, asked.confidence
    by_name = {arm["name"]: arm for arm in arms}
    if not by_name[baseline]["seconds"]:
        sentence = f"No verdict: {baseline} never finished, so there is nothing to compare with."
        return {"choice": None, "sentence": sentence, "why": _failures(arms)}
    faster = [arm for arm in arms if arm.get("against") == "faster"]
    if faster:
        best = min(faster, key=lambda arm: arm["ratio"]["value"])
        sentence = f"{_advice(best['name'])}: {claim(best, baseline, confidence)}."
        binding = _binding(best, arms, runs, asked)
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
    why += [line for arm in judged for line in _more(arm)]
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
    words = f"{arm['name']} takes {ratio['value']:.2f} of {baseline}'s time"
    shown = f"{ratio['pairs']} pair{'s' * (ratio['pairs'] != 1)}"
    if "low" not in ratio:
        return f"{words} ({shown}, too few for an interval: at least {FEWEST_PAIRS} are needed)"
    interval = f"{confidence:.0%} interval {ratio['low']:.2f} to {ratio['high']:.2f}"
    return f"{words} ({interval}, {shown}: {arm['against']})"


def _more(arm: Document) -> list[str]:
    """How many repetitions would tell, of an arm that is undecided."""
    ratio = arm["ratio"]
    if arm["against"] != "undecided" or "low" not in ratio:
        return []
    number = needed((ratio["low"], ratio["high"]), ratio["pairs"], _WORTH_KNOWING)
    if number <= ratio["pairs"]:
        return []
    wide = f"{_WORTH_KNOWING:.0%}"
    return [
        f"{arm['name']} is undecided: with this scatter about {number} repetitions give an "
        f"interval of {wide} to either side (--repeat {number})"
    ]


def _binding(
    best: Document, arms: list[Document], runs: Sequence[Document], asked: _Asked
) -> str | None:
    """Whether the binding itself pays, or only the partitioning.

    Asked only of an arm that is shown to be faster, and at that arm's share of the error: a fixed
    sequence, which needs no more (Maurer, Hothorn and Lehmacher 1995).
    """
    names = [arm["name"] for arm in arms if arm["seconds"]]
    if best["name"] not in _BINDING or "unbound" not in names:
        return None
    mine, base = pairs(best["name"], "unbound", runs)
    if not base:
        return None
    ratio, _ = asked.ratio(mine, base)
    kind = against(ratio)
    words = f"{best['name']} against unbound: {ratio.value:.2f} of its time"
    if ratio.interval is not None:
        words += f" ({ratio.interval[0]:.2f} to {ratio.interval[1]:.2f})"
    if kind == "faster":
        return f"{words}: the binding itself pays, beside the partitioning"
    return f"{words}: it is the partitioning that pays; of the binding it is not shown"


def moved(name: str, baseline: str, runs: Sequence[Document]) -> list[str]:
    """A sentence for each measure that moved beyond its spread between two arms."""
    ran = [sum(run["arm"] == arm and "seconds" in run for run in runs) for arm in (name, baseline)]
    if min(ran) < _FEWEST_TO_MOVE:
        few = f"{min(ran)} run{'s' * (min(ran) != 1)} of {name} and {baseline} are too few"
        return [f"{few} to say what moved: {_FEWEST_TO_MOVE} of each are needed"]
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
