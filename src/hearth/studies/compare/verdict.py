"""Derive a comparison's verdict from the times and measures of its runs, with reasons. Pure."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hearth.base.absent import Absent, Measured
from hearth.studies.compare.result import (
    SCHEMA,
    ArmCount,
    ArmCpu,
    Compared,
    ComparedArm,
    ComparisonHead,
    ComparisonVerdict,
    PairedRatio,
)
from hearth.studies.engine.arms import AS_IS, FIXED
from hearth.studies.engine.measures import medians
from hearth.studies.engine.statistics import (
    CONFIDENCE,
    FEWEST_PAIRS,
    Ratio,
    against,
    each_confidence,
    needed,
    paired_ratio,
    reached,
)
from hearth.studies.engine.trial import Trial
from hearth.studies.engine.validity import (
    TimedRun,
    ValidityWarning,
    busy_runs,
    validity_warnings,
)

#: A measure has changed when its median changed by this share and the ranges do not overlap, which
#: of two arms of five equal runs happens by chance in 2 of 252 cases: of fewer it says nothing.
_MOVED = 0.10
_FEWEST_TO_MOVE = 5
#: An interval of this half-width is what more repetitions are asked for, at least.
_WORTH_KNOWING = 0.05
#: Where more repetitions than this would be needed, the machine is too noisy.
_MOST_ADVISED = 50


@dataclass(frozen=True)
class Measure:
    """A measure that may explain a difference, how it is named and shown."""

    key: str
    words: str
    form: str


#: The arms whose executors are bound, by mask and memory policy, or by a cpuset.
_BINDING = ("bound", "package", "docker")
#: What Chiba 2015 shows of bound executors and of others; each has a ratio of its own.
COUNTS = (
    Measure("minor_faults", "page faults without reading a disk", "{:,.0f}"),
    Measure("major_faults", "page faults that read a disk", "{:,.0f}"),
    Measure("tlb_misses", "data TLB misses of loads per 1,000 instructions", "{:.2f}"),
    Measure("remote_loads", "loads from memory that another node answered", "{:.1%}"),
)
MEASURES = (
    Measure("gc_share", "GC share of task time", "{:.1%}"),
    Measure("remote_share", "share of memory on another node", "{:.1%}"),
    Measure("involuntary", "involuntary context switches", "{:,.0f}"),
    Measure("voluntary", "voluntary context switches", "{:,.0f}"),
    Measure("cpu_s", "CPU seconds of the JVMs", "{:,.1f}"),
    Measure("cpu_use", "share of the CPUs' time used", "{:.1%}"),
    Measure("cpi", "cycles per instruction", "{:.2f}"),
    Measure("l3_misses", "L3 load misses per 1,000 instructions", "{:.2f}"),
    Measure("front_end", "share of slots bound by the front end", "{:.1%}"),
    Measure("bandwidth_gb_s", "GB/s from and to memory", "{:.1f}"),
    *COUNTS,
)
#: Of the time of the CPUs that an application may use; idle is what it leaves.
CPU_SHARES = (
    Measure("user_share", "user", "{:.1%}"),
    Measure("system_share", "system", "{:.1%}"),
    Measure("idle_share", "left idle", "{:.1%}"),
)
#: Kept of each arm, and no ground for a verdict: memory follows from the heap, and what is used of
#: the CPUs is `cpu_s` and `cpu_use`.
KEPT = (
    Measure("memory_gb", "GB that the JVMs held at most", "{:.1f}"),
    Measure("gc_s", "seconds of tasks in garbage collection", "{:,.1f}"),
    *CPU_SHARES,
)
#: What the processor's counters say besides, where they say it; the last one, where they are
#: silent, is the kernel's. No verdict rests on them: of so many, some change by chance.
COUNTED = (
    Measure("instructions_per_cycle", "instructions per cycle", "{:.2f}"),
    *(
        Measure(key, f"share of slots: {words}", "{:.1%}")
        for key, words in (
            ("retiring", "retiring"),
            ("bad_speculation", "bad speculation"),
            ("branch_mispredicts", "mispredicted branches"),
            ("machine_clears", "machine clears"),
            ("front_end_latency", "front-end latency"),
            ("front_end_bandwidth", "front-end bandwidth"),
            ("back_end_bound", "back end"),
            ("memory_bound", "memory"),
            ("core_bound", "core"),
            ("light_operations", "light operations"),
            ("heavy_operations", "heavy operations"),
        )
    ),
    *(
        Measure(key, f"share of cycles: {words}", "{:.1%}")
        for key, words in (
            ("icache_misses", "instruction cache misses"),
            ("itlb_misses", "instruction TLB misses"),
            ("dtlb_overhead", "data TLB"),
            ("l1_bound", "first-level cache"),
            ("l2_bound", "second-level cache"),
            ("l3_bound", "last-level cache"),
            ("dram_bound", "DRAM"),
            ("memory_bandwidth_bound", "DRAM's bandwidth"),
            ("memory_latency_bound", "DRAM's latency"),
            ("store_bound", "stores"),
            ("ports_utilization", "ports"),
            ("ports_0", "no port in use"),
            ("local_dram_bound", "local DRAM (Awan 2016, formula 1)"),
            ("remote_dram_bound", "remote DRAM (formula 2)"),
            ("l1_miss_impact", "L1 misses (formula 4)"),
            ("l2_hit_impact", "L2 hits (formula 5)"),
        )
    ),
    COUNTS[-1],
    Measure(
        "remote_hint_faults",
        "accesses from another node, sampled by the kernel's NUMA balancing on the whole machine",
        "{:.1%}",
    ),
)
_ALL = (*MEASURES, *COUNTED, *KEPT)


@dataclass(frozen=True)
class _Claims:
    """The baseline and the confidence that all claims of a comparison share.

    confidence: of all claims together, at every look. each: of one claim alone. looks: the numbers
    of pairs at which a comparison that stops by its result looks; empty where the number is fixed.
    """

    baseline: str
    confidence: float
    each: float
    looks: tuple[int, ...]

    @staticmethod
    def of(head: ComparisonHead, confidence: float) -> "_Claims":
        """Claim as much as arms besides the baseline were to run, whichever of them finished."""
        looks = tuple(head.settings.looks or ())
        others = [name for name in head.running if name != head.baseline]
        return _Claims(
            head.baseline, confidence, each_confidence(confidence, len(others), looks), looks
        )

    def ratio(self, mine: list[float], base: list[float]) -> tuple[Ratio, int]:
        """Return the ratio of the pairs that count, and their number; of all pairs if none does."""
        pairs = reached(self.looks, len(base))
        if not pairs:
            return Ratio(paired_ratio(mine, base).value, None), len(base)
        return paired_ratio(mine[:pairs], base[:pairs], self.each), pairs


def compared(
    head: ComparisonHead, trials: Sequence[Trial], confidence: float = CONFIDENCE
) -> Compared:
    """Return the result of these trials, which are in the order of time.

    confidence: of all that is claimed together.
    """
    claims = _Claims.of(head, confidence)
    other_load = _other_load(trials)
    arms = [
        replace(_arm(arm.name, arm.skipped, claims, trials), setting=arm.setting)
        for arm in head.arms
    ]
    said = _verdict(arms, claims, trials, head.id)
    if other_load:
        hedge = "; other programs used the CPUs meanwhile: compare again."
        said = replace(said, sentence=said.sentence.removesuffix(".") + hedge)
    return Compared(
        schema=SCHEMA,
        id=head.id,
        application=head.application,
        started=head.started,
        baseline=head.baseline,
        settings=head.settings,
        confidence=confidence,
        confidence_each=claims.each,
        arms=arms,
        verdict=said,
        warnings=[
            *other_load,
            *validity_warnings(_timed(trials), claims.baseline),
            *_other_plans(trials),
        ],
    )


def _timed(trials: Sequence[Trial]) -> list[TimedRun]:
    return [TimedRun(t.arm, t.repetition, t.counted_s) for t in trials if t.counted_s is not None]


def _other_load(trials: Sequence[Trial]) -> list[ValidityWarning]:
    """Return where other programs used much of the machine during measured runs."""
    shares = [(t.measures or {}).get("other_load") for t in trials if t.counted_s is not None]
    said = busy_runs(shares, "runs", "compare again")
    return [ValidityWarning("other-load", sentence) for sentence in said]


def _other_plans(trials: Sequence[Trial]) -> list[ValidityWarning]:
    """Warn of each arm whose executors were not the same in all its runs."""
    plans: dict[str, list[str]] = {}
    for trial in trials:
        of_arm = plans.setdefault(trial.arm, [])
        if trial.counted_s is not None and trial.plan is not None and trial.plan not in of_arm:
            of_arm.append(trial.plan)
    return [
        ValidityWarning(
            "other-plan",
            f"{name} did not run with the same executors each time ({of_arm[0]}, and later "
            f"{of_arm[1]}), for example because another application started or ended: compare "
            "again on an idle machine",
        )
        for name, of_arm in plans.items()
        if len(of_arm) > 1
    ]


def certain(head: ComparisonHead, trials: Sequence[Trial]) -> bool:
    """Return whether each arm that runs is shown to be faster, slower or equal to the baseline."""
    claims = _Claims.of(head, CONFIDENCE)
    judged = [_arm(n, None, claims, trials) for n in head.running if n != head.baseline]
    return bool(judged) and all(arm.against in _CERTAIN for arm in judged)


_CERTAIN = ("faster", "slower", "equal")


def _arm(name: str, skipped: str | None, claims: _Claims, trials: Sequence[Trial]) -> ComparedArm:
    """Return one arm, of its measured runs; a failure counts in a warm-up too."""
    if skipped:
        return ComparedArm(name, [], skipped=skipped)
    of_arm = [trial for trial in trials if trial.arm == name]
    failures = [trial.failure for trial in of_arm if trial.failure is not None] or None
    seconds = [trial.counted_s for trial in of_arm if trial.counted_s is not None]
    if not seconds:
        return ComparedArm(name, [], failures=failures)
    arm = ComparedArm(
        name,
        seconds,
        failures=failures,
        median_s=statistics.median(seconds),
        min_s=min(seconds),
        max_s=max(seconds),
        measures=_medians(name, trials),
        each=_each(name, trials) or None,
        cpu=_cpu(name, claims, trials),
        counts=_counts(name, claims, trials) or None,
    )
    ratio, kind = _against(name, claims, counted_times(trials))
    return replace(arm, ratio=ratio, against=kind)


def _against(
    name: str, claims: _Claims, values: Mapping[tuple[str, int], float]
) -> tuple[PairedRatio | None, str | None]:
    """Return the ratio of an arm's values to the baseline's, and what it shows."""
    mine, base = _paired(name, claims.baseline, values)
    if name == claims.baseline or not base:
        return None, None
    ratio, number = claims.ratio(mine, base)
    low, high = ratio.interval or (None, None)
    return PairedRatio(ratio.value, number, low, high), against(ratio)


def _cpu(name: str, claims: _Claims, trials: Sequence[Trial]) -> ArmCpu | None:
    """Return what the arm's runs used of the CPUs; None where that is not on record."""
    used = {(t.arm, t.repetition): _user_and_system(t) for t in trials}
    known = {at: cpu for at, cpu in used.items() if cpu is not None and sum(cpu) > 0}
    of_arm = [cpu for (arm, _), cpu in known.items() if arm == name]
    if not of_arm:
        return None
    ratio, kind = _against(name, claims, {at: sum(cpu) for at, cpu in known.items()})
    return ArmCpu(
        median_s=statistics.median(map(sum, of_arm)),
        user_s=statistics.median(user for user, _ in of_arm),
        system_s=statistics.median(system for _, system in of_arm),
        ratio=ratio,
        against=kind,
    )


