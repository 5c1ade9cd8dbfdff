"""Other ways to search that hearth's is compared with on tables: hill climbing, Optuna's samplers.

Each yields, run by run, the index that it tries and the one that it recommends after it: the
fastest so far. None is told of noise.
"""

import math
from collections.abc import Iterator

import numpy as np
from replay import Run
from tables import Table


def hill_climbing(table: Table, seed: int, start: int | None = None) -> Iterator[Run]:
    """Yield a neighbour of the fastest in executors or cores; any other where none is left."""
    draw = np.random.default_rng(seed)
    workers = sorted({cell.workers for cell in table.cells})
    cores = sorted({cell.cores_per_worker for cell in table.cells})
    place = np.array(
        [(workers.index(one.workers), cores.index(one.cores_per_worker)) for one in table.cells]
    )
    left = set(range(len(table.cells)))
    at = best = int(draw.choice(sorted(left))) if start is None else start
    while True:
        left.remove(at)
        best = min(best, at, key=lambda one: table.seconds[one])
        yield at, best
        if not left:
            return
        apart = np.abs(place - place[best]).max(axis=1)
        near = [one for one in sorted(left) if apart[one] == 1]
        at = int(draw.choice(near or sorted(left)))


def optuna_sampler(name: str, table: Table, seed: int) -> Iterator[Run]:
    """Yield the untried configurations nearest to what a sampler (tpe, gp) suggests.

    It searches the logarithms of executors and cores.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    samplers = {"tpe": optuna.samplers.TPESampler, "gp": optuna.samplers.GPSampler}
    study = optuna.create_study(sampler=samplers[name](seed=seed))
    axes = ("workers", "cores")
    place = np.log2([(one.workers, one.cores_per_worker) for one in table.cells])
    space: dict[str, optuna.distributions.BaseDistribution] = {
        axis: optuna.distributions.FloatDistribution(low, max(high, low + 1e-6))
        for axis, low, high in zip(axes, place.min(0), place.max(0), strict=True)
    }
    left, best = set(range(len(table.cells))), None
    while left:
        trial = study.ask(space)
        wanted = np.array([trial.params[axis] for axis in axes])
        # What is told is the configuration that ran, not the point that was asked for.
        study.tell(trial, state=optuna.trial.TrialState.FAIL)
        at = min(sorted(left), key=lambda one: float(((place[one] - wanted) ** 2).sum()))
        left.remove(at)
        params = dict(zip(axes, place[at].tolist(), strict=True))
        value = math.log(table.seconds[at])
        study.add_trial(optuna.trial.create_trial(params=params, distributions=space, value=value))
        best = at if best is None else min(best, at, key=lambda one: table.seconds[one])
        yield at, best
