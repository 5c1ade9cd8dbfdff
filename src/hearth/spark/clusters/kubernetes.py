"""Settings of Kubernetes: spark-defaults.conf, a pod template, the kubelet's; claim or balloons.

The kubelet gives whole CPUs to containers of Guaranteed pods (requests equal limits). It needs CPUs
for everything else, so one core, or the CPUs of --occupied, is left out. Names and maturity of
options: pkg/kubelet/cm/{cpumanager,topologymanager}/policy_options.go of Kubernetes 1.34 and 1.37.
"""

from collections.abc import Mapping, Sequence

from hearth.base.ids import parse_ids
from hearth.machine.plan import Plan
from hearth.machine.topology import NumaNode, Topology
from hearth.spark.clusters.shape import (
    Layout,
    Shape,
    driver_mb,
    properties,
    spark_defaults,
    threads_per_core,
)

_MIB = 1 << 20
#: Of a node's memory, as the plan leaves it to the kernel and other processes.
_RESERVED_PERCENT = 10
#: evictionHard's memory.available, where nobody sets it (pkg/kubelet/eviction/defaults_linux.go).
_EVICTION_MB = 100
#: With more nodes the topology manager does not start unless it is told.
_MOST_NODES = 8


def system_cpus(machine: Topology) -> str:
    """Return the CPUs of the first core that this process may use: for all but executors."""
    core = min((core for core in machine.cores if set(parse_ids(core.cpus)) & machine.usable_cpus),
               key=lambda core: parse_ids(core.cpus)[0])  # fmt: skip
    return core.cpus


def best_layout(
    whole: Plan, reduced: Plan | None, machine: Topology, reserved: str
) -> Layout | None:
    """Return the plan's places that leave the reserved CPUs alone, or the plan made without them.

    Whichever uses more task slots; executors of the latter are as large as its smallest.
    """
    without_reserved = Layout.of(whole, machine, frozenset(parse_ids(reserved)))
    made = Layout.of(reduced, machine) if reduced else None
    layouts = [each for each in (without_reserved, made) if each is not None]
    return max(layouts, key=lambda each: len(each.nodes) * each.shape.task_slots, default=None)


def kubernetes_files(layout: Layout, conf: Mapping[str, str], reserved: str) -> dict[str, str]:
    """Return the text of each file by its name; reserved: CPUs for everything but executors."""
    return {
        "spark-defaults.conf": _defaults(layout, conf, reserved),
        "executor.yaml": _pod(layout),
        "kubelet.yaml": _kubelet(layout, reserved),
        "claim.yaml": _claim(layout),
        "balloons.yaml": _balloons(layout, reserved),
    }


def _defaults(layout: Layout, conf: Mapping[str, str], reserved: str) -> str:
    many = len(layout.nodes)
    left = len(layout.machine.usable_cpus - set(parse_ids(reserved))) - many * layout.shape.cpus
    settings = {
        **spark_defaults(layout.shape, many, layout.plan, conf),
        **whole_cpus(layout.shape),
        "spark.kubernetes.executor.podTemplateFile": "executor.yaml",
    }
    return properties(
        settings,
        "Executors of one machine: times the number of such machines.",
        f"CPUs that pods can request beside them: {left}. A driver requests",
        f"{driver_mb(layout.plan)} MB and 1 CPU, or what",
        "spark.kubernetes.driver.request.cores says.",
    )


def whole_cpus(shape: Shape) -> dict[str, str]:
    """Return the settings that give an executor of a shape its CPUs alone."""
    return {
        "spark.kubernetes.executor.request.cores": str(shape.cpus),
        "spark.kubernetes.executor.limit.cores": str(shape.cpus),
    }


def _pod(layout: Layout) -> str:
    amount = f'{{cpu: "{layout.shape.cpus}", memory: {layout.shape.container_mb}Mi}}'
    return f"""\
# Guaranteed: requests equal limits, and CPUs are whole. A further container needs the same.
apiVersion: v1
kind: Pod
spec:
  containers:
    - name: spark-kubernetes-executor
      resources:
        requests: {amount}
        limits: {amount}
"""


def _kubelet(layout: Layout, reserved: str) -> str:
    nodes = [node for node in layout.machine.nodes if node.memory_bytes and not node.gpu_memory]
    several = len(layout.machine.nodes) > 1
    lines = [
        "# Part of /var/lib/kubelet/config.yaml. Drain the node, stop the kubelet, delete",
        "# cpu_manager_state and memory_manager_state beside it, and start it again.",
        "apiVersion: kubelet.config.k8s.io/v1beta1",
        "kind: KubeletConfiguration",
        "cpuManagerPolicy: static",
        f'reservedSystemCPUs: "{reserved}"',
        *_options("cpuManagerPolicyOptions", _cpu_options(layout)),
    ]
    if several:
        policy = "single-numa-node" if layout.in_one_node_each else "best-effort"
        lines += [
            f"topologyManagerPolicy: {policy}",
            *_options("topologyManagerPolicyOptions", _topology_options(layout)),
            *_memory(nodes),
        ]
    return "\n".join(lines) + "\n"