def _counts(name: str, claims: _Claims, trials: Sequence[Trial]) -> dict[str, ArmCount]:
    """Return of each count its median and its ratio; none where a run of either counted nothing."""
    counts = {}
    for one in COUNTS:
        known = {
            (t.arm, t.repetition): float(value)
            for t in trials
            if t.counted_s is not None
            and isinstance(value := (t.measures or {}).get(one.key), int | float)
        }
        of_arm = [value for (arm, _), value in known.items() if arm == name]
        if of_arm:
            theirs = [v for (arm, _), v in known.items() if arm in (name, claims.baseline)]
            ratio = _against(name, claims, known)[0] if min(theirs) > 0 else None
            counts[one.key] = ArmCount(statistics.median(of_arm), ratio)
    return counts


def _user_and_system(trial: Trial) -> tuple[float, float] | None:
    measures = trial.measures or {}
    user, system = measures.get("cpu_user_s"), measures.get("cpu_system_s")
    if trial.counted_s is None:
        return None
    if not isinstance(user, int | float) or not isinstance(system, int | float):
        return None
    return float(user), float(system)


def pairs(name: str, baseline: str, trials: Sequence[Trial]) -> tuple[list[float], list[float]]:
    """Return the times of two arms in those repetitions that both finished."""
    return _paired(name, baseline, counted_times(trials))


