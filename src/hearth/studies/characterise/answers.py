"""Answer a question from its runs; pure, from a comparison to a sentence and its figures."""

import itertools
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypedDict

from hearth.base.absent import Absent
from hearth.base.codec import LEFT_OUT
from hearth.base.limits import Count, Positive
from hearth.base.sizes import counted
from hearth.record.counters import bandwidth_region, peak_bandwidth, smt_effectiveness
from hearth.studies.compare.result import Compared, ComparedArm
from hearth.studies.compare.verdict import (
    COUNTED,
    CPU_SHARES,
    MEASURES,
    claim,
    counted_times,
    moved,
    pairs,
)
from hearth.studies.engine.loss_classes import loss_class, unchecked_classes
from hearth.studies.engine.statistics import Ratio, each_confidence, paired_ratio
from hearth.studies.engine.trial import Measures, Trial

#: Measures that do not grow with the length of a run.
_OF_ANY_LENGTH = ("gc_share", "remote_share", "cpu_use", "cpi", "l3_misses", "front_end")
#: A configuration of a sweep: its median seconds, and why it is slower than the best one.
SweptCell = TypedDict("SweptCell", {"executors": int, "cores": int, "seconds": float, "class": str})


@dataclass(frozen=True)
class Scaling:
    """Scaling over threads and cores, and Awan's effectiveness of SMT (2016, formula 3)."""

    smt_scaling: float
    dp_scaling: float
    effectiveness: float


@dataclass(frozen=True)
class Sides:
    """A measure of a batch job and of a streaming one, as it is shown."""

    measure: str
    batch: str
    streaming: str


@dataclass(frozen=True)
class StreamedRate:
    """A stream at a rate (events a second): times in ms, events that were not sent."""

    rate: Positive
    processing_ms: float
    delay_ms: float | None
    unsent: Count
    kept_up: bool


@dataclass(frozen=True)
class CountedMeasure:
    """A measure by the processor's counters or the kernel, as shown for each arm."""

    measure: str
    ways: dict[str, str]


@dataclass(frozen=True)
class MeasuredAnswer:
    """One sentence, what speaks for it, and the figures of some questions."""

    sentence: str
    why: list[str] = field(default_factory=list)
    cells: list[SweptCell] | None = field(default=None, metadata=LEFT_OUT)
    scaling: Scaling | None = field(default=None, metadata=LEFT_OUT)
    sides: list[Sides] | None = field(default=None, metadata=LEFT_OUT)
    streams: list[StreamedRate] | None = field(default=None, metadata=LEFT_OUT)
    counted: list[CountedMeasure] | None = field(default=None, metadata=LEFT_OUT)


def answered(key: str, comparison: Compared, trials: Sequence[Trial]) -> MeasuredAnswer:
    """Return the answer to a question; trials: of its comparison, warm-ups too."""
    failures = [f"{a.name} failed: {a.failures[-1]}" for a in comparison.arms if a.failures]
    if not comparison.finished:
        warm_ups = trials and all(t.failure and not t.turn.counts for t in trials)
        what = "Every warm-up failed" if warm_ups else "No run finished"
        return MeasuredAnswer(f"{what}, so there is no answer.", failures)
    answer = _ANSWERS.get(key, _fastest)(comparison, comparison.finished, trials)
    counted = _counted(comparison.finished) if key in _COUNTING else None
    return replace(answer, why=[*answer.why, *failures], counted=counted)


#: Questions that Awan 2016 answers by counters.
_COUNTING = ("slots", "kinds", "rates", "memory", "smt", "prefetchers")


def _counted(arms: Sequence[ComparedArm]) -> list[CountedMeasure] | None:
    """Return the counters' measures of each arm; None where nothing was counted."""
    rows = []
    for measure in COUNTED:
        values = {arm.name: _measures(arm).get(measure.key) for arm in arms}
        known = {
            name: measure.form.format(value)
            for name, value in values.items()
            if isinstance(value, int | float)
        }
        if known:
            rows.append(CountedMeasure(measure.words, known))
    return rows or None


def _fastest(
    comparison: Compared, arms: Sequence[ComparedArm], trials: Sequence[Trial]
) -> MeasuredAnswer:
    """Return which arm has the smallest median, and how each compares with the baseline."""
    best = min(arms, key=lambda arm: arm.median)
    base = comparison.baseline
    claims = [claim(a, a.ratio, base, comparison.confidence) for a in arms if a.ratio]
    sentence = f"{best.name} has the smallest median, {best.median:.2f} s"
    if claims:
        sentence += f": {'; '.join(claims)}"
    return MeasuredAnswer(
        f"{sentence}.", moved(best.name, base, trials) if best.name != base else []
    )


