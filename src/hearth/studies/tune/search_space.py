"""The configurations that a tune may try: what fits this machine, by the planner, in two batches.

Executors x cores, collector, binding where the machine has several nodes, and what `--vary` names,
in all combinations. Hardware threads per core follow from the task slots: those of all executors
are from a quarter of the CPUs, or one for each core, to all. One at a time beside the plan's
choices: shuffle partitions, the part of memory that cached data may keep, half of the heap. What
the user fixed stays.
"""

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hearth.base.errors import UserError
from hearth.base.ids import parse_ids
from hearth.base.java import COLLECTOR, collector_of
from hearth.base.redaction import Redaction
from hearth.base.sizes import parse_mb
from hearth.machine.jvm import plans
from hearth.machine.plan import Plan
from hearth.machine.topology import Topology
from hearth.spark.command import fixed_by_master
from hearth.spark.submit_args import SubmitLine
from hearth.studies.characterise.questions import steps
from hearth.studies.models.space import (
    BINDING_SCOPE,
    DRIVERS_JAVA_OPTIONS,
    EXECUTOR_MEMORY,
    JAVA_OPTIONS,
    SHUFFLE_PARTITIONS,
    STORAGE_SHARE,
    Configuration,
)

COLLECTORS = {"ParallelGC": "-XX:+UseParallelGC", "G1GC": "-XX:+UseG1GC"}
#: More are neither planned in a moment nor held in a model.
MOST = 600
#: A configuration that leaves more of the CPUs idle loses by its size alone.
_LEAST_SHARE_OF_CPUS = 4
#: The JVM's own choice on a machine of two CPUs and 2 GB or more (HotSpot ergonomics).
_JVMS_COLLECTOR, _SPARKS_HEAP = "G1GC", "1g"
_FIXING = {"--executors", "--cores", "--memory", "--bind", "--docker", "--hosts"}
#: Shuffle partitions for each task slot; of Spark's memory the part that cached data may keep (0.5
#: by default).
_PARTITIONS, _STORAGE_SHARE = (1, 3), "0.2"
_SPARKS_PARTITIONS = 200


_BINDING_KEYS = ("spark.hearth.binding", BINDING_SCOPE)
_MEMORY_KEYS = (EXECUTOR_MEMORY, "spark.executor.memoryOverhead")


@dataclass(frozen=True)
class Refused:
    """A configuration that does not fit, and why."""

    shown: str
    reason: str


@dataclass(frozen=True)
class SearchSpace:
    """The space of configurations that may be tried.

    proposal, current: indices. fixed: what the user fixed, for people. offered: settings that the
    space varies of itself.
    """

    configurations: list[Configuration]
    proposal: int
    current: int
    refused: list[Refused]
    fixed: list[str]
    offered: list[str] = field(default_factory=list)