def _paired(
    name: str, baseline: str, values: Mapping[tuple[str, int], float]
) -> tuple[list[float], list[float]]:
    both = sorted(r for arm, r in values if arm == name and (baseline, r) in values)
    return [values[name, r] for r in both], [values[baseline, r] for r in both]


def counted_times(trials: Sequence[Trial]) -> dict[tuple[str, int], float]:
    """Return the seconds of the measured runs, by arm and repetition."""
    return {(t.arm, t.repetition): t.counted_s for t in trials if t.counted_s is not None}


def _medians(name: str, trials: Sequence[Trial]) -> dict[str, Measured[float]] | None:
    """Return the medians of what was measured; None of an arm whose runs are not on record."""
    runs = [trial.measures for trial in _counted(name, trials)]
    if all(measures is None for measures in runs):
        return None
    known = medians((one.key for one in _ALL), runs)
    shown = {one.key: known.get(one.key, Absent("not recorded")) for one in MEASURES}
    return {**shown, **{key: one for key, one in known.items() if not isinstance(one, Absent)}}


def _each(name: str, trials: Sequence[Trial]) -> dict[str, list[float]]:
    """Return what was measured in every run, of each."""
    each = {one.key: _values(name, one.key, trials) for one in _ALL}
    number = len(_counted(name, trials))
    return {key: values for key, values in each.items() if len(values) == number}


