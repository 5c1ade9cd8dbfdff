"""The space of tuning: configurations of executors, and the machine that they run on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from hearth.base.errors import UserError
from hearth.base.ids import parse_ids
from hearth.base.limits import Positive
from hearth.machine.topology import Topology

_GB = 1 << 30
JAVA_OPTIONS = "spark.executor.extraJavaOptions"
#: What the space varies of itself; `--vary` may name the first two, which are then left to it.
SHUFFLE_PARTITIONS, STORAGE_SHARE = "spark.sql.shuffle.partitions", "spark.memory.storageFraction"
EXECUTOR_MEMORY, BINDING_SCOPE = "spark.executor.memory", "spark.hearth.binding.scope"
#: Where one JVM is driver and executor.
DRIVERS_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
#: What a trial of a configuration is for.
Role = Literal["proposal", "current", "search", "repeat"]


@dataclass(frozen=True, order=True)
class Cell:
    """One configuration: executors (workers), task slots of each, memory of each in GB."""

    workers: int
    cores_per_worker: int
    memory_per_worker_gb: float

    @property
    def slots(self) -> int:
        """Task slots of all executors."""
        return self.workers * self.cores_per_worker

    @property
    def shown(self) -> str:
        """The cell as people write it: 24x8."""
        return f"{self.workers}x{self.cores_per_worker}"


@dataclass(frozen=True)
class Interval:
    """An expected value, and the ends of its interval."""

    low: float
    value: float
    high: float


@dataclass(frozen=True)
class Configuration:
    """One way to run an application on this machine.

    master: `local-numa` for what the plan says. executors: 0 where one JVM is driver and executor;
    heap_mb is then the driver's. binding: none, or what an executor is bound to: CPUs (on a machine
    of one node), node, package, machine. collector: ParallelGC, G1GC, or what the user fixed.
    varied: settings: values of `--vary`, and what the space varies of itself. java: the JVM's flag
    for the collector; empty where none is to be set.
    """

    master: str
    executors: int
    cores: int
    heap_mb: int
    binding: str
    collector: str
    varied: dict[str, str] = field(default_factory=dict)
    java: str = ""

    def conf(self, users: Mapping[str, str]) -> dict[str, str]:
        """Return the settings it needs over the user's own: what is varied, and the JVM's flag."""
        key = JAVA_OPTIONS if self.executors else DRIVERS_JAVA_OPTIONS
        flags = " ".join(filter(None, [users.get(key), self.java]))
        return {**self.varied, **({key: flags} if self.java else {})}

    @property
    def slots(self) -> int:
        """Task slots of all executors."""
        return max(self.executors, 1) * self.cores

    @property
    def cell(self) -> Cell:
        """The part that the performance model knows."""
        return Cell(max(self.executors, 1), self.cores, self.heap_mb / 1024)

    @property
    def choices(self) -> tuple[str, ...]:
        """The part that the performance model does not know."""
        kind = "executors" if self.executors else "one JVM"
        values = (self._choice(key, value) for key, value in sorted(self.varied.items()))
        return (kind, self.binding, self.collector, *filter(None, values))

    def _choice(self, key: str, value: str) -> str:
        """Return a setting in a form that configurations of other sizes share."""
        if key == BINDING_SCOPE:
            return ""  # the binding says it
        if key == EXECUTOR_MEMORY:
            return "a smaller heap"
        if key == SHUFFLE_PARTITIONS and value.isdecimal():
            return f"partitions x {int(value) / self.slots:.2g}"
        return f"{key}={value}"

    @property
    def shown(self) -> str:
        """The name in progress and tables: `4x2 G1GC unbound`, `one JVM x 8 ParallelGC`."""
        size = f"{self.executors}x{self.cores}" if self.executors else f"one JVM x {self.cores}"
        size = size if self.master.startswith("local-numa") else self.master
        bound = " unbound" if self.executors and self.binding == "none" else ""
        bound = " by package" if BINDING_SCOPE in self.varied else bound
        values = [
            f"{key.removeprefix('spark.')}={value}"
            for key, value in self.varied.items()
            if key != BINDING_SCOPE
        ]
        return " ".join([f"{size} {self.collector}{bound}", *values])


@dataclass(frozen=True)
class MachineSize:
    """A machine as the model sees it: hardware threads, cores, memory in GB."""

    threads: Positive  #: hardware threads that may be used
    cores: Positive
    memory_gb: float  #: 2^30 bytes

    def share(self, of: int, number: int) -> "MachineSize":
        """Return `of` of its `number` alike nodes."""
        part = of / number
        threads, cores = (max(round(one * part), 1) for one in (self.threads, self.cores))
        return MachineSize(threads, cores, self.memory_gb * part)

    @staticmethod
    def of(topology: Topology) -> "MachineSize":
        """Return the whole of it."""
        memory = sum(node.memory_bytes for node in topology.nodes) / _GB
        threads = len(parse_ids(topology.cpus))
        cores = len(topology.cores)
        if not cores or not threads:
            raise UserError("--machine: no CPU in it: give a machine with cores")
        return MachineSize(threads, cores, memory)

    @staticmethod
    def allowed(topology: Topology) -> "MachineSize":
        """Return the part of it that this process may use."""
        cpus = topology.usable_cpus
        memory = sum(node.memory_bytes for node in topology.usable_nodes) / _GB
        cores = sum(not cpus.isdisjoint(parse_ids(core.cpus)) for core in topology.cores)
        return MachineSize(len(cpus), max(cores, 1), memory)