def parse_vary(words: Sequence[str], settings: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the values of each `spark.key=a,b,c`.

    Raise UserError for what is none, or is fixed too.
    """
    values_of: dict[str, list[str]] = {}
    for word in words:
        key, equals, text = word.partition("=")
        values = list(dict.fromkeys(value.strip() for value in text.split(",") if value.strip()))
        if not equals or not key.startswith("spark.") or not values:
            raise UserError(f"--vary: '{word}' is not spark.key=a,b,c: give a key and its values")
        if Redaction.of({}).secret.search(key):
            raise UserError(f"--vary: {key} names a secret, which would be kept: leave it out")
        if key in values_of:
            raise UserError(f"--vary: {key} is given twice: give all its values in one")
        if key in settings:
            raise UserError(
                f"--vary: {key} is fixed to '{settings[key]}' as well: leave one of them out"
            )
        values_of[key] = values
    return values_of


def space(
    line: SubmitLine,
    settings: Mapping[str, str],
    master: str | None,
    vary: Mapping[str, Sequence[str]],
    topology: Topology,
    debug: bool = False,
) -> SearchSpace:
    """Return the space of an application; raise UserError where not even the plan fits.

    line, settings, master: the user's own.
    """
    builder = _Builder(line, settings, master, topology, debug)
    wanted = [Configuration(builder.plans_master, 0, 0, 0, "none", "")]
    wanted += builder.sized(vary)
    wanted += builder.unsized(vary)
    if len(wanted) > MOST:
        raise UserError(
            f"--vary: {len(wanted)} configurations are more than {MOST}: give fewer keys or values"
        )
    configurations, refused = builder.answered(wanted)
    configurations = list(_once([*configurations, *builder.unbound(configurations)]))
    offered = builder.offered(vary)
    beside = _nearest(
        configurations[0], builder.beside(configurations, offered), MOST - len(configurations)
    )
    more, unfit = builder.answered(beside)
    configurations = list(_once([*configurations, *more]))
    current = builder.current()
    if current is not None:
        configurations.append(current)
    at = 0 if current is None else len(configurations) - 1
    return SearchSpace(configurations, 0, at, [*refused, *unfit], builder.fixed, offered)


def _nearest(to: Configuration, of: Sequence[Configuration], most: int) -> list[Configuration]:
    """Return at most `most` configurations, the nearest in executors and cores first."""

    def away(one: Configuration) -> float:
        pairs = ((max(one.executors, 1), max(to.executors, 1)), (one.cores, to.cores))
        return sum(abs(math.log2(mine / other)) for mine, other in pairs)

    return sorted(of, key=away)[: max(most, 0)]


def _once(configurations: Iterable[Configuration]) -> Iterator[Configuration]:
    """Drop configurations that equal an earlier one."""
    earlier = set()
    for one in configurations:
        key = (one.executors, one.cores, one.choices)
        if key not in earlier:
            earlier.add(key)
            yield one


class _Builder:
    """Build a space from what the user fixed and the machine."""

    def __init__(
        self,
        line: SubmitLine,
        settings: Mapping[str, str],
        master: str | None,
        topology: Topology,
        debug: bool,
    ) -> None:
        options = self.planning = line.planning
        self.settings, self.master = settings, master
        self.python, self.debug = line.is_python, debug
        self.topology = topology
        self.numa = master is not None and master.startswith("local-numa")
        self.plans_master = master if master is not None and self.numa else "local-numa"
        by_master = fixed_by_master(self.plans_master)
        self.executors = options.executors or by_master[0]
        self.cores = options.cores or by_master[1]
        self.cpus, self.nodes = topology.usable_cpus, topology.usable_nodes
        self.packages = [set(parse_ids(package.cpus)) for package in topology.packages]
        fixed = options.bind or not settings.keys().isdisjoint(_BINDING_KEYS)
        self.free_binding = len(self.nodes) > 1 and not fixed
        self.free_memory = options.memory is None and settings.keys().isdisjoint(_MEMORY_KEYS)

    @property
    def usable_cores(self) -> int:
        """Cores with a CPU that may be used."""
        cores = (set(parse_ids(core.cpus)) for core in self.topology.cores)
        return max(sum(not self.cpus.isdisjoint(core) for core in cores), 1)

    @property
    def has_wide_packages(self) -> bool:
        """Whether a package has several nodes with usable CPUs."""
        nodes = [self.cpus & set(parse_ids(node.cpus)) for node in self.nodes]
        return any(sum(bool(node & package) for node in nodes) > 1 for package in self.packages)

    @property
    def fixed(self) -> list[str]:
        """The part of the space that the user fixed."""
        values = {"executors": self.executors, "cores": self.cores, "memory": self.planning.memory}
        fixed = [f"{name} {value}" for name, value in values.items() if value is not None]
        fixed += ["--docker"] if self.planning.docker else []
        fixed += [f"--bind {self.planning.bind}"] if self.planning.bind else []
        keys = (JAVA_OPTIONS, DRIVERS_JAVA_OPTIONS)
        return [*fixed, *(c for key in keys if (c := self._collector_of(key)) is not None)]

    def sized(self, vary: Mapping[str, Sequence[str]]) -> list[Configuration]:
        """Return executors x cores worth a plan, each with its collectors and varied values."""
        number = len(self.cpus)
        executors = steps(number) if self.executors is None else [self.executors]
        cores = steps(number) if self.cores is None else [self.cores]
        both = self.executors is not None and self.cores is not None
        least = min(number / _LEAST_SHARE_OF_CPUS, self.usable_cores)
        cells = [(n, c) for n in executors for c in cores if both or least <= n * c <= number]
        sized = [
            Configuration(f"local-numa[{n}x{c}]", n, c, 0, "", collector, values, java)
            for n, c in cells
            for collector, java in self._collectors(JAVA_OPTIONS)
            for values in _combinations(vary)
        ]
        scope = {BINDING_SCOPE: "package"} if self.free_binding and self.has_wide_packages else {}
        packages = [replace(one, varied={**scope, **one.varied}) for one in sized] if scope else []
        return [*sized, *packages]

    def unsized(self, vary: Mapping[str, Sequence[str]]) -> list[Configuration]:
        """Return the plan with each collector and varied value; it may be one JVM."""
        if self.executors is not None or self.cores is not None:
            return []
        collectors = self._collectors(DRIVERS_JAVA_OPTIONS)
        return [
            Configuration(self.plans_master, 0, 0, 0, "none", collector, values, java)
            for collector, java in collectors
            for values in _combinations(vary)
        ]

    def answered(
        self, wanted: Sequence[Configuration]
    ) -> tuple[list[Configuration], list[Refused]]:
        """Return those that the planner says fit, with what it says of them; and the others."""
        answers = plans([self.request(one) for one in wanted], self.debug) if wanted else []
        if wanted and not wanted[0].cores and isinstance(answers[0], UserError):
            raise answers[0]  # not even the plan fits
        fitting, refused = [], []
        for one, answer in zip(wanted, answers, strict=True):
            if isinstance(answer, UserError):
                refused.append(Refused(one.shown, str(answer)))
            elif one.executors or not one.collector or answer.is_native:
                fitting.append(self.planned(one, answer))
        return fitting, refused

    def offered(self, vary: Mapping[str, Sequence[str]]) -> list[str]:
        """Return the settings that are varied one at a time: those that nobody fixed or named."""
        offered = [key for key in (SHUFFLE_PARTITIONS, STORAGE_SHARE)
                 if key not in vary and key not in self.settings]  # fmt: skip
        return (
            [*offered, EXECUTOR_MEMORY]
            if self.free_memory and EXECUTOR_MEMORY not in vary
            else offered
        )

    def beside(
        self, planned: Sequence[Configuration], offered: Sequence[str]
    ) -> list[Configuration]:
        """Return bound executors or one JVM with the plan's collector, one setting changed each."""
        base = [
            one for one in planned
            if not one.varied and one.collector == planned[0].collector
            and (not one.executors or one.binding != "none" or not self.free_binding)
        ]  # fmt: skip
        return [
            replace(one, varied={key: value})
            for one in base
            for key in offered
            for value in _values(one, key)
        ]

    def unbound(self, planned: Sequence[Configuration]) -> list[Configuration]:
        """Return the same executors left to the kernel, where the machine has several nodes."""
        bound = [
            one for one in planned
            if one.executors and one.binding != "none" and BINDING_SCOPE not in one.varied
        ]  # fmt: skip
        return [replace(one, binding="none") for one in bound if self.free_binding]

    def current(self) -> Configuration | None:
        """Return the user's own configuration as typed; None where that is the plan."""
        if self.numa or _FIXING & self.planning.given.keys():
            return None
        master = self.master or "local[*]"
        cores = re.fullmatch(r"local(?:\[(\*|\d+)(?:,\d+)?\])?", master)
        if cores is None:
            raise UserError(
                f"--master: '{master}' is not this machine alone: leave it out, or give local[N]"
            )
        number = len(self.cpus) if cores[1] == "*" else int(cores[1] or 1)
        heap_mb = parse_mb(
            self.settings.get("spark.driver.memory", _SPARKS_HEAP), "spark.driver.memory"
        )
        collector = self._collector_of(DRIVERS_JAVA_OPTIONS) or _JVMS_COLLECTOR
        return Configuration(master, 0, number, heap_mb, "none", collector)

    def request(self, one: Configuration) -> dict[str, Any]:
        options = replace(
            self.planning,
            executors=one.executors or self.executors,
            cores=one.cores if one.executors else self.cores,
        )
        conf = {**self.settings, **one.varied}
        if one.java:  # which of the two keys counts follows from the plan
            for key in (JAVA_OPTIONS, DRIVERS_JAVA_OPTIONS):
                if self._collector_of(key) is None:
                    conf[key] = " ".join(filter(None, [conf.get(key), one.java]))
        conf.pop("spark.master", None)
        return options.plan_request(conf, python=self.python).document()

    def planned(self, one: Configuration, plan: Plan) -> Configuration:
        """Return the configuration with what the plan says of it."""
        native, first = plan.is_native, plan.executors[0]
        flags = " ".join(first.java_options)
        chosen = COLLECTOR.search(flags)
        users = self._collector_of(DRIVERS_JAVA_OPTIONS if native else JAVA_OPTIONS)
        return replace(
            one,
            executors=0 if native else len(plan.executors),
            cores=first.task_slots,
            heap_mb=plan.driver.heap_mb if native else plan.least_heap_mb,
            binding="none" if native or self._is_unbound() else self._binding(plan),
            collector=users or (chosen[1] if chosen else one.collector or _JVMS_COLLECTOR),
        )

    def _is_unbound(self) -> bool:
        off = self.settings.get("spark.hearth.binding", "").strip().lower() == "off"
        return self.planning.bind == "none" or off

    def _binding(self, plan: Plan) -> str:
        """Return the widest place of an executor."""
        if len(self.nodes) < 2:
            return "CPUs"
        if all(len(parse_ids(one.memory_nodes)) == 1 for one in plan.executors):
            return "node"
        cpus = [set(parse_ids(one.cpus)) for one in plan.executors]
        inside = all(any(of <= package for package in self.packages) for of in cpus)
        return "package" if inside else "machine"

    def _collectors(self, key: str) -> list[tuple[str, str]]:
        """Return the collectors to try with their flags; the user's alone where one is fixed."""
        chosen = self._collector_of(key)
        return list(COLLECTORS.items()) if chosen is None else [(chosen, "")]

    def _collector_of(self, key: str) -> str | None:
        return collector_of(self.settings, key)


def _combinations(vary: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    values = itertools.product(*([(key, value) for value in of] for key, of in vary.items()))
    return [dict(pairs) for pairs in values]


def _values(one: Configuration, key: str) -> list[str]:
    """Return the values of a setting to try beside its usual one."""
    if key == STORAGE_SHARE:
        return [_STORAGE_SHARE]
    if key == EXECUTOR_MEMORY:
        return [f"{one.heap_mb // 2}m"] if one.executors else []
    numbers = (one.slots * of for of in _PARTITIONS)
    return [str(number) for number in numbers if number != _SPARKS_PARTITIONS]