def _sweep(
    comparison: Compared, arms: Sequence[ComparedArm], trials: Sequence[Trial]
) -> MeasuredAnswer:
    """Return the fastest configuration, and the class of each other one."""
    best = min(arms, key=lambda arm: arm.median)
    cells = [_cell(arm, best) for arm in arms]
    near = sum(cell["class"].startswith("within") for cell in cells)
    few = min(len(arm.seconds) for arm in arms)
    sentence = (
        f"{best.name} (executors x cores) has the smallest median, {best.median:.2f} s; "
        f"{near} of {len(cells) - 1} others are within 10 % of it ({counted(few, 'run')} of each)."
    )
    blind = unchecked_classes(_measures(best))
    why = (
        [f"not measured, so no configuration is classified as: {', '.join(blind)}"] if blind else []
    )
    return MeasuredAnswer(sentence, why, cells=cells)


def _cell(arm: ComparedArm, best: ComparedArm) -> SweptCell:
    executors, cores = map(int, arm.name.split("x"))
    kind = loss_class(arm.median, _measures(arm), best.median, _measures(best))
    return {"executors": executors, "cores": cores, "seconds": arm.median, "class": kind}


def _measures(arm: ComparedArm) -> Measures:
    return arm.measures or {}


def _cores(
    comparison: Compared, arms: Sequence[ComparedArm], trials: Sequence[Trial]
) -> MeasuredAnswer:
    """Return how much faster than on the fewest cores, and what the CPUs' time went to on each."""
    first, *more = arms
    claims = [f"{first.median / arm.median:.2f} times as fast on {arm.name}" for arm in more]
    than = f"One JVM, to its speed on {first.name} ({first.median:.2f} s)"
    shares = [f"{arm.name}: {', '.join(shown)}" for arm in arms if (shown := _cpu_shares(arm))]
    return MeasuredAnswer(f"{than}: {', '.join(claims) or 'nothing else finished'}.", shares)


def _cpu_shares(arm: ComparedArm) -> list[str]:
    values = [(one, _measures(arm).get(one.key)) for one in CPU_SHARES]
    return [f"{one.words} {one.form.format(value)}" for one, value in values
            if isinstance(value, int | float)]  # fmt: skip


def _smt(
    comparison: Compared, arms: Sequence[ComparedArm], trials: Sequence[Trial]
) -> MeasuredAnswer:
    """Return whether the further threads pay, and Awan's effectiveness of them."""
    fastest, times = _fastest(comparison, arms, trials), counted_times(trials)
    scales = {name: _scale(three, times, comparison.confidence)
              for name, three in _threes([arm.name for arm in arms]).items()}  # fmt: skip
    known = {name: scale for name, scale in scales.items() if scale is not None}
    if not known:
        return fastest
    name, (smt, cores, effective) = max(known.items(), key=lambda one: one[0] in _ASKED_OF)
    shown = _interval(effective, comparison.confidence)
    sentence = (
        f"{fastest.sentence} On {name} all threads scale by {smt:.2f}, twice the cores by "
        f"{cores:.2f}: effectiveness {effective.value:.2f}{shown} (Awan 2016, formula 3), "
        f"{_pay(effective)}."
    )
    others = [f"on {other} effectiveness {ratio.value:.2f}: all threads scale by {threads:.2f}"
              for other, (threads, _, ratio) in known.items() if other != name]  # fmt: skip
    return MeasuredAnswer(
        sentence, [*others, *fastest.why], scaling=Scaling(smt, cores, effective.value)
    )


#: The cores whose answer is the sentence.
_HALF, _TWO = "half the cores", "2 cores"
_ASKED_OF = (_HALF, _TWO)


def _threes(names: Sequence[str]) -> dict[str, tuple[str, str, str]]:
    """Return, of some cores, the arms with one thread, with all, and with one on twice the cores.

    Arms are those of half the cores, or of a ladder: `2x1` is two cores, one thread of each.
    """
    threes = {_HALF: (_HALF, f"{_HALF}, all threads", "one thread")}
    for name in names:
        number, _, threads = name.partition("x")
        if number.isdecimal() and threads.isdecimal() and int(threads) > 1:
            cores = f"{number} core{'s' * (number != '1')}"
            threes[cores] = (f"{number}x1", name, f"{2 * int(number)}x1")
    return threes


