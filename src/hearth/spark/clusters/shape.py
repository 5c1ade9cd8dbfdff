"""One shape for all executors of a machine: what a cluster's scheduler can be asked for."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hearth.base.ids import parse_ids
from hearth.base.limits import Count, Positive
from hearth.machine.plan import Plan, PlannedExecutor
from hearth.machine.topology import Topology

_EXECUTOR_OPTIONS = "spark.executor.extraJavaOptions"


@dataclass(frozen=True)
class Shape:
    """An executor as a cluster's scheduler is asked for it: the smallest of a plan."""

    task_slots: Positive  #: Spark's cores of the executor
    cpus: Positive  #: hardware threads, of whole cores where the plan has whole cores
    heap_mb: Positive
    off_heap_mb: Count
    overhead_mb: Count
    pyspark_mb: Count = 0
    java_options: list[str] = field(default_factory=list)

    @property
    def container_mb(self) -> int:
        """The memory of its container, as Spark computes it for YARN and Kubernetes."""
        return self.heap_mb + self.off_heap_mb + self.overhead_mb + self.pyspark_mb

    @classmethod
    def of(cls, executors: Sequence[PlannedExecutor], threads: int) -> "Shape":
        """Return the shape that fits each place; threads: of a core."""
        least = min(executors, key=lambda each: (each.task_slots, each.heap_mb))
        cpus = min(len(parse_ids(each.cpus)) for each in executors)
        return cls(
            task_slots=least.task_slots,
            cpus=cpus // threads * threads or cpus,
            heap_mb=min(each.heap_mb for each in executors),
            off_heap_mb=min(each.off_heap_mb for each in executors),
            overhead_mb=least.overhead_mb,
            pyspark_mb=least.pyspark_mb or 0,
            java_options=least.java_options,
        )


@dataclass(frozen=True)
class Layout:
    """A machine's plan as executors of one shape.

    executors: those of the plan that are kept. nodes: of each, the NUMA node that holds it whole;
    None where it takes several.
    """

    shape: Shape
    executors: Sequence[PlannedExecutor]
    nodes: Sequence[int | None]
    plan: Plan
    machine: Topology

    @property
    def in_one_node_each(self) -> bool:
        return None not in self.nodes

    def per_node(self) -> Mapping[int, int]:
        """Return how many executors each NUMA node has; empty where one takes several nodes."""
        return Counter(each for each in self.nodes if each is not None and self.in_one_node_each)

    @classmethod
    def of(
        cls, plan: Plan, machine: Topology, without: frozenset[int] = frozenset()
    ) -> "Layout | None":
        """Return the places of a plan that need none of these CPUs; None where all do."""
        left = [each for each in plan.executors if not without & set(parse_ids(each.cpus))]
        if not left:
            return None
        shape = Shape.of(left, threads_per_core(machine))
        nodes = [_node_of(each, machine) for each in left]
        return cls(shape, left, nodes, plan, machine)


def threads_per_core(machine: Topology) -> int:
    """Return the hardware threads of a core; 1 where cores have unlike numbers."""
    counts = {len(parse_ids(core.cpus)) for core in machine.cores}
    return counts.pop() if len(counts) == 1 else 1


def _node_of(executor: PlannedExecutor, machine: Topology) -> int | None:
    """Return the node that has all CPUs and all memory of an executor."""
    cpus, nodes = set(parse_ids(executor.cpus)), parse_ids(executor.memory_nodes)
    holding = [node.id for node in machine.nodes if cpus <= set(parse_ids(node.cpus))]
    return holding[0] if holding == nodes else None


def driver_mb(plan: Plan) -> int:
    """Return the memory of a driver's container; of the least one where the plan is one JVM."""
    return 1024 + 384 if plan.is_native else plan.driver.memory_mb


def spark_defaults(
    shape: Shape, instances: int, plan: Plan, conf: Mapping[str, str], *, overhead: bool = True
) -> dict[str, str]:
    """Return the settings of executors of a shape, behind the user's.

    conf: the user's, whose Java options go last.
    overhead: whether the cluster's containers have a size of their own.
    """
    options = [*shape.java_options, *filter(None, [conf.get(_EXECUTOR_OPTIONS)])]
    off_heap = {
        "spark.memory.offHeap.enabled": "true",
        "spark.memory.offHeap.size": f"{shape.off_heap_mb}m",
    }
    return {
        **_users(plan, conf),
        **({"spark.executor.instances": str(instances)} if overhead else {}),
        "spark.executor.cores": str(shape.task_slots),
        "spark.executor.memory": f"{shape.heap_mb}m",
        **({"spark.executor.memoryOverhead": f"{shape.overhead_mb}m"} if overhead else {}),
        **(off_heap if shape.off_heap_mb else {}),
        **({"spark.executor.pyspark.memory": f"{shape.pyspark_mb}m"} if shape.pyspark_mb else {}),
        **({_EXECUTOR_OPTIONS: " ".join(options)} if options else {}),
        **({} if plan.is_native else {"spark.driver.memory": f"{plan.driver.heap_mb}m"}),
    }


def _users(plan: Plan, conf: Mapping[str, str]) -> dict[str, str]:
    """Return the user's settings that another cluster understands, and a native engine's shuffle.

    Where the plan is one JVM, what the user sets for a driver was for that one.
    """
    shuffle = "spark.shuffle.manager"
    hidden = ["spark.hearth.", "spark.master", *(["spark.driver."] if plan.is_native else [])]
    users = {key: value for key, value in conf.items() if not key.startswith(tuple(hidden))}
    return {**({shuffle: plan.conf[shuffle]} if shuffle in plan.conf else {}), **users}


def properties(settings: Mapping[str, str], *comments: str) -> str:
    """Return lines for spark-defaults.conf."""
    lines = [*(f"# {each}" for each in comments), *(f"{k} {v}" for k, v in settings.items())]
    return "\n".join(lines) + "\n"
