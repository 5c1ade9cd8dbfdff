"""Model why a configuration is fast or slow: completion time of an imagined application.

An application is a draw of parameters from ranges that the published studies and the general
behaviour of JVMs give. No parameter is fitted to a table, but four ranges (smt_exponent,
bandwidth_cores, crowding, jvm_contention) were narrowed, within what the sources allow, after
trials on two published tables (docs/tuning.md). The model of one draw is coarse. Many draws
together say which configurations may be good, and which are good together.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hearth.studies.models.space import Cell, MachineSize

Array = NDArray[np.float64]
#: Draws of the parameters: a power of two, for Sobol's sequence.
DRAWS = 1024

#: From least to most, uniform in the logarithm, and why.
RANGES: dict[str, tuple[float, float]] = {
    # t threads of a core do t**x of the work of one. Two: 1.39 times on two cores, less after four
    # (Awan et al. 2016), x = 0.48 at most; eight of POWER8: between 1.2 and 2.8 times.
    "smt_exponent": (0.1, 0.5),
    # Threads of one JVM wait for each other (Gunther's universal scalability law): a JVM never does
    # the work of more than 1/x threads. K-Means was 36 % faster on six JVMs of 4 cores than on one
    # of 24, x = 0.02 (Awan et al. 2016); one of 120 gained little beyond 60 (Kyong et al. 2017).
    "jvm_contention": (0.005, 0.08),
    # ... and lose by telling each other (collector, cache lines): the peak is at 1/sqrt(x) threads.
    "jvm_coherence": (1e-5, 2e-3),
    # The machine's memory serves this many busy cores, as a share of its cores: 24 cores stayed
    # below 40 % of what memory sustains (Awan et al. 2016), or saturated it (Baig et al. 2018).
    "bandwidth_cores": (0.5, 4.0),
    # Loss when every hardware thread has a task: scheduling, shared caches, remote access.
    "crowding": (0.005, 0.2),
    # What runs on one thread (driver, last stage), as a share of the work.
    "serial": (0.001, 0.08),
    # Starting and feeding as many executors as cores, as a share of the work ...
    "executor_cost": (0.0005, 0.02),
    # ... growing with this power of their number: 1 is starting them, 2 is all talking to all.
    "executor_exponent": (1.0, 2.2),
    # Live data as a share of the machine's memory; what a task slot needs (GB).
    "live_share": (0.005, 0.3),
    "slot_gb": (0.05, 1.0),
    # Time collecting, relative to working, where half of a heap is live.
    "collecting": (0.01, 0.2),
    # Tasks of a stage per hardware thread, and how alike they are (0: waves blur, 1: waves show).
    "tasks_per_thread": (0.5, 8.0),
    "wave": (0.02, 0.8),
}
#: How far the logarithm of each measure may be off what the mechanism makes of an application.
_OFF = {"collecting": 0.7, "cpu_use": 0.25, "bandwidth": 0.5, "switching": 1.0}
#: A jittered prior's ranges move by up to this power of two.
_JITTER = 0.6
#: The ranges are uncertain themselves: applications are drawn from so many jittered ones, so that
#: little depends on where exactly a range ends. The seeds of the first: any would do.
_PRIORS, _FIRST_PRIOR = 8, 100


def jittered(seed: int) -> dict[str, tuple[float, float]]:
    """Return other ranges, each moved up or down by up to half again."""
    shift = 2 ** np.random.default_rng(seed).uniform(-_JITTER, _JITTER, len(RANGES))
    return {
        name: (least * by, most * by)
        for (name, (least, most)), by in zip(RANGES.items(), shift.tolist(), strict=True)
    }


@lru_cache
def draw(number: int, seed: int) -> Array:
    """Return parameters of `number` imagined applications, x len(RANGES), not to be changed.

    number: a power of two, 8 or more.
    """
    priors = (jittered(_FIRST_PRIOR + at) for at in range(_PRIORS))
    parameters = np.vstack(
        [_draw(number // _PRIORS, seed + at, prior) for at, prior in enumerate(priors)]
    )
    parameters.flags.writeable = False
    return parameters


def _draw(number: int, seed: int, ranges: dict[str, tuple[float, float]]) -> Array:
    from scipy.stats import qmc

    unit = qmc.Sobol(len(ranges), seed=seed).random(number)
    low, high = (np.log([span[end] for span in ranges.values()]) for end in (0, 1))
    parameters: Array = np.exp(low + unit * (high - low))
    return parameters


def log_times(parameters: Array, machine: MachineSize, cells: Sequence[Cell]) -> Array:
    """Return the logarithm of completion time, up to the application's size: draws x cells."""
    one, workers, cores, memory = _laid_out(parameters, cells)
    work = _work(one, machine, workers, cores, memory)
    logarithm: Array = np.log(work + one["serial"] + _starting(one, machine, workers))
    return logarithm


