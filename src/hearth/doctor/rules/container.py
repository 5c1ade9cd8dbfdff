"""Containers and control groups: what they hide, and what they do not allow."""

import re

from hearth.base.ids import named, parse_ids
from hearth.doctor.cgroups import mounted, own_group
from hearth.doctor.machine import Machine, known
from hearth.doctor.rule import Fine, Outcome, Problem, Rule, published
from hearth.machine.tree import NotSeen

_STATUS = "proc/self/status"
_OWN_GROUPS = "proc/self/cgroup"
#: The first Java whose every build has JDK-8349988; older ones have it by a later update.
_SEES_ALL = 25
_SYS_NICE = 23


def _memory_nodes_allowed(machine: Machine) -> Outcome:
    topology = machine.require_topology()
    allowed = set(parse_ids(topology.allowed.nodes))
    cut = [
        one.id
        for one in topology.nodes
        if one.memory_bytes
        and one.id not in allowed
        and set(parse_ids(one.cpus)) & topology.usable_cpus
    ]
    if not cut:
        return Fine("the memory of all nodes whose CPUs may be used may be used too")
    return Problem(f"memory of {named('node', cut)} may not be used, and their CPUs may")


def _hidden_limits(machine: Machine) -> Outcome:
    groups = [line for line in machine.tree.table(_OWN_GROUPS) if line.count(":") >= 2]
    if not groups:
        machine.tree.choice(_OWN_GROUPS, ())
    if not mounted(machine.tree):
        return Problem("control groups exist but are not visible: a limit would not be seen")
    outside = next((line for line in groups if "/.." in line.split(":", 2)[2]), None)
    if outside is None:
        return Fine("control groups are mounted")
    seen = (
        f"this process's control group ({outside[:60]}) is above what is mounted: its limits are "
    )
    return Problem(f"{seen}not seen", reads=f"/{_OWN_GROUPS}")


def _unseen_by_java(machine: Machine) -> Outcome:
    """Old JVMs take a memory controller that /proc/cgroups does not list as one that is off."""
    tree, seen = machine.tree, "/proc/cgroups lists the memory controller"
    listed = [line.split() for line in tree.table("proc/cgroups")]
    if any(line[0] == "memory" and line[-1] == "1" for line in listed if len(line) == 4):
        return Fine(seen)
    controllers = f"{own_group(tree)}/cgroup.controllers"
    if "memory" not in tree.text(controllers).split():
        return Fine("the kernel's memory controller is off: no control group limits memory")
    version = known(machine.user_settings().java_version)
    major = re.match(r"\d+", version)
    if major is not None and int(major[0]) >= _SEES_ALL:
        return Fine(f"Java {version} does not ask /proc/cgroups")
    return Problem("/proc/cgroups does not list the memory controller, and it is on: Java "
                   f"{version} may see no control group's limits")  # fmt: skip


def _refused_binding(machine: Machine) -> Outcome:
    lines = dict(line.partition(":")[::2] for line in machine.tree.table(_STATUS))
    filtered, rights = lines.get("Seccomp", "").strip(), lines.get("CapEff", "").strip()
    try:
        allowed = int(rights, 16) >> _SYS_NICE & 1
    except ValueError:
        raise NotSeen(f"could not read /{_STATUS}: it has no sound CapEff") from None
    if filtered not in ("0", "1", "2"):
        raise NotSeen(f"could not read /{_STATUS}: it has no sound Seccomp")
    plan = machine.require_plan()
    if filtered != "2" or allowed or plan.is_native:
        nice = "yes" if allowed else "no"
        return Fine(f"Seccomp {filtered}, CAP_SYS_NICE {nice}, plan {plan.mode}")
    return Problem(
        "system calls are filtered, and CAP_SYS_NICE is missing: memory may not be bound"
    )


CONTAINER = {
    "memory-nodes-allowed": Rule(
        _memory_nodes_allowed,
        why="A cpuset with CPUs of a node and not its memory makes every access of theirs a "
        "remote one.",
        reads="the cpuset and affinity of this process (hearth topology)",
        better="the memory of the nodes whose CPUs are allowed",
        source="kernel: admin-guide/cgroup-v1/cpusets; Awan 2016",
        worth=published(
            "remote memory cost 10 % on average (Awan 2016)",
            10,
        ),
        touches="other containers on these nodes",
        how="docker run --cpuset-mems with these nodes; AllowedMemoryNodes= of systemd",
    ),
    "hidden-limits": Rule(
        _hidden_limits,
        why="Without the mounts of control groups neither hearth nor the JVM sees the container's "
        "limits.",
        reads="/proc/self/mountinfo",
        better="/sys/fs/cgroup mounted, read-only is enough",
        source="man 7 cgroups; JVM: -XX:+UseContainerSupport",
        how="mount -t cgroup2 none /sys/fs/cgroup; start the container without its own empty /sys",
    ),
    "unseen-by-java": Rule(
        _unseen_by_java,
        why="From Linux 6.12 on that file may leave controllers out; a JVM that goes by it counts "
        "the host's memory and CPUs. A plan of hearth's gives JVMs their sizes itself.",
        reads="/proc/cgroups",
        better="a Java that has JDK-8349988",
        source="OpenJDK: JDK-8349988; kernel: CONFIG_MEMCG_V1",
        how="'java -XshowSettings:system -version' shows what yours sees; take a newer Java if "
        "that is not the container's",
    ),
    "refused-binding": Rule(
        _refused_binding,
        why="Docker's seccomp profile refuses the calls that bind memory, unless the container "
        "may change priorities.",
        reads=f"/{_STATUS}",
        better="CAP_SYS_NICE, or a profile that allows set_mempolicy and mbind",
        source="Docker: seccomp security profiles",
        touches="the container may change priorities of its processes",
        how="docker run --cap-add SYS_NICE",
    ),
}
