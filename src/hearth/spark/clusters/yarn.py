"""Settings of YARN: yarn-site.xml, capacity-scheduler.xml and spark-defaults.conf.

The NodeManager's allocator (NumaResourceAllocator) gives a container one NUMA node where its memory
and vcores are left there, else parts of several. So each node is as large as its executors, and the
first has room for a driver as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from xml.sax.saxutils import escape

from hearth.base.errors import UserError
from hearth.base.sizes import counted, parse_setting_mb
from hearth.spark.clusters.shape import Layout, driver_mb, properties, spark_defaults

_NUMA = "yarn.nodemanager.numa-awareness"
_CALCULATOR = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
#: yarn.scheduler.minimum-allocation-mb of yarn-default.xml, and one for small machines.
_USUAL_STEP_MB, _FINE_STEP_MB = 1024, 128
#: spark.yarn.am.memory, and the least overhead of a JVM.
_MASTER_HEAP_MB, _LEAST_OVERHEAD_MB = 512, 384
_MIB = 1 << 20


@dataclass(frozen=True)
class _Sizes:
    """step_mb: by which containers grow. room_mb: beside executors, for `guest`."""

    step_mb: int
    container_mb: int
    room_mb: int
    guest: str


def yarn_files(layout: Layout, conf: Mapping[str, str]) -> dict[str, str]:
    """Return the text of each file by its name; raise UserError where memory does not suffice."""
    sizes = _sizes(layout, conf)
    grown_mb = sizes.container_mb - layout.shape.container_mb
    whole = replace(layout.shape, overhead_mb=layout.shape.overhead_mb + grown_mb)
    return {
        "yarn-site.xml": _xml(_site(layout, sizes), _comment(layout, sizes)),
        "capacity-scheduler.xml": _xml(
            {"yarn.scheduler.capacity.resource-calculator": _CALCULATOR},
            "YARN's usual calculator counts memory only, not vcores",
        ),
        "spark-defaults.conf": properties(
            spark_defaults(whole, len(layout.nodes), layout.plan, conf),
            "Executors of one machine: times the number of such machines.",
            f"With their overhead they fill containers, which grow by {sizes.step_mb} MB.",
        ),
    }


def _site(layout: Layout, sizes: _Sizes) -> dict[str, str]:
    many, slots = len(layout.nodes), layout.shape.task_slots
    site = {
        "yarn.nodemanager.resource.memory-mb": many * sizes.container_mb + sizes.room_mb,
        "yarn.nodemanager.resource.cpu-vcores": many * slots + 1,
        "yarn.scheduler.maximum-allocation-mb": max(sizes.container_mb, sizes.room_mb),
        "yarn.scheduler.maximum-allocation-vcores": slots,
    }
    if sizes.step_mb != _USUAL_STEP_MB:
        site["yarn.scheduler.minimum-allocation-mb"] = sizes.step_mb
    given = {name: str(value) for name, value in site.items()}
    return {**given, **_numa(layout, sizes)} if _is_aware(layout) else given


def _numa(layout: Layout, sizes: _Sizes) -> dict[str, str]:
    """Return the nodes as YARN divides them: in vcores, which are task slots here, not CPUs."""
    nodes = _memory_of_nodes(layout, sizes)
    first = min(nodes)
    site = {
        f"{_NUMA}.enabled": "true",
        f"{_NUMA}.read-topology": "false",
        f"{_NUMA}.node-ids": ",".join(str(node) for node in nodes),
    }
    for node, many in layout.per_node().items():
        site[f"{_NUMA}.{node}.memory"] = str(nodes[node])
        site[f"{_NUMA}.{node}.cpus"] = str(many * layout.shape.task_slots + (node == first))
    return site


def _memory_of_nodes(layout: Layout, sizes: _Sizes) -> dict[int, int]:
    nodes = {node: many * sizes.container_mb for node, many in sorted(layout.per_node().items())}
    return {node: mb + sizes.room_mb * (node == min(nodes)) for node, mb in nodes.items()}


def _is_aware(layout: Layout) -> bool:
    return layout.in_one_node_each and len(layout.machine.usable_nodes) > 1


def _comment(layout: Layout, sizes: _Sizes) -> str:
    room = f"Beside executors there is room for {sizes.guest} of {sizes.room_mb} MB and 1 vcore"
    if _is_aware(layout):
        return (
            f"{room}, on the first node. vcores are task slots.\n"
            "Before Hadoop 3.4 only LinuxContainerExecutor gives containers nodes: there, set\n"
            "yarn.nodemanager.container-executor.class, its group and container-executor.cfg"
        )
    why = "the machine has one NUMA node" if layout.in_one_node_each else "executors take several"
    return f"{room}. NUMA awareness is left off: {why}"


def _sizes(layout: Layout, conf: Mapping[str, str]) -> _Sizes:
    """Return the first sizes with which all fit into the memory of their nodes."""
    driver, master = driver_mb(layout.plan), _master_mb(conf)
    guests = {"a driver": max(driver, master), "an application master": master}
    for guest, wanted_mb in guests.items():
        for step_mb in (_USUAL_STEP_MB, _FINE_STEP_MB):
            container_mb = _up(layout.shape.container_mb, step_mb)
            sizes = _Sizes(step_mb, container_mb, _up(wanted_mb, step_mb), guest)
            if _fits(layout, sizes):
                return sizes
    raise UserError(
        f"--format: no room beside {counted(len(layout.nodes), 'executor')} of "
        f"{layout.shape.container_mb} MB for an application master: give --executors or --memory "
        "less"
    )


def _master_mb(conf: Mapping[str, str]) -> int:
    """Return the memory of the container of an application master whose driver is elsewhere."""
    heap, overhead = "spark.yarn.am.memory", "spark.yarn.am.memoryOverhead"
    heap_mb = parse_setting_mb(conf[heap], heap) if heap in conf else _MASTER_HEAP_MB
    if overhead in conf:
        return heap_mb + parse_setting_mb(conf[overhead], overhead)
    return heap_mb + max(_LEAST_OVERHEAD_MB, heap_mb // 10)


def _fits(layout: Layout, sizes: _Sizes) -> bool:
    has = {node.id: node.memory_bytes // _MIB for node in layout.machine.usable_nodes}
    if len(layout.nodes) * sizes.container_mb + sizes.room_mb > sum(has.values()):
        return False
    wanted = _memory_of_nodes(layout, sizes) if _is_aware(layout) else {}
    return all(mb <= has[node] for node, mb in wanted.items())


def _up(size_mb: int, step_mb: int) -> int:
    return -(-size_mb // step_mb) * step_mb


def _xml(settings: Mapping[str, str], comment: str) -> str:
    lines = [
        f"  <property><name>{escape(name)}</name><value>{escape(value)}</value></property>"
        for name, value in settings.items()
    ]
    return "\n".join([f"<!-- {comment}. -->", "<configuration>", *lines, "</configuration>", ""])
