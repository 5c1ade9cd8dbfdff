"""How often are hearth's intervals, verdicts and warnings wrong, by simulation?

    .venv/bin/python benchmarks/coverage.py --simulations 10000

Arms run in random order within each repetition, and the second repetition mirrors the first, as
`hearth compare` runs them, on a machine whose noise is known. Where arms are equal, a verdict of
faster or slower is false: at most 5 % may be. Where one is faster, it is to be found as often as by
Student's t test on the logarithms of the pairs' ratios, which is shown beside it. Except where
said, runs scatter by about 5 % (the interquartile range of the logarithm is that of a normal one of
0.05).

Noise: normal; skewed (exponential: nothing is faster than undisturbed); heavy-tailed (t of 2
degrees of freedom); outliers (one run in 12 takes half as long again); two groups (three runs in
ten take 22 % longer, 2 % scatter); correlated (a run resembles the one before it in time, first
order, 0.6); drifting (over all runs 50 % slower, 2 % scatter). Last, what random order cannot help:
each arm has a slow state of its own (correlated with itself by 0.6), and a warning must come.

Nothing is timed.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np
from harness import Benchmark
from numpy.typing import NDArray
from results import Row, table
from scipy import special

from hearth import Ratio
from hearth.studies.engine.statistics import (
    CONFIDENCE,
    FIRST_LOOKS,
    LOOKS,
    against,
    each_confidence,
    intervals,
)
from hearth.studies.engine.validity import TimedRun, validity_warnings

PAIRS = (3, 4, 5, 6, 7, 8, 10, 15, 20, 30)
SCATTER = 0.05
ALLOWED = 0.06
WARNINGS = ("slow-first", "drift", "outlier", "two-groups", "own-state")
Array = NDArray[np.float64]
Noise = Callable[[np.random.Generator, tuple[int, int]], Array]


def normal(draw: np.random.Generator, shape: tuple[int, int]) -> Array:
    return SCATTER * draw.standard_normal(shape)


def skewed(draw: np.random.Generator, shape: tuple[int, int]) -> Array:
    return np.log1p(1.3 * SCATTER * draw.exponential(size=shape))


def heavy_tailed(draw: np.random.Generator, shape: tuple[int, int]) -> Array:
    return SCATTER * 0.83 * draw.standard_t(2, shape)


def outliers(draw: np.random.Generator, shape: tuple[int, int]) -> Array:
    return normal(draw, shape) + math.log(1.5) * (draw.random(shape) < 1 / 12)


def two_groups(draw: np.random.Generator, shape: tuple[int, int]) -> Array:
    return 0.02 * draw.standard_normal(shape) + math.log(1.22) * (draw.random(shape) < 0.3)


def correlated(draw: np.random.Generator, shape: tuple[int, int]) -> Array:
    noise = draw.standard_normal(shape)
    for run in range(1, shape[1]):
        noise[:, run] = 0.6 * noise[:, run - 1] + 0.8 * noise[:, run]
    return SCATTER * noise


def drifting(draw: np.random.Generator, shape: tuple[int, int]) -> Array:
    return 0.02 * draw.standard_normal(shape) + np.linspace(0, math.log(1.5), shape[1])


NOISES: dict[str, Noise] = {
    "normal": normal, "skewed": skewed, "heavy-tailed": heavy_tailed, "outliers": outliers,
    "two groups": two_groups, "correlated": correlated, "drifting": drifting,
}  # fmt: skip


def in_time(draw: np.random.Generator, noise: Noise, number: int, pairs: int, arms: int) -> Array:
    """Logarithms of times as they run: simulation, repetition, slot within it."""
    return noise(draw, (number, pairs * arms)).reshape(number, pairs, arms)


def of_arms(draw: np.random.Generator, noise: Noise, number: int, pairs: int, arms: int) -> Array:
    """Logarithms of times by arm, which took their slots as in `StudyDesign.rounds`."""
    slots = draw.permuted(np.tile(np.arange(arms), (number, pairs, 1)), axis=-1)
    slots[:, 1] = slots[:, 0, ::-1]
    return np.take_along_axis(in_time(draw, noise, number, pairs, arms), slots, axis=-1)


def own_state(draw: np.random.Generator, number: int, pairs: int) -> Array:
    """Two arms, each with a slow state of its own."""
    return np.stack([correlated(draw, (number, pairs)) for _ in range(2)], axis=-1)


def verdicts(low: Array, high: Array) -> NDArray[np.str_]:
    """Return what hearth says of each interval."""
    ends = zip(np.exp(low).ravel(), np.exp(high).ravel(), strict=True)
    said = [against(Ratio(1.0, (float(one), float(other)))) for one, other in ends]
    return np.array(said).reshape(low.shape)


def decided(differences: Array, confidence: float) -> NDArray[np.bool_]:
    """Whether hearth calls each faster or slower."""
    _, low, high = intervals(differences, confidence)
    return np.isin(verdicts(low, high), ("faster", "slower"))


def by_t(differences: Array) -> NDArray[np.bool_]:
    """Whether Student's t test at 5 % calls each faster or slower."""
    pairs = differences.shape[-1]
    error = differences.std(axis=-1, ddof=1) / math.sqrt(pairs)
    limit = special.stdtrit(pairs - 1, (1 + CONFIDENCE) / 2)
    apart: NDArray[np.bool_] = np.abs(differences.mean(axis=-1)) > limit * error
    return apart


