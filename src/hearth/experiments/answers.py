"""What the runs of a question say: pure, from a comparison to a sentence and its figures."""

import statistics
from collections.abc import Callable, Sequence
from typing import Any

from hearth.experiments.losses import loss_class, not_told
from hearth.experiments.statistics import Ratio, each_confidence, paired_ratio
from hearth.experiments.verdict import MEASURES, claim, moved, pairs
from hearth.measure.counters import bandwidth_region, smt_effectiveness

Document = dict[str, Any]
#: Measures that do not grow with the length of a run.
_OF_ANY_LENGTH = ("gc_share", "remote_share", "cpu_use", "cpi", "l3_misses", "front_end")


def answered(key: str, comparison: Document, runs: Sequence[Document]) -> Document:
    """{"sentence", "why": [...], and of some questions "cells", "scaling" or "streams"}.

    comparison: contract/comparison.schema.json. runs: its runs, warm-ups too.
    """
    counted = [run for run in runs if run["repetition"] >= 0 and "seconds" in run]
    finished = [arm for arm in comparison["arms"] if arm["seconds"]]
    failures = [f"{a['name']} failed: {a['failures'][-1]}" for a in comparison["arms"]
                if a.get("failures")]  # fmt: skip
    if not finished:
        return {"sentence": "Nothing finished, so there is no answer.", "why": failures}
    found = _ANSWERS.get(key, _fastest)(comparison, finished, counted)
    return {**found, "why": [*found.get("why", ()), *failures]}


def _fastest(comparison: Document, arms: list[Document], runs: list[Document]) -> Document:
    """Which arm has the smallest median, and how each stands to the baseline."""
    best = min(arms, key=lambda arm: arm["median_s"])
    base = comparison["baseline"]
    claims = [claim(arm, base, comparison["confidence"]) for arm in arms if arm.get("ratio")]
    sentence = f"{best['name']} has the smallest median, {best['median_s']:.2f} s"
    if claims:
        sentence += f": {'; '.join(claims)}"
    why = moved(best["name"], base, runs) if best["name"] != base else []
    return {"sentence": f"{sentence}.", "why": why}


def _sweep(comparison: Document, arms: list[Document], runs: list[Document]) -> Document:
    """The fastest configuration, and the class of each other one."""
    best = min(arms, key=lambda arm: arm["median_s"])
    cells = [_cell(arm, best) for arm in arms]
    near = sum(cell["class"].startswith("within") for cell in cells)
    few = min(len(arm["seconds"]) for arm in arms)
    sentence = (
        f"{best['name']} (executors x cores) has the smallest median, {best['median_s']:.2f} s; "
        f"{near} of {len(cells) - 1} others lie within 10 % of it ({few} runs of each)."
    )
    blind = not_told(best["measures"])
    why = [f"not measured, so no configuration is put there: {', '.join(blind)}"] if blind else []
    return {"sentence": sentence, "cells": cells, "why": why}


def _cell(arm: Document, best: Document) -> Document:
    executors, cores = map(int, arm["name"].split("x"))
    kind = loss_class(arm["median_s"], arm["measures"], best["median_s"], best["measures"])
    return {"executors": executors, "cores": cores, "seconds": arm["median_s"], "class": kind}


def _smt(comparison: Document, arms: list[Document], runs: list[Document]) -> Document:
    """Whether the further threads pay, and S4's effectiveness of them."""
    found = _fastest(comparison, arms, runs)
    half, both, one = "half the cores", "half the cores, all threads", "one thread"
    if not {half, both, one} <= {arm["name"] for arm in arms}:
        return found
    times = {(run["arm"], run["repetition"]): run["seconds"] for run in runs}
    whole = [r for name, r in times if name == half and {(both, r), (one, r)} <= times.keys()]
    if not whole:
        return found
    halves = [times[half, r] for r in whole]
    of_threads = [h / times[both, r] for h, r in zip(halves, whole, strict=True)]
    of_cores = [h / times[one, r] for h, r in zip(halves, whole, strict=True)]
    each = [smt_effectiveness(*two) for two in zip(of_threads, of_cores, strict=True)]
    ones = [1.0] * len(whole)
    smt, cores = paired_ratio(of_threads, ones).value, paired_ratio(of_cores, ones).value
    effective = paired_ratio(each, ones, comparison["confidence"])
    effectiveness = effective.value
    found["sentence"] += (
        f" On half the cores all threads scale by {smt:.2f}, twice the cores by {cores:.2f}: "
        f"effectiveness {effectiveness:.2f}{_interval(effective, comparison['confidence'])} "
        f"(S4, formula 3), {_pay(effective)}."
    )
    scaling = {"smt_scaling": smt, "dp_scaling": cores, "effectiveness": effectiveness}
    return {**found, "scaling": scaling}


