"""A run on record that the doctor judges a machine for: what was set, and what there was of it."""

import shlex
from collections.abc import Mapping
from dataclasses import replace

import hearth
from hearth.analysis.analysis import analyse
from hearth.analysis.document import Analysis, Sql
from hearth.base.absent import Absent, Measured
from hearth.base.codec import to_json, typed
from hearth.base.durations import show_seconds
from hearth.base.errors import UserError
from hearth.base.sizes import show_bytes, show_mb
from hearth.doctor.examine import InRun, JudgedRun
from hearth.doctor.java import words_of
from hearth.doctor.machine import Machine, local_dirs
from hearth.doctor.rule import Concern
from hearth.machine import paths
from hearth.machine.plan import Plan
from hearth.record.machine_settings import machine_settings, versions
from hearth.record.schema import RecordHead, Setting
from hearth.record.store import Record
from hearth.studies.engine.measures import measured

#: What a profile sets for its own sake.
_OF_THE_PROFILE = ("spark.eventLog.",)
_JAVA_OPTIONS = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")
#: Ours: logs and a record are no more than this.
_LITTLE_BYTES = 64 << 20


def machine_of(machine: Machine, record: Record) -> Machine:
    """Return the machine with the plan and the settings of a run.

    Raises UserError where the run was on another machine.
    """
    _refuse_another(machine, record)
    user = machine.user
    if not isinstance(user, Absent):
        conf = _chosen(record.head)
        spark = record.head.versions.get("spark", user.spark_version)
        java = record.head.versions.get("java", user.java_version)
        user = replace(
            user, conf=conf, local_dirs=local_dirs(conf), spark_version=spark, java_version=java
        )
    return replace(machine, plan=_plan(record.head), user=user)


def changed_since(
    head: RecordHead, settings: Mapping[str, Measured[Setting]], versions: Mapping[str, str]
) -> list[str]:
    """Return which settings of the machine and which versions are others now than in a run."""
    then = {name: _value(one) for name, one in head.machine_settings.items()} | dict(head.versions)
    now = {name: _value(one) for name, one in settings.items()} | dict(versions)
    return [
        f"{name}: {before} then, {now[name]} now"
        for name, before in then.items()
        if before is not None and now.get(name) not in (None, before)
    ]


def _value(setting: Measured[Setting]) -> str | None:
    return None if isinstance(setting, Absent) else setting.value


def _refuse_another(machine: Machine, record: Record) -> None:
    topology, then = machine.topology, record.head.cpus_of_node
    if isinstance(topology, Absent) or not then:
        return
    now = {str(one.id): one.cpus for one in topology.nodes}
    if now != dict(then):
        raise UserError(
            f"{record.id}: it ran on another machine (CPUs by node {_nodes(then)}, here "
            f"{_nodes(now)}): ask there, or give a capture of it with --machine"
        )


def _nodes(cpus: Mapping[str, str]) -> str:
    return "; ".join(f"{node}: {listed}" for node, listed in list(cpus.items())[:4])


def _plan(head: RecordHead) -> Measured[Plan]:
    if head.plan is None:
        return Absent(f"the run under {head.master} had no plan of hearth's")
    try:
        return typed(to_json(head.plan), Plan)
    except ValueError as error:
        return Absent(f"the plan of the run cannot be read: {error}")


def _chosen(head: RecordHead) -> Mapping[str, str]:
    """Return the settings of a run that neither a plan nor the profile has set."""
    plan = _plan(head)
    planned = {} if isinstance(plan, Absent) else plan.conf
    planned_words = set() if isinstance(plan, Absent) else set(plan.executors[0].java_options)
    planned_words |= {word for key in _JAVA_OPTIONS for word in words_of(planned.get(key, ""))}
    chosen = {}
    for key, value in head.configuration.items():
        if key in _JAVA_OPTIONS:
            user_words = [
                w
                for w in words_of(value)
                if w not in planned_words and not w.startswith("-Xlog:gc*")
            ]
            if user_words:
                chosen[key] = shlex.join(user_words)
        elif planned.get(key) != value and not key.startswith(_OF_THE_PROFILE):
            chosen[key] = value
    return chosen


def judged_run(record: Record) -> JudgedRun:
    """Return the run, with what its record tells by what findings act on."""
    analysis, head = analyse(record.directory), record.head
    now = versions(hearth.__version__, paths.spark_home(), paths.java())
    changed = changed_since(head, machine_settings(), now)
    heaps = head.plan and [one.heap_mb for one in head.plan.executors]
    return JudgedRun(record.id, head.application, changed, concerns(analysis, heaps or []))


def concerns(analysis: Analysis, heaps_mb: list[int]) -> dict[Concern, InRun]:
    """Return what a run had of each; what its record does not tell is left out."""
    numbers = measured(analysis, None)
    in_run: dict[Concern, InRun | None] = {
        "heaps": _heaps(numbers["gc_share"], heaps_mb),
        "placement": _placement(numbers["remote_share"]),
        "files": _files(analysis),
        "cpus": _cpus(analysis, numbers["cpu_s"]),
        "queries": None if isinstance(analysis.stages, Absent) else _queries(analysis.sql),
    }
    return {name: one for name, one in in_run.items() if one is not None}


def _heaps(gc_share: Measured[float], heaps_mb: list[int]) -> InRun | None:
    if isinstance(gc_share, Absent):
        return None
    heaps = f"; {len(heaps_mb)} x {show_mb(min(heaps_mb))} of heap" if heaps_mb else ""
    return InRun(f"collections took {gc_share:.1%} of its tasks' time{heaps}", True)


def _placement(remote: Measured[float]) -> InRun | None:
    if isinstance(remote, Absent):
        return None
    return InRun(f"{remote:.1%} of its memory was on another node than its threads", remote > 0)


def _files(analysis: Analysis) -> InRun | None:
    """Judge what went to disks; blocks of a cache are in what the processes wrote only."""
    if isinstance(analysis.totals, Absent):
        return None
    shuffled = analysis.totals.bytes.shuffle_write + analysis.totals.spill.disk
    uses = [one.use for one in analysis.executors if not isinstance(one.use, Absent)]
    written = [one.written_bytes for one in uses if one.written_bytes is not None]
    if shuffled:
        return InRun(f"it wrote {show_bytes(shuffled)} of shuffle files and spills", True)
    if not written or sum(written) > _LITTLE_BYTES:
        return None
    wrote = show_bytes(int(sum(written)))
    return InRun(f"it wrote no shuffle files, spilled nothing, and put {wrote} on disks", False)


def _cpus(analysis: Analysis, cpu_s: Measured[float]) -> InRun | None:
    if isinstance(cpu_s, Absent):
        return None
    totals = analysis.totals
    idle = None if isinstance(totals, Absent) else totals.idle_slot_share
    slots = "" if idle is None else f"; {idle:.0%} of its task slots' time was idle"
    used = f"{show_seconds(cpu_s)} of CPU in {show_seconds(analysis.record.wall_s)}"
    return InRun(f"it used {used}{slots}", True)


def _queries(sql: list[Sql]) -> InRun:
    if not sql:
        return InRun("it had no SQL query", False)
    return InRun(f"it had {len(sql)} SQL quer{'y' if len(sql) == 1 else 'ies'}", True)