def _options(name: str, options: Sequence[tuple[str, str, str]]) -> list[str]:
    if not options:
        return []
    return [f"{name}:", *(f'  {key}: "{value}" # {since}' for key, value, since in options)]


def _cpu_options(layout: Layout) -> list[tuple[str, str, str]]:
    threads = threads_per_core(layout.machine)
    options = []
    if threads > 1 and layout.shape.cpus % threads == 0:
        options.append(("full-pcpus-only", "true", "stable in 1.34; refuses pods of half a core"))
    if not layout.in_one_node_each:
        options.append(("distribute-cpus-across-numa", "true", "beta in 1.34 and 1.37"))
    elif _caches_hold(layout):
        options.append(("prefer-align-cpus-by-uncorecache", "true", "beta in 1.34, stable in 1.37"))
    return options


def _caches_hold(layout: Layout) -> bool:
    """Return whether nodes have several last-level caches, and the CPUs fit into one of them."""
    per_node = [
        [
            cache
            for cache in layout.machine.caches
            if set(parse_ids(cache.cpus)) <= set(parse_ids(node.cpus))
        ]
        for node in layout.machine.nodes
    ]
    return any(len(caches) > 1 for caches in per_node)


def _topology_options(layout: Layout) -> list[tuple[str, str, str]]:
    options = []
    if not layout.in_one_node_each:
        options.append(("prefer-closest-numa-nodes", "true", "stable in 1.34"))
    if (many := len(layout.machine.nodes)) > _MOST_NODES:
        options.append(("max-allowable-numa-nodes", str(many), "beta in 1.34, stable in 1.37"))
    return options


def _memory(nodes: Sequence[NumaNode]) -> list[str]:
    """Return what is reserved of each node: kubeReserved and evictionHard must be its sum."""
    sizes = {
        node.id: max(
            (node.memory_bytes - node.huge_page_bytes) * _RESERVED_PERCENT // 100 // _MIB,
            _EVICTION_MB + 1,
        )
        for node in nodes
    }
    return [
        "memoryManagerPolicy: Static # stable since 1.32",
        f"# With evictionHard's {_EVICTION_MB}Mi the sum of reservedMemory, or the kubelet does",
        "# not start: with another evictionHard or systemReserved, change this number.",
        f"kubeReserved: {{memory: {sum(sizes.values()) - _EVICTION_MB}Mi}}",
        "reservedMemory:",
        *(f"  - {{numaNode: {node}, limits: {{memory: {mb}Mi}}}}" for node, mb in sizes.items()),
    ]


def _claim(layout: Layout) -> str:
    return f"""\
# Instead of kubelet.yaml: CPUs by dynamic resource allocation, where dra-driver-cpu runs (grouped
# by numanode, as it does by default) with cpuManagerPolicy none. Give it --reserved-cpus. It does
# not bind memory. The API is stable from 1.34; capacity needs the feature gate
# DRAConsumableCapacity (alpha in 1.34; beta, on by default, from 1.36).
# In executor.yaml: spec.resourceClaims [{{name: cpus, resourceClaimTemplateName: spark-executor}}],
# and resources.claims [{{name: cpus}}] in the container.
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata:
  name: spark-executor
spec:
  spec:
    devices:
      requests:
        - name: cpus
          exactly:
            deviceClassName: dra.cpu
            capacity:
              requests: {{dra.cpu/cpu: "{layout.shape.cpus}"}}
"""


def _balloons(layout: Layout, reserved: str) -> str:
    """Return the policy of nri-plugins; fields: config/crd/bases of containers/nri-plugins."""
    return f"""\
# Instead of kubelet.yaml: a balloon of CPUs, and their memory nodes, for each executor, where the
# plugin nri-resource-policy-balloons runs (containers/nri-plugins), with cpuManagerPolicy none and
# memoryManagerPolicy None. Spark labels executors' pods. It keeps pods of any class of service.
apiVersion: config.nri/v1alpha1
kind: BalloonsPolicy
metadata:
  name: default
  namespace: kube-system
spec:
  reservedResources: {{cpu: "cpuset:{reserved}"}}
  pinCPU: true
  pinMemory: true
  balloonTypes:
    - name: spark-executor
      minCPUs: {layout.shape.cpus}
      maxCPUs: {layout.shape.cpus}
      maxBalloons: {len(layout.nodes)}
      preferNewBalloons: true
      allocatorPriority: high
      matchExpressions:
        - {{key: pod/labels/spark-role, operator: Equals, values: [executor]}}
"""
