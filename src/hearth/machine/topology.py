"""A machine, as the verb `topology` describes it: `hearth schema topology`."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from hearth.base.codec import LEFT_OUT
from hearth.base.ids import parse_ids
from hearth.base.limits import AboveZero, Count, Id, IdList, NonEmpty, OneOf, Positive
from hearth.base.rows import html_table
from hearth.base.sizes import show_bytes


@dataclass(frozen=True)
class Die:
    """A die of a package."""

    id: int
    cpus: IdList


@dataclass(frozen=True)
class Package:
    """A package: what fits one socket."""

    id: int
    cpus: IdList
    dies: NonEmpty[Die]


@dataclass(frozen=True)
class NumaNode:
    """A NUMA node."""

    id: Count
    cpus: IdList  #: empty for a memory-only node
    memory_bytes: Count  #: 0 for a node without memory
    #: to every node, itself included, by id (10 is local); empty where unreadable
    distances: dict[Id, Count]
    #: free memory when it was read; absent in a description
    free_bytes: Count | None = field(default=None, metadata=LEFT_OUT)
    #: the memory of a GPU, which no heap should be bound to; absent means false
    gpu_memory: bool = field(default=False, metadata=LEFT_OUT)
    #: what of it is set aside as huge pages, which executors do not use; absent means none
    huge_page_bytes: Count = field(default=0, metadata=LEFT_OUT)
    #: of a node without CPUs: its memory beside that of nodes with CPUs; absent where unknown
    tier: Literal["faster", "slower", "alike"] | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class Cache:
    """CPUs that share a last-level cache."""

    level: Positive
    cpus: IdList
    size_bytes: Positive | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class Core:
    """A core."""

    id: int  #: the kernel's core_id, unique only within its package and die
    package: int
    cpus: IdList  #: its online hardware threads
    #: core type on a hybrid machine, such as cpu_core and cpu_atom
    kind: str | None = field(default=None, metadata=LEFT_OUT)
    die: int = 0
    #: whether it is one of the slower cores of a hybrid machine; absent means false
    efficient: bool = field(default=False, metadata=LEFT_OUT)


@dataclass(frozen=True)
class Device:
    """A network device, host channel adapter, disk or GPU."""

    name: str
    kind: Annotated[str, OneOf("network", "infiniband", "block", "gpu")]
    #: the NUMA node it is attached to; absent where the kernel says -1 or nothing
    node: Count | None = field(default=None, metadata=LEFT_OUT)
    local_cpus: IdList | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class CpuQuota:
    """The smallest CPU quota of the cgroup and its ancestors."""

    cpus: AboveZero  #: CPUs' worth of time
    #: periods in which it was used up
    throttled_periods: Count | None = field(default=None, metadata=LEFT_OUT)
    #: how long its threads were stopped
    throttled_usec: Count | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class TaskLimit:
    """A limit on the number of processes and threads."""

    #: `pids.max` of the cgroup or an ancestor, the one that leaves least; `RLIMIT_NPROC` of the
    #: user, unless a capability lifts it
    name: str
    most: Positive
    #: how many there are in the cgroup
    current: Count | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class BatchLimit:
    """What a batch system has given this job of the machine, by the variable that says so."""

    system: str  #: such as `Slurm`
    name: str  #: such as `SLURM_CPUS_ON_NODE`
    cpus: AboveZero | None = field(default=None, metadata=LEFT_OUT)  #: CPUs' worth of time
    memory_bytes: Positive | None = field(default=None, metadata=LEFT_OUT)
    #: why the variable is not believed; then it limits nothing
    ignored: str | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class Allowed:
    """The CPUs and memory that this process may use: affinity, cpuset, and what is online."""

    cpus: IdList
    nodes: IdList
    #: the tightest limit of the cgroup and its ancestors; absent if there is none
    memory_limit_bytes: Positive | None = field(default=None, metadata=LEFT_OUT)
    cpu_quota: CpuQuota | None = field(default=None, metadata=LEFT_OUT)
    task_limits: list[TaskLimit] = field(default_factory=list, metadata=LEFT_OUT)
    batch_limits: list[BatchLimit] = field(default_factory=list, metadata=LEFT_OUT)

    @property
    def least_memory_bytes(self) -> int | None:
        """The tightest limit of memory, whoever sets it."""
        limits = [self.memory_limit_bytes, *(one.memory_bytes for one in self.batch_limits)]
        return min((one for one in limits if one is not None), default=None)


@dataclass(frozen=True)
class Topology:
    """A machine, and the part of it that this process may use.

    Written by the verb `topology`; accepted by `--machine`. Online hardware only. Ids are the
    kernel's and may be sparse; sizes are bytes; sets of CPUs and nodes are in the kernel's list
    format, such as `0-3,8`. A fact that the kernel does not report is absent.
    """

    source: str  #: `live`, the path of a capture, or the text of a description
    cpus: IdList  #: all online CPUs (hardware threads): the union of the cores' CPUs
    packages: NonEmpty[Package]
    nodes: NonEmpty[NumaNode]  #: in id order
    caches: list[Cache]  #: groups of CPUs that share a last-level cache; empty where unknown
    cores: NonEmpty[Core]
    devices: list[Device]
    allowed: Allowed
    #: what was contradictory or missing, and how it was interpreted
    warnings: list[str] = field(default_factory=list)
    #: as `uname -m` names it; absent where unknown
    architecture: str | None = field(default=None, metadata=LEFT_OUT)
    #: its model in the kernel's words, from /proc/cpuinfo; absent where the kernel does not tell
    processor: str | None = field(default=None, metadata=LEFT_OUT)
    #: online CPUs over which the kernel's load balancer spreads no threads (isolcpus)
    isolated: IdList = field(default="", metadata=LEFT_OUT)
    #: online CPUs that the kernel's timer leaves alone where one thread runs
    nohz_full: IdList = field(default="", metadata=LEFT_OUT)
    schema: Literal["hearth/topology/1"] = "hearth/topology/1"

    @property
    def usable_cpus(self) -> set[int]:
        """The CPUs that this process may use."""
        return set(parse_ids(self.allowed.cpus))

    @property
    def usable_nodes(self) -> list[NumaNode]:
        """The nodes whose memory it may use."""
        allowed = set(parse_ids(self.allowed.nodes))
        return [node for node in self.nodes if node.id in allowed]

    def _repr_html_(self) -> str:
        rows = [(node.id, node.cpus, show_bytes(node.memory_bytes)) for node in self.nodes]
        return html_table(self.processor or self.source, ["NUMA node", "CPUs", "memory"], rows)
