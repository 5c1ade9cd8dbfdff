"""Settings that need another one, or more than the machine has, do nothing, or end every
application.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import chain

from hearth.base.sizes import counted
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.cluster import is_in_a_cluster

_DECOMMISSION, _SERVICE = "spark.decommission.enabled", "spark.shuffle.service.enabled"
_TRACKING = "spark.dynamicAllocation.shuffleTracking.enabled"
_TIMEOUT, _HEARTBEAT = "spark.network.timeout", "spark.executor.heartbeatInterval"
_TASK, _EXECUTOR = "spark.task.cpus", "spark.executor.cores"
#: A time as Spark reads it (JavaUtils.timeStringAs), in milliseconds.
_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


def _look(machine: Machine) -> Outcome:
    settings = machine.the_own().settings
    told = chain(_one_without_the_other(settings), _too_little(settings, machine))
    for seen, command in told:
        return Problem(seen, "spark-defaults.conf", "harm", command=command)
    return Fine("settings of spark-defaults.conf fit together")


def _one_without_the_other(settings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    def on(key: str) -> bool:
        return settings.get(key, "false").lower() == "true"

    size = settings.get("spark.memory.offHeap.size", "0")
    if on("spark.memory.offHeap.enabled") and size in ("0", "0b"):
        yield (
            "spark.memory.offHeap.enabled without a size: Spark refuses to start",
            "spark.memory.offHeap.size with a size there, or remove spark.memory.offHeap.enabled",
        )
    tracked = settings.get(_TRACKING, "true").lower() == "true"
    # A plug-in may keep shuffle files elsewhere.
    kept = on(_SERVICE) or on(_DECOMMISSION) or "spark.shuffle.sort.io.plugin.class" in settings
    if on("spark.dynamicAllocation.enabled") and not (kept or tracked):
        yield (
            "dynamic allocation without shuffle service or tracking: Spark refuses to start",
            f"remove {_TRACKING} there",
        )


def _too_little(settings: Mapping[str, str], machine: Machine) -> Iterator[tuple[str, str]]:
    timeout = _milliseconds(settings.get(_TIMEOUT, "120s"), "s")
    heartbeat = _milliseconds(settings.get(_HEARTBEAT, "10s"), "ms")
    if timeout is not None and heartbeat is not None and timeout <= heartbeat:
        yield (
            f"{_TIMEOUT} is not above {_HEARTBEAT}: Spark refuses to start",
            f"remove {_TIMEOUT if _TIMEOUT in settings else _HEARTBEAT} there",
        )
    task, cores = _count(settings.get(_TASK, "1")), _count(settings.get(_EXECUTOR, ""))
    if cores is None:
        return
    if task is not None and task > cores:
        seen = f"{_TASK} = {task}, {_EXECUTOR} = {cores}: Spark refuses to start"
        yield seen, f"{_EXECUTOR} {task} there, or remove {_TASK}"
    if is_in_a_cluster(machine):
        return  # its executors are on other machines
    cpus = len(machine.the_topology().usable_cpus)
    if cores > cpus:
        yield (
            f"{_EXECUTOR} = {cores} on {counted(cpus, 'CPU')}: no executor fits",
            f"remove {_EXECUTOR} there",
        )


def _milliseconds(text: str, unit: str) -> int | None:
    found = re.fullmatch(r"(\d{1,12})([a-z]{0,3})", text.strip().lower(), re.ASCII)
    factor = _UNITS.get(found[2] or unit) if found else None
    return int(found[1]) * factor if found and factor else None


def _count(text: str) -> int | None:
    return int(text) if re.fullmatch(r"\d{1,6}", text, re.ASCII) else None


CHECK = Check(
    _look,
    group="spark",
    better="both settings, or neither; and no more than the machine has",
    source="Spark: configuration, memory management, dynamic allocation, networking; "
    "SparkConf.validateSettings",
    touches="nothing",
)