def gain(pairs: int) -> float:
    """Return a difference that the t test finds in some 70 % of cases under normal noise."""
    limit = float(special.stdtrit(pairs - 1, (1 + CONFIDENCE) / 2))
    return (limit + 0.6) * SCATTER * math.sqrt(2 / pairs)


def one_arm(draw: np.random.Generator, number: int, pairs: tuple[int, ...]) -> Iterator[Row]:
    """One arm against the baseline: false verdicts, power, width."""
    for name in (*NOISES, "own state"):
        for count in pairs:
            if name == "own state":
                times = own_state(draw, number, count)
            else:
                times = of_arms(draw, NOISES[name], number, count, 2)
            equal = times[..., 1] - times[..., 0]
            faster = equal - gain(count)
            _, low, high = intervals(equal, CONFIDENCE)
            yield {
                "what": "one arm", "noise": name, "pairs": count,
                "false": float(decided(equal, CONFIDENCE).mean()),
                "false_t": float(by_t(equal).mean()),
                "power": float(decided(faster, CONFIDENCE).mean()),
                "power_t": float(by_t(faster).mean()),
                "half_width": float(np.expm1(np.median(high - low) / 2)),
            }  # fmt: skip


def sequential(
    draw: np.random.Generator, number: int, looks: tuple[int, ...] = LOOKS
) -> Iterator[Row]:
    """Two equal arms until it is certain: false verdicts, and after how many pairs it ends."""
    for name in NOISES:
        times = of_arms(draw, NOISES[name], number, looks[-1], 2)
        differences = np.moveaxis(times[..., 1:] - times[..., :1], -1, 1)
        called, pairs = until_certain(differences, looks)
        what = "sequential" if looks == LOOKS else "first answer"
        yield {"what": what, "noise": name,
               "verdict": float(called.mean()), "pairs": float(pairs.mean())}  # fmt: skip


def until_certain(
    differences: Array, looks: tuple[int, ...] = LOOKS
) -> tuple[NDArray[np.bool_], NDArray[np.int_]]:
    """Of simulations x arms x pairs: whether any arm was called apart, and after how many pairs."""
    number, arms, _ = differences.shape
    each = each_confidence(CONFIDENCE, arms, looks)
    apart = np.zeros(number, dtype=bool)
    pairs = np.full(number, looks[-1])
    going = np.ones(number, dtype=bool)
    for look in looks:
        _, low, high = intervals(differences[..., :look], each)
        said = verdicts(low, high)
        clear: NDArray[np.bool_] = np.all(said != "undecided", axis=1)
        stops = going & (clear | (look == looks[-1]))
        apart |= stops & np.any(np.isin(said, ("faster", "slower")), axis=1)
        pairs[stops] = look
        going &= ~stops
    return apart, pairs