def _work(
    one: dict[str, Array], machine: MachineSize, workers: Array, cores: Array, memory: Array
) -> Array:
    """Return time of the tasks, collecting included."""
    waves = _waves(one, machine, workers * cores)
    work = waves / _rate(one, machine, workers, cores)
    time: Array = work * (1 + _collecting(one, machine, workers, cores, memory))
    return time


def _waves(one: dict[str, Array], machine: MachineSize, slots: Array) -> Array:
    """Return how many times as long a stage takes as if all slots had work to its end."""
    tasks = np.maximum(one["tasks_per_thread"] * machine.threads, 1)
    waves = np.ceil(tasks / slots) * slots / tasks
    factor: Array = 1 + one["wave"] * (waves - 1)
    return factor


def _starting(one: dict[str, Array], machine: MachineSize, workers: Array) -> Array:
    """Return the time of starting and feeding executors."""
    time: Array = one["executor_cost"] * (workers / machine.cores) ** one["executor_exponent"]
    return time


def _rate(one: dict[str, Array], machine: MachineSize, workers: Array, cores: Array) -> Array:
    """Return the work of all task slots together, in cores that run one thread."""
    slots = workers * cores
    rate = workers * _of_jvm(one, cores)
    rate = rate * _of_cores(one, machine, slots) / slots
    bandwidth = one["bandwidth_cores"] * machine.cores
    rate = (rate**-3 + bandwidth**-3) ** (-1 / 3)
    limited: Array = rate / (1 + one["crowding"] * slots / machine.threads)
    return limited


def slot_work(parameters: Array, machine: MachineSize, cells: Sequence[Cell]) -> Array:
    """Return how long a task takes where all slots have one, up to a factor: draws x cells."""
    one, workers, cores, _ = _laid_out(parameters, cells)
    time: Array = workers * cores / _rate(one, machine, workers, cores)
    return time


def collecting(parameters: Array, machine: MachineSize, cells: Sequence[Cell]) -> Array:
    """Return time collecting garbage, relative to working: draws x cells."""
    one, workers, cores, memory = _laid_out(parameters, cells)
    return _collecting(one, machine, workers, cores, memory)


@dataclass(frozen=True)
class ModelEvidence:
    """Measurements of a configuration besides its time; None for what was not measured.

    collecting: time collecting garbage, relative to working. cpu_use: of the machine's hardware
    threads the share that was busy. bandwidth: of what memory sustains the share that was used.
    switching: voluntary context switches per second of CPU time.
    """

    collecting: float | None = None
    cpu_use: float | None = None
    bandwidth: float | None = None
    switching: float | None = None


UNSEEN = ModelEvidence()


def cpu_use(parameters: Array, machine: MachineSize, cells: Sequence[Cell]) -> Array:
    """Return the average share of busy hardware threads: draws x cells."""
    one, workers, cores, memory = _laid_out(parameters, cells)
    slots = workers * cores
    wait = 1 + one["jvm_contention"] * (cores - 1)
    busy = np.minimum(slots, machine.threads) / wait / _waves(one, machine, slots)
    work = _work(one, machine, workers, cores, memory)
    alone = one["serial"] + _starting(one, machine, workers)
    share: Array = (work * busy + alone) / ((work + alone) * machine.threads)
    return share


