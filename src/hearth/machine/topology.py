"""A machine, as the verb `topology` describes it: contract/topology.schema.json.

CPUs and nodes are lists of ids as the kernel writes them: `0-3,8`.
"""

from dataclasses import dataclass, field

from hearth.base.ids import parse_ids


@dataclass(frozen=True)
class Die:
    """A die of a package."""

    id: int
    cpus: str


@dataclass(frozen=True)
class Package:
    """A package: what fits one socket."""

    id: int
    cpus: str
    dies: list[Die]


@dataclass(frozen=True)
class NumaNode:
    """A NUMA node; distances: by the id of the other node."""

    id: int
    cpus: str
    memory_bytes: int
    distances: dict[str, int]
    free_bytes: int | None = None
    gpu_memory: bool = False


@dataclass(frozen=True)
class Cache:
    """CPUs that share a last-level cache."""

    level: int
    cpus: str
    size_bytes: int | None = None


@dataclass(frozen=True)
class Core:
    """A core, with its hardware threads; kind: where cores differ."""

    id: int
    package: int
    cpus: str
    kind: str | None = None


@dataclass(frozen=True)
class Device:
    """A network device, host channel adapter or disk, and the node that it hangs on."""

    name: str
    kind: str
    node: int | None = None


@dataclass(frozen=True)
class CpuQuota:
    """CPU time that its cgroups may take, in CPUs, and how often and how long that stopped them."""

    cpus: float
    throttled_periods: int | None = None
    throttled_usec: int | None = None


@dataclass(frozen=True)
class TaskLimit:
    """How many processes and threads may be (`pids.max`, `RLIMIT_NPROC`), and how many are."""

    name: str
    most: int
    current: int | None = None


@dataclass(frozen=True)
class Allowed:
    """What this process may use."""

    cpus: str
    nodes: str
    memory_limit_bytes: int | None = None
    cpu_quota: CpuQuota | None = None
    task_limits: list[TaskLimit] = field(default_factory=list)


@dataclass(frozen=True)
class Topology:
    """A machine; source: `live`, a capture's path, or a description.

    isolated, nohz_full: CPUs that the kernel's load balancer, its timer leave alone.
    """

    source: str
    cpus: str
    packages: list[Package]
    nodes: list[NumaNode]
    caches: list[Cache]
    cores: list[Core]
    devices: list[Device]
    allowed: Allowed
    warnings: list[str] = field(default_factory=list)
    architecture: str | None = None
    processor: str | None = None
    isolated: str = ""
    nohz_full: str = ""

    @property
    def usable_cpus(self) -> set[int]:
        """The CPUs that this process may use."""
        return set(parse_ids(self.allowed.cpus))

    @property
    def usable_nodes(self) -> list[NumaNode]:
        """The nodes whose memory it may use."""
        allowed = set(parse_ids(self.allowed.nodes))
        return [node for node in self.nodes if node.id in allowed]
