"""Whether an interval can allow for arms that are correlated with themselves, by simulation.

    .venv/bin/python benchmarks/own_state.py

Random order within each repetition does not help where each arm has a slow state of its own (see
coverage.py): Student's t then calls equal arms faster or slower too often. Each remedy is tried on
such noise and, for its price, on independent noise: false verdicts there, and how often it finds a
difference that the t test finds in some 70 % of cases. Nothing is timed.

The remedies widen the t interval by the lag-1 autocorrelation r of the differences of pairs, as its
variance is under noise of first order: r estimated, without its bias (Kendall 1954), with as many
fewer degrees of freedom; the same, drawn towards 0.6 as if ten more pairs had said so; 0.6, known.
Or they take means of blocks of two pairs as pairs, or give no verdict where r is above what
independent noise exceeds in 20 or 50 % of cases. Raw values go to benchmarks/results/.
"""

import argparse
import json
import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import numpy as np
from coverage import Array, gain, normal, own_state
from numpy.typing import NDArray
from results import FOLDER, Row, table
from scipy import special

from hearth.studies.engine.statistics import CONFIDENCE

PAIRS = (3, 5, 7, 10, 15, 20, 30)
TRUE = 0.6
MOST = 0.9
Decided = NDArray[np.bool_]
Decides = Callable[[Array], Decided]


def by_t(differences: Array, wider: Array | float = 1.0, freedom: Array | None = None) -> Decided:
    """Whether an interval that is so many times wider leaves out zero."""
    pairs = differences.shape[-1]
    limit = special.stdtrit(pairs - 1 if freedom is None else freedom, (1 + CONFIDENCE) / 2)
    error = differences.std(axis=-1, ddof=1) / math.sqrt(pairs)
    found: Decided = np.abs(differences.mean(axis=-1)) > limit * wider * error
    return found


def lag_1(differences: Array) -> Array:
    centred = differences - differences.mean(axis=-1, keepdims=True)
    found: Array = (centred[:, 1:] * centred[:, :-1]).sum(axis=-1) / (centred**2).sum(axis=-1)
    return found


def unbiased(differences: Array) -> Array:
    found = lag_1(differences)
    found += (1 + 3 * np.clip(found, 0, 1)) / differences.shape[-1]
    return found


def widened(of: Callable[[Array], Array], *, estimated: bool = True) -> Decides:
    def decides(differences: Array) -> Decided:
        pairs = differences.shape[-1]
        later = np.arange(1, pairs)
        powers = np.clip(of(differences), 0, MOST)[:, None] ** later
        more = 1 + 2 * ((1 - later / pairs) * powers).sum(axis=-1)
        # The scatter within the sample is too small by as much.
        wider = np.sqrt(more / np.maximum(1 - (more - 1) / (pairs - 1), 0.05))
        freedom = np.maximum(pairs / more - 1, 1) if estimated else None
        return by_t(differences, wider, freedom)

    return decides


def drawn(differences: Array) -> Array:
    pairs = differences.shape[-1]
    found: Array = (pairs * unbiased(differences) + 10 * TRUE) / (pairs + 10)
    return found


def in_blocks(differences: Array) -> Decided:
    number, pairs = differences.shape
    if pairs < 6:
        return np.zeros(number, dtype=bool)
    blocks = differences[:, : pairs // 2 * 2].reshape(number, pairs // 2, 2).mean(axis=-1)
    return by_t(blocks)


def refusing(chance: float) -> Decides:
    def decides(differences: Array) -> Decided:
        undisturbed = np.random.default_rng(0).standard_normal(differences.shape)
        limit = np.quantile(lag_1(undisturbed), 1 - chance)
        found: Decided = by_t(differences) & (lag_1(differences) < limit)
        return found

    return decides


REMEDIES: dict[str, Decides] = {
    "none": by_t,
    "r estimated": widened(unbiased),
    "r drawn to 0.6": widened(drawn),
    "r known": widened(lambda differences: np.full(len(differences), TRUE), estimated=False),
    "blocks of two": in_blocks,
    "refused, 20 %": refusing(0.2),
    "refused, 50 %": refusing(0.5),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--simulations", type=int, default=20_000, help="of each case")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    output = FOLDER / f"own-state-{datetime.now(UTC):%Y-%m-%d-%H%M}.jsonl"
    rows = list(simulated(options.seed, options.simulations))
    output.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    print("\n".join(page(rows)))
    print(f"raw values: {output}")


def simulated(seed: int, number: int) -> Iterator[Row]:
    draw = np.random.default_rng(seed)
    for pairs in PAIRS:
        own, alone = own_state(draw, number, pairs), normal(draw, (number, 2 * pairs))
        equal = alone[:, ::2] - alone[:, 1::2]
        cases = {"own_state": own[..., 1] - own[..., 0], "equal": equal}
        cases["faster"] = equal - gain(pairs)
        for name, decides in REMEDIES.items():
            shares = {case: float(decides(values).mean()) for case, values in cases.items()}
            yield {"remedy": name, "pairs": pairs, "simulations": number, "seed": seed, **shares}


def page(rows: list[Row]) -> list[str]:
    """Return false verdicts where arms have a state of their own, in %; in brackets how often a
    gain is found under independent noise."""
    found: dict[str, dict[int, str]] = {}
    for row in rows:
        cell = f"{100 * row['own_state']:.1f} ({100 * row['faster']:.0f})"
        found.setdefault(row["remedy"], {})[row["pairs"]] = cell
    heads = [f"{pairs} pairs" for pairs in next(iter(found.values()))]
    return table(["Remedy", *heads], [[name, *cells.values()] for name, cells in found.items()])


if __name__ == "__main__":
    main()
