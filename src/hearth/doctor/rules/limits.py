"""Limits of a process, a control group and the machine (/proc/self/limits, getrlimit(2))."""

import re

from hearth.base.sizes import show_bytes
from hearth.doctor.cgroups import need_groups
from hearth.doctor.machine import Machine
from hearth.doctor.rule import Fine, Outcome, Problem, Rule
from hearth.machine.switch import Change
from hearth.machine.tree import NotSeen, Tree

_LIMITS = "proc/self/limits"
_MAPS = "proc/sys/vm/max_map_count"

#: What Elasticsearch asks for too; below the second number a large shuffle fails.
_OPEN_FILES, _FEW_FILES = 65535, 4096
_PROCESSES, _FEW_PROCESSES = 4096, 1024
#: Ours: an executor has some hundred threads.
_TASKS, _FEW_TASKS = 4096, 512
_MAPS_WANTED = 262_144


def _limit(tree: Tree, name: str) -> tuple[int | None, int | None]:
    """Return the soft and the hard limit, None for unlimited; raise NotSeen."""
    for line in tree.table(_LIMITS):
        row = re.match(
            rf"{name}\s+(unlimited|\d{{1,19}})\s+(unlimited|\d{{1,19}})(\s|$)", line, re.ASCII
        )
        if row:
            soft, hard = (None if word == "unlimited" else int(word) for word in row.groups()[:2])
            if hard is not None and (soft is None or soft > hard):
                break
            return soft, hard
    raise NotSeen(f"could not read /{_LIMITS}: it has no sound line '{name}'")


def _open_files(machine: Machine) -> Outcome:
    # The JVM raises the soft limit to the hard one by itself (-XX:+MaxFDLimit).
    _, hard = _limit(machine.tree, "Max open files")
    if hard is None or hard >= _OPEN_FILES:
        return Fine(f"open files: {'unlimited' if hard is None else hard}")
    seen = f"open files: at most {hard} (hard limit)"
    return Problem(seen, "harm" if hard < _FEW_FILES else "advice")


def _processes(machine: Machine) -> Outcome:
    soft, _ = _limit(machine.tree, "Max processes")
    what = "processes and threads of the user"
    if soft is None or soft >= _PROCESSES:
        return Fine(f"{what}: {'unlimited' if soft is None else soft}")
    return Problem(f"{what}: at most {soft}", "harm" if soft < _FEW_PROCESSES else "advice")


def _address_space(machine: Machine) -> Outcome:
    soft, _ = _limit(machine.tree, "Max address space")
    what = "addresses of a process"
    if soft is None:
        return Fine(f"{what}: unlimited")
    return Problem(f"{what}: at most {show_bytes(soft)}", "harm")


def _group_tasks(machine: Machine) -> Outcome:
    limits = machine.require_topology().allowed.task_limits
    of_groups = [one for one in limits if one.name != "RLIMIT_NPROC"]
    if not of_groups:
        need_groups(machine.tree)
        return Fine("no control group limits processes and threads")
    room, tightest = min(
        ((one.most - (one.current or 0), one) for one in of_groups), key=lambda pair: pair[0]
    )
    if room >= _TASKS:
        return Fine(f"{tightest.name}: room for {room} more")
    return Problem(
        f"{tightest.name} = {tightest.most}: room for {max(room, 0)} more threads",
        "harm" if room < _FEW_TASKS else "advice",
    )


def _memory_maps(machine: Machine) -> Outcome:
    value = machine.tree.number(_MAPS)
    seen = f"vm.max_map_count = {value}"
    if value >= _MAPS_WANTED:
        return Fine(seen)
    return Problem(seen, changes=(Change(_MAPS, str(_MAPS_WANTED)),))


LIMITS = {
    "open-files": Rule(
        _open_files,
        why="A shuffle reads files of every map task and has sockets to every peer; at the limit, "
        "tasks fail.",
        reads=f"/{_LIMITS}",
        better="65,535 or more",
        source="Elasticsearch: bootstrap checks, file descriptors; JVM: -XX:+MaxFDLimit",
        touches="what the user's other programs may open",
        how="'ulimit -n 1048576' as root; or a line '* hard nofile 1048576' in "
        "/etc/security/limits.d, then log in again; "
        "LimitNOFILE= of systemd; docker run --ulimit nofile=1048576",
    ),
    "processes": Rule(
        _processes,
        why="Each thread of a JVM counts; at the limit it says 'unable to create native thread' "
        "and fails.",
        reads=f"/{_LIMITS}",
        better="4,096 or more",
        source="Elasticsearch: bootstrap checks, number of threads",
        touches="how much a runaway program of the user can start",
        how="a line '* - nproc 32768' in /etc/security/limits.d, then log in again; "
        "LimitNPROC= of systemd",
    ),
    "address-space": Rule(
        _address_space,
        why="A JVM reserves far more addresses than it uses: under this limit it does not start, "
        "or fails later.",
        reads=f"/{_LIMITS}",
        better="unlimited",
        source="man 2 getrlimit, RLIMIT_AS; Elasticsearch: bootstrap checks, maximum size virtual "
        "memory",
        touches="how much memory the user's other programs may map",
        how="ulimit -v unlimited, and its line 'as' in /etc/security/limits.conf",
    ),
    "group-tasks": Rule(
        _group_tasks,
        why="A control group may hold fewer threads than executors start: Docker's and systemd's "
        "often do.",
        reads="/sys/fs/cgroup",
        better="room for 4,096 more, or no limit",
        source="kernel: admin-guide/cgroup-v2, pids.max; the limits are hearth's",
        touches="how much a runaway program can start",
        how="docker run --pids-limit -1; TasksMax=infinity of systemd",
    ),
    "memory-maps": Rule(
        _memory_maps,
        why="Spark maps each block above spark.storage.memoryMapThreshold that it reads from "
        "disk, and ZGC its heap.",
        reads=f"/{_MAPS}",
        better="262144",
        source="Elasticsearch: bootstrap checks, maximum map count; Spark: configuration, "
        "memoryMapThreshold",
        touches="some kernel memory for programs that map that much",
    ),
}