def warnings(draw: np.random.Generator, number: int, pairs: tuple[int, ...]) -> Iterator[Row]:
    """How often each warning comes, of two equal arms."""
    for name in (*NOISES, "slow first", "one outlier", "own state"):
        for count in pairs:
            warned_of = [warned(draw, name, count) for _ in range(number)]
            shares = {kind: sum(kind in one for one in warned_of) / number for kind in WARNINGS}
            yield {"what": "warnings", "noise": name, "pairs": count, **shares}


def warned(draw: np.random.Generator, name: str, pairs: int) -> set[str]:
    """Return the kinds of warnings of one comparison."""
    noise = in_time(draw, NOISES.get(name, normal), 1, pairs, 2)[0]
    arm = draw.permuted(np.tile([0, 1], (pairs, 1)), axis=-1)
    if name == "own state":
        noise = np.take_along_axis(own_state(draw, 1, pairs)[0], arm, axis=-1)
    elif name == "slow first":
        noise[0] += math.log(1.25)
    elif name == "one outlier":
        noise[pairs // 2, 0] += math.log(1.5)
    runs = [
        TimedRun(f"arm {arm[repetition, slot]}", repetition, math.exp(noise[repetition, slot]))
        for repetition in range(pairs)
        for slot in (0, 1)
    ]
    return {warning.kind for warning in validity_warnings(runs, "arm 0")}


def simulated(seed: int, number: int) -> Iterator[Row]:
    """All of it; warnings are found one comparison after the other, in a tenth of the number."""
    yield from one_arm(np.random.default_rng(seed), number, PAIRS)
    yield from sequential(np.random.default_rng(seed + 2), number)
    yield from sequential(np.random.default_rng(seed + 4), number, FIRST_LOOKS)
    yield from warnings(np.random.default_rng(seed + 3), max(number // 10, 1), (3, 5, 7, 10, 20))


def main() -> None:
    bench = Benchmark(__doc__, page, arms=("",), repeat=0)
    bench.parser.add_argument("--simulations", type=int, default=10_000, help="of each case")
    options = bench.parse()
    bench.begin()
    for row in simulated(options.seed, options.simulations):
        bench.keep(row)
    bench.report()


def page(rows: list[Row]) -> list[str]:
    """Return the tables in Markdown; all in %."""
    wrong = by_pairs(rows, "one arm", lambda row: f"{100 * row['false']:.1f}")
    columns = {"sequential": "until certain", "first answer": "after 3, 5 or 8"}
    for row in rows:
        if row.get("what") in columns:
            wrong[row["noise"]][columns[row["what"]]] = f"{100 * row['verdict']:.1f}"
    power = by_pairs(
        rows, "one arm", lambda row: f"{100 * row['power']:.0f} ({100 * row['power_t']:.0f})"
    )
    kinds = by_pairs(
        rows, "warnings", lambda row: " / ".join(f"{100 * row[kind]:.0f}" for kind in WARNINGS)
    )
    return [
        *("Equal arms: called faster or slower, by number of pairs, in %:", "", *grid(wrong)),
        *("", "A real gain: found, and in brackets found by the t test, in %:", "", *grid(power)),
        *("", f"Warnings, in %: {' / '.join(WARNINGS)}:", "", *grid(kinds)),
    ]


def by_pairs(rows: list[Row], what: str, cell: Callable[[Row], str]) -> dict[str, dict[str, str]]:
    """Return of each noise a cell for each number of pairs."""
    cells: dict[str, dict[str, str]] = {}
    for row in rows:
        if row.get("what") == what:
            cells.setdefault(row["noise"], {})[str(row["pairs"])] = cell(row)
    return cells


def grid(cells: dict[str, dict[str, str]]) -> list[str]:
    heads = list(dict.fromkeys(head for some in cells.values() for head in some))
    lines = [[noise, *(some.get(head, "") for head in heads)] for noise, some in cells.items()]
    return table(["Noise", *heads], lines)


if __name__ == "__main__":
    main()