def _pay(effectiveness: Ratio) -> str:
    if not effectiveness.is_certain:
        return "whether the further threads pay is undecided"
    return f"the further threads {'pay' if effectiveness.value > 1 else 'do not pay'}"


def _interval(ratio: Ratio, confidence: float) -> str:
    if ratio.interval is None:
        return ""
    return f" ({confidence:.0%} interval {ratio.interval[0]:.2f} to {ratio.interval[1]:.2f})"


def _nodes(comparison: Document, arms: list[Document], runs: list[Document]) -> Document:
    """Of each number of nodes, bound (1B, 2B, ...) against left to the kernel (1NB, 2NB, ...)."""
    names = {arm["name"].split(" ")[0]: arm["name"] for arm in arms}
    both = {kind[:-1]: (names[kind], names[f"{kind[:-1]}NB"])
            for kind in names if not kind.endswith("NB") and f"{kind[:-1]}NB" in names}  # fmt: skip
    confidence = each_confidence(comparison["confidence"], len(both))
    parts, why, numbers = [], [], []
    for number, (bound, unbound) in both.items():
        mine, base = pairs(bound, unbound, runs)
        if not base:
            continue
        speedup = paired_ratio(base, mine, confidence)
        shown = _interval(speedup, comparison["confidence"])
        parts.append(f"{number} node{'s' * (number != '1')}: {speedup.value:.2f}x{shown}")
        numbers.append(len(base))
        why += moved(bound, unbound, runs)
    if not parts:
        return _fastest(comparison, arms, runs)
    text = f"Speed-up of bound over unbound, of {min(numbers)} pairs: {', '.join(parts)}."
    return {"sentence": text, "why": why}


def _bandwidth(comparison: Document, arms: list[Document], runs: list[Document]) -> Document:
    """The mean over the run, as a share of what this machine sustains, and S4's region."""
    used = arms[0]["measures"].get("bandwidth_gb_s")
    sustained = comparison["settings"].get("sustained_gb_s")
    if not isinstance(used, int | float):
        reason = used["absent"] if isinstance(used, dict) else "not recorded"
        return {"sentence": f"The bandwidth was not measured: {reason}."}
    if not sustained:
        return {"sentence": f"{used:.1f} GB/s on average; what this machine sustains is unknown."}
    region = bandwidth_region(used, sustained)
    return {
        "sentence": f"{used:.1f} GB/s on average, {used / sustained:.0%} of the {sustained:.1f} "
        f"GB/s that this machine sustains: the region of {region} latency (S4)."
    }


def _kinds(comparison: Document, arms: list[Document], runs: list[Document]) -> Document:
    """The measures of both side by side: their times mean different things."""
    names = [arm["name"] for arm in arms]
    if len(names) < 2:
        return {"sentence": f"Only {names[0]} finished, so there is nothing to compare."}
    sides = []
    for measure in MEASURES:
        values = [arm["measures"].get(measure.key) for arm in arms[:2]]
        if measure.key in _OF_ANY_LENGTH and all(isinstance(v, int | float) for v in values):
            batch, streaming = (measure.form.format(v) for v in values)
            sides.append({"measure": measure.words, "batch": batch, "streaming": streaming})
    told = "; ".join(f"{s['measure']} {s['batch']} and {s['streaming']}" for s in sides)
    sentence = f"Batch and streaming: {told or 'no measure was taken of both'}."
    return {"sentence": f"{sentence} Their times mean different things.", "sides": sides}


def _rates(comparison: Document, arms: list[Document], runs: list[Document]) -> Document:
    """Processing time of a batch, delay, and whether it kept up, by events a second."""
    streams = []
    for arm in arms:
        told = [r["streaming"] for r in runs if r["arm"] == arm["name"] and "streaming" in r]
        delays = [t["scheduling_delay_ms"].get("max") for t in told]
        streams.append({
            "rate": int(arm["name"].removesuffix("/s")),
            "processing_ms": statistics.median(t["processing_ms"]["median"] for t in told),
            "delay_ms": max((d for d in delays if d is not None), default=None),
            "unsent": sum(t["unsent"] for t in told),
            "kept_up": all(t["kept_up"] for t in told),
        })  # fmt: skip
    kept = [s["rate"] for s in streams if s["kept_up"]]
    most = f"it kept up at {max(kept):,} events/s" if kept else "it kept up at no rate"
    times = ", ".join(f"{s['processing_ms']:.0f} ms at {s['rate']:,}/s" for s in streams)
    return {"sentence": f"A batch takes {times} (medians); {most}.", "streams": streams}


_ANSWERS: dict[str, Callable[[Document, list[Document], list[Document]], Document]] = {
    "sweep": _sweep,
    "smt": _smt,
    "nodes": _nodes,
    "bandwidth": _bandwidth,
    "kinds": _kinds,
    "rates": _rates,
}