def _counted(name: str, trials: Sequence[Trial]) -> list[Trial]:
    return [t for t in trials if t.arm == name and t.counted_s is not None]


def _values(name: str, key: str, trials: Sequence[Trial]) -> list[float]:
    values = [(t.measures or {}).get(key) for t in _counted(name, trials)]
    return [float(value) for value in values if isinstance(value, int | float)]


def _verdict(
    arms: Sequence[ComparedArm], claims: _Claims, trials: Sequence[Trial], number: str
) -> ComparisonVerdict:
    baseline, confidence = claims.baseline, claims.confidence
    failures = _failures(arms)
    if not any(arm.seconds for arm in arms if arm.name == baseline):
        return ComparisonVerdict(None, _without_baseline(baseline, trials, number), failures)
    judged = [(arm, arm.ratio) for arm in arms if arm.ratio is not None]
    faster = [(arm, ratio) for arm, ratio in judged if arm.against == "faster"]
    if faster:
        best, ratio = min(faster, key=lambda judged_arm: judged_arm[1].value)
        sentence = f"{_advice(best.name)}: {claim(best, ratio, baseline, confidence)}."
        binding = _binding(best, arms, trials, claims)
        why = [binding] if binding else []
        why += moved(best.name, baseline, trials)
        return ComparisonVerdict(best.name, sentence, why + failures)
    if not judged:
        sentence = f"No verdict: no other arm finished in a repetition in which {baseline} did."
        return ComparisonVerdict(None, sentence, failures)
    texts = "; ".join(claim(arm, ratio, baseline, confidence) for arm, ratio in judged)
    slower = [arm.name for arm, _ in judged if arm.against == "slower"]
    why = [line for name in slower for line in moved(name, baseline, trials)]
    undecided = [(arm, ratio) for arm, ratio in judged if arm.against == "undecided"]
    if undecided:
        why += [line for arm, ratio in undecided for line in _more(arm, ratio)]
        cpu = [words for arm, _ in undecided for words in _cpu_claim(arm, baseline, confidence)]
        sentence = "; ".join([f"Undecided: {texts}", *cpu])
        return ComparisonVerdict(None, f"{sentence}.", why + failures)
    others = {arm.name for arm, _ in judged}
    unbound = baseline == "native" and others <= {"plan", "tuned"}
    advice = "Stay with local[*]" if unbound else _advice(baseline)
    sentence = f"{advice}: {texts}."
    return ComparisonVerdict(baseline, sentence, why + failures)