def _scale(
    three: tuple[str, str, str], times: Mapping[tuple[str, int], float], confidence: float
) -> tuple[float, float, Ratio] | None:
    """Return the scaling over threads and over cores, and the effectiveness; None without runs."""
    half, both, one = three
    whole = [r for name, r in times if name == half and {(both, r), (one, r)} <= times.keys()]
    if not whole:
        return None
    halves = [times[half, r] for r in whole]
    of_threads = [h / times[both, r] for h, r in zip(halves, whole, strict=True)]
    of_cores = [h / times[one, r] for h, r in zip(halves, whole, strict=True)]
    each = [smt_effectiveness(*two) for two in zip(of_threads, of_cores, strict=True)]
    ones = [1.0] * len(whole)
    smt, cores = paired_ratio(of_threads, ones).value, paired_ratio(of_cores, ones).value
    return smt, cores, paired_ratio(each, ones, confidence)


def _pay(effectiveness: Ratio) -> str:
    if not effectiveness.is_certain:
        return "whether more threads per core pay is undecided"
    return f"more threads per core {'pay' if effectiveness.value > 1 else 'do not pay'}"


def _interval(ratio: Ratio, confidence: float) -> str:
    if ratio.interval is None:
        return ""
    return f" ({confidence:.0%} interval {ratio.interval[0]:.2f} to {ratio.interval[1]:.2f})"


def _nodes(
    comparison: Compared, arms: Sequence[ComparedArm], trials: Sequence[Trial]
) -> MeasuredAnswer:
    """Compare bound (1B, 2B, ...) with unbound (1NB, 2NB, ...) runs on each number of nodes.

    Where several sizes of executors were tried, the best one of each is compared, as in Baig 2018.
    """
    best = _best_by_kind(arms)
    both = {kind[:-1]: (best[kind].name, best[f"{kind[:-1]}NB"].name)
            for kind in best if not kind.endswith("NB") and f"{kind[:-1]}NB" in best}  # fmt: skip
    confidence = each_confidence(comparison.confidence, len(both))
    searched = len(arms) > len(best)
    parts, why, numbers = [], [], []
    for number, (bound, unbound) in both.items():
        mine, base = pairs(bound, unbound, trials)
        if not base:
            continue
        speedup = paired_ratio(base, mine, confidence)
        shown = (
            f" ({bound} to {unbound})" if searched else _interval(speedup, comparison.confidence)
        )
        parts.append(f"{number} node{'s' * (number != '1')}: {speedup.value:.2f}x{shown}")
        numbers.append(len(base))
        why += moved(bound, unbound, trials)
    if not parts:
        return _fastest(comparison, arms, trials)
    best_of = f", the best of {len(arms)} configurations," if searched else ""
    text = f"Speed-up of bound over unbound{best_of} of {min(numbers)} pairs: {', '.join(parts)}."
    chosen = ["the best were chosen by the runs that compare them: no interval"] if searched else []
    return MeasuredAnswer(text, [*chosen, *_more_nodes(best), *why])


def _best_by_kind(arms: Sequence[ComparedArm]) -> dict[str, ComparedArm]:
    """Return the arm with the smallest median of each number of nodes, bound and not."""
    best: dict[str, ComparedArm] = {}
    for arm in sorted(arms, key=lambda arm: arm.median):
        best.setdefault(arm.name.split(" ")[0], arm)
    return {kind: best[kind] for kind in dict.fromkeys(a.name.split(" ")[0] for a in arms)}


def _more_nodes(best: Mapping[str, ComparedArm]) -> list[str]:
    """Return what each further node gains, beside what it could: (current + new) / current."""
    numbers = [int(kind[:-1]) for kind in best if not kind.endswith("NB")]
    return [
        f"{new} nodes instead of {now}, bound: "
        f"{best[f'{now}B'].median / best[f'{new}B'].median:.2f}x, in theory {new / now:.2f}x"
        for now, new in itertools.pairwise(numbers)
    ]


def _bandwidth(
    comparison: Compared, arms: Sequence[ComparedArm], trials: Sequence[Trial]
) -> MeasuredAnswer:
    """Return the mean over the run, as a share of what this machine sustains, and Awan's region."""
    used = _measures(arms[0]).get("bandwidth_gb_s")
    sustained = comparison.settings.sustained_gb_s
    if not isinstance(used, int | float):
        reason = used.reason if isinstance(used, Absent) else "not recorded"
        return MeasuredAnswer(f"The bandwidth was not measured: {reason}.")
    if not sustained:
        return MeasuredAnswer(f"{used:.1f} GB/s on average; what this machine sustains is unknown.")
    region = bandwidth_region(used, sustained)
    return MeasuredAnswer(
        f"{used:.1f} GB/s on average, {used / sustained:.0%} of the {sustained:.1f} "
        f"GB/s that this machine sustains: the region of {region} latency (Awan 2016).",
        [_slower_memory(used / sustained, speed) for speed in _SLOWER_MT_S],
    )