def bandwidth_use(parameters: Array, machine: MachineSize, cells: Sequence[Cell]) -> Array:
    """Return the average share of the sustained memory bandwidth in use: draws x cells."""
    one, workers, cores, memory = _laid_out(parameters, cells)
    used = _rate(one, machine, workers, cores) / (one["bandwidth_cores"] * machine.cores)
    work = _work(one, machine, workers, cores, memory)
    share = work / (work + one["serial"] + _starting(one, machine, workers))
    mean_share: Array = np.minimum(used, 1.0) * share
    return mean_share


def switching(parameters: Array, machine: MachineSize, cells: Sequence[Cell]) -> Array:
    """Return how often threads wait for others of their JVM, up to a factor: draws x cells."""
    one, _, cores, _ = _laid_out(parameters, cells)
    rate: Array = one["jvm_contention"] * (cores - 1) + _SWITCHING_ANYWAY + 0 * cores
    return rate


#: Voluntary switches for other reasons (shuffle, scheduler), as many as where threads of a JVM wait
#: for each other for this share of their time.
_SWITCHING_ANYWAY = 0.1


def agreeing(
    parameters: Array, machine: MachineSize, measured: Mapping[Cell, ModelEvidence]
) -> Array:
    """Return how well each imagined application agrees with what was measured; sums to 1.

    Zero is no evidence, for a short run may not collect at all. Of switches only how they change
    from one configuration to another is compared: how many there are is the application's.
    """
    modelled: dict[str, Callable[[Array, MachineSize, Sequence[Cell]], Array]] = {
        "collecting": collecting,
        "cpu_use": cpu_use,
        "bandwidth": bandwidth_use,
        "switching": switching,
    }
    log = np.zeros(len(parameters))
    for name in (field.name for field in fields(ModelEvidence)):
        known = {cell: v for cell, of in measured.items() if (v := getattr(of, name)) and v > 0}
        if not known or (name == "switching" and len(known) < 2):
            continue
        predicted = np.log(np.maximum(modelled[name](parameters, machine, list(known)), 1e-6))
        away = predicted - np.log(list(known.values()))
        if name == "switching":
            away = away - away.mean(axis=1, keepdims=True)
        # Runs of one application are alike in it: together they count as one.
        log -= 0.5 * np.minimum(((away / _OFF[name]) ** 2).mean(axis=1), 50.0)
    agreement = np.exp(log - log.max())
    weights: Array = agreement / agreement.sum()
    return weights


def _laid_out(
    parameters: Array, cells: Sequence[Cell]
) -> tuple[dict[str, Array], Array, Array, Array]:
    """Return the parameters by name; executors, cores and memory of the cells."""
    one = {name: parameters[:, [at]] for at, name in enumerate(RANGES)}
    workers = np.array([cell.workers for cell in cells], float)
    cores = np.array([cell.cores_per_worker for cell in cells], float)
    memory = np.array([cell.memory_per_worker_gb for cell in cells], float)
    return one, workers, cores, memory


def _of_jvm(one: dict[str, Array], cores: Array) -> Array:
    """Return the work of a JVM's threads, in threads that never wait for each other."""
    wait = one["jvm_contention"] * (cores - 1)
    tell = one["jvm_coherence"] * cores * (cores - 1)
    work: Array = cores / (1 + wait + tell)
    return work


def _of_cores(one: dict[str, Array], machine: MachineSize, slots: Array) -> Array:
    """Return the work of the machine's cores under so many tasks, in cores that run one thread."""
    running = np.minimum(slots, machine.threads)
    a_core = running / machine.cores
    work: Array = np.where(
        a_core <= 1, running, machine.cores * np.maximum(a_core, 1) ** one["smt_exponent"]
    )
    return work


def _collecting(
    one: dict[str, Array], machine: MachineSize, workers: Array, cores: Array, memory: Array
) -> Array:
    live = one["live_share"] * machine.memory_gb / workers + one["slot_gb"] * cores
    share = np.minimum(live / memory, 0.95)
    time: Array = one["collecting"] * share / (1 - share)
    return time