def _without_baseline(baseline: str, trials: Sequence[Trial], number: str) -> str:
    if trials and all(t.failure is not None and not t.turn.counts for t in trials):
        return "No verdict: every warm-up failed, so nothing was measured."
    if any(trial.arm == baseline for trial in trials):
        return f"No verdict: {baseline} never finished, so there is nothing to compare with."
    goes_on = f"'hearth compare --resume {number}' goes on with it"
    return f"No verdict yet: no run of {baseline} has ended; {goes_on}."


def _advice(name: str) -> str:
    return {
        "native": "Do not bind",
        "plan": "Use the plan (hearth submit)",
        "adaptive": "Use the plan, with --width adaptive",
        "bound": "Bind",
        "unbound": "Partition, but do not bind",
        "balanced": "Partition, do not bind, and leave NUMA balancing on",
        "package": "Bind to packages",
        "docker": "Bind, with containers",
        "tuned": "Use what hearth tune found (--tuned)",
        AS_IS: "Leave the machine as it is",
    }.get(name, _other_advice(name))


def _other_advice(name: str) -> str:
    if name.startswith(FIXED):
        return "Fix it (hearth doctor --explain)"
    return f"Use {name}"


def claim(arm: ComparedArm, ratio: PairedRatio, baseline: str, confidence: float) -> str:
    """Return how an arm's time compares with the baseline's, and how well that is known."""
    pairs = f"{_NUMBERS.get(ratio.pairs, ratio.pairs)} pair{'s' * (ratio.pairs != 1)}"
    if ratio.interval is None:
        few = f"{pairs} cannot prove it: at least {_NUMBERS[FEWEST_PAIRS]} are needed"
        return f"{arm.name} looks {_speed(ratio.value, baseline)}, but {few}"
    if arm.against == "undecided":
        do = "does" if ratio.pairs == 1 else "do"
        looks = f"{arm.name} looks {_speed(ratio.value, baseline)}"
        return f"{looks}, but {pairs} {do} not prove it"
    low, high = ratio.interval
    interval = f"{confidence:.0%} interval {low:.2f} to {high:.2f} of {baseline}'s time, {pairs}"
    speed = "as fast as " + baseline if arm.against == "equal" else _speed(ratio.value, baseline)
    return f"{arm.name} is {speed} ({interval})"


_NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}
#: From here on a person says how many times as fast.
_TIMES = 1.5