#: Of the top level of the top-down method.
_OF_SLOTS = ("retiring", "bad_speculation", "front_end_latency", "front_end_bandwidth",
             "back_end_bound")  # fmt: skip
#: The speeds of memory that Awan 2016 compares, and the channels of its sockets.
_FASTEST_MT_S, _SLOWER_MT_S, _CHANNELS = 1866, (1333, 1066), 4


def _slower_memory(share: float, speed: int) -> str:
    """Return what the share would be if memory were slower by as much as in the study."""
    peaks = [peak_bandwidth(mt_s, _CHANNELS) for mt_s in (_FASTEST_MT_S, speed)]
    slower = share * peaks[0] / peaks[1]
    return (
        f"with memory slower as {speed} MT/s is than {_FASTEST_MT_S} (a peak of {peaks[1]:.1f} "
        f"instead of {peaks[0]:.1f} GB/s, formula 6) it would be {slower:.0%}: the region of "
        f"{bandwidth_region(slower, 1)} latency, by arithmetic"
    )


def _slots(
    comparison: Compared, arms: Sequence[ComparedArm], trials: Sequence[Trial]
) -> MeasuredAnswer:
    """Return where the cores' slots went, and how many instructions a cycle remained."""
    of = _measures(arms[0])
    shown = [f"{one.words.removeprefix('share of slots: ')} {one.form.format(value)}"
             for one in COUNTED if one.key in _OF_SLOTS
             and isinstance(value := of.get(one.key), int | float)]  # fmt: skip
    ipc = of.get("instructions_per_cycle")
    cycles = f"; {ipc:.2f} instructions per cycle" if isinstance(ipc, int | float) else ""
    return MeasuredAnswer(f"Of the cores' slots: {', '.join(shown) or 'not counted'}{cycles}.")


def _kinds(
    comparison: Compared, arms: Sequence[ComparedArm], trials: Sequence[Trial]
) -> MeasuredAnswer:
    """Return the measures of both side by side: their times mean different things."""
    if len(arms) < 2:
        return MeasuredAnswer(f"Only {arms[0].name} finished, so there is nothing to compare.")
    sides = []
    for measure in MEASURES:
        values = [_measures(arm).get(measure.key) for arm in arms[:2]]
        if measure.key in _OF_ANY_LENGTH and all(isinstance(v, int | float) for v in values):
            batch, streaming = (measure.form.format(v) for v in values)
            sides.append(Sides(measure.words, batch, streaming))
    shown = "; ".join(f"{s.measure} {s.batch} and {s.streaming}" for s in sides)
    sentence = f"Batch and streaming: {shown or 'no measure was taken for both'}."
    return MeasuredAnswer(f"{sentence} Their times mean different things.", sides=sides)


def _rates(
    comparison: Compared, arms: Sequence[ComparedArm], trials: Sequence[Trial]
) -> MeasuredAnswer:
    """Return the processing time of a batch, delay, and whether it kept up, by events a second."""
    streams = [_stream(arm, trials) for arm in arms]
    kept_up = [s.rate for s in streams if s.kept_up]
    most = (
        f"it kept up at {max(kept_up):,} events/s" if kept_up else "it kept up at none of the rates"
    )
    times = ", ".join(f"{s.processing_ms:.0f} ms at {s.rate:,}/s" for s in streams)
    sentence = f"A batch takes {times} (medians); {most}."
    return MeasuredAnswer(sentence, streams=streams)


def _stream(arm: ComparedArm, trials: Sequence[Trial]) -> StreamedRate:
    counted = [t for t in trials if t.arm == arm.name and t.counted_s is not None]
    reports = [t.streaming for t in counted if t.streaming is not None]
    delays = [t["scheduling_delay_ms"].get("max") for t in reports]
    return StreamedRate(
        rate=int(arm.name.removesuffix("/s")),
        processing_ms=statistics.median(t["processing_ms"]["median"] for t in reports),
        delay_ms=max((d for d in delays if d is not None), default=None),
        unsent=sum(t["unsent"] for t in reports),
        kept_up=all(t["kept_up"] for t in reports),
    )


_Question = Callable[[Compared, Sequence[ComparedArm], Sequence[Trial]], MeasuredAnswer]
_ANSWERS: dict[str, _Question] = {
    "sweep": _sweep,
    "cores": _cores,
    "smt": _smt,
    "nodes": _nodes,
    "bandwidth": _bandwidth,
    "slots": _slots,
    "kinds": _kinds,
    "rates": _rates,
}