def _speed(ratio: float, baseline: str) -> str:
    """Return what a ratio of times is in words: `2.4 times as fast as native`."""
    if ratio <= 1 / _TIMES:
        return f"{1 / ratio:.1f} times as fast as {baseline}"
    if ratio >= _TIMES:
        return f"{ratio:.1f} times as slow as {baseline}"
    change = f"{abs(ratio - 1):.0%}"
    if change == "0%":
        return f"as fast as {baseline}"
    return f"{change} {'faster' if ratio < 1 else 'slower'} than {baseline}"


def _cpu_claim(arm: ComparedArm, baseline: str, confidence: float) -> list[str]:
    """Return what the CPU seconds of an arm show, where they show anything."""
    ratio = arm.cpu.ratio if arm.cpu else None
    if arm.cpu is None or ratio is None or arm.cpu.against not in _CERTAIN:
        return []
    low, high = ratio.interval or (ratio.value, ratio.value)
    interval = f"{confidence:.0%} interval {low:.2f} to {high:.2f}"
    return [f"{arm.name} uses {ratio.value:.2f} of {baseline}'s CPU seconds ({interval})"]


def _more(arm: ComparedArm, ratio: PairedRatio) -> list[str]:
    """Return about how many repetitions would decide an undecided arm."""
    if ratio.interval is None:
        return []
    wide = max(_WORTH_KNOWING, math.exp(min(abs(math.log(ratio.value)), 1.0)) - 1)
    number = max(needed(ratio.interval, ratio.pairs, wide), ratio.pairs + 2)
    if number > _MOST_ADVISED:
        return [
            f"{arm.name}: too noisy to decide: even {_MOST_ADVISED} repetitions may be too few; "
            "compare on a quiet machine: --wait-quiet 10m waits for one before each run"
        ]
    tell = "decide it"
    if wide == _WORTH_KNOWING:
        tell = f"tell whether the difference is {wide:.0%} or more"
    return [f"{arm.name}: about {number} repetitions would {tell} (--repeat {number})"]


def _binding(
    best: ComparedArm, arms: Sequence[ComparedArm], trials: Sequence[Trial], claims: _Claims
) -> str | None:
    """Return whether the binding itself pays, or only the partitioning.

    Asked only of an arm that is shown to be faster, and at that arm's share of the error: a fixed
    sequence, which needs no more (Maurer, Hothorn and Lehmacher 1995).
    """
    names = [arm.name for arm in arms if arm.seconds]
    if best.name not in _BINDING or "unbound" not in names:
        return None
    mine, base = pairs(best.name, "unbound", trials)
    if not base:
        return None
    ratio, _ = claims.ratio(mine, base)
    kind = against(ratio)
    words = f"{best.name} against unbound: {ratio.value:.2f} of its time"
    if ratio.interval is not None:
        words += f" ({ratio.interval[0]:.2f} to {ratio.interval[1]:.2f})"
    if kind == "faster":
        return f"{words}: the binding itself pays, in addition to the partitioning"
    return f"{words}: the partitioning pays; that the binding does is not shown"


def moved(name: str, baseline: str, trials: Sequence[Trial]) -> list[str]:
    """Return a sentence for each measure that changed by more than its spread between two arms.

    None where there are too few runs to say so.
    """
    if min(len(_counted(arm, trials)) for arm in (name, baseline)) < _FEWEST_TO_MOVE:
        return []
    sentences = []
    for measure in MEASURES:
        mine, base = _values(name, measure.key, trials), _values(baseline, measure.key, trials)
        if not mine or not base:
            continue
        new, old = statistics.median(mine), statistics.median(base)
        apart = max(mine) < min(base) or min(mine) > max(base)
        if apart and abs(new - old) > _MOVED * abs(old):
            direction = "fell" if new < old else "rose"
            shown = f"{measure.form.format(old)} to {measure.form.format(new)}"
            sentences.append(f"{measure.words} {direction} from {shown} ({baseline} to {name})")
    return sentences


def _failures(arms: Sequence[ComparedArm]) -> list[str]:
    return [
        f"{arm.name} failed and was not run again: {arm.failures[-1]}"
        for arm in arms
        if arm.failures
    ]
