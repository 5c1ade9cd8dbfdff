"""Read from a run's record what the doctor's findings act on."""

from collections.abc import Mapping

import hearth
from hearth.analysis.analysis import analyse
from hearth.analysis.document import Analysis, Sql
from hearth.base.absent import Absent, Measured
from hearth.base.durations import show_seconds
from hearth.base.sizes import show_bytes, show_mb
from hearth.doctor.check import Concern
from hearth.doctor.run import InRun, JudgedRun, changed_since
from hearth.machine import paths
from hearth.record.machine_settings import machine_settings, versions
from hearth.record.store import Record
from hearth.studies.engine.measures import measured

#: Ours: logs and a record are no more than this.
_LITTLE = 64 << 20


def judged_run(record: Record) -> JudgedRun:
    """Return the run, with what its record tells by what findings act on."""
    analysis, head = analyse(record.directory), record.head
    now = versions(hearth.__version__, paths.spark_home(), paths.java())
    changed = changed_since(head, machine_settings(), now)
    heaps = head.plan and [one.heap_mb for one in head.plan.executors]
    return JudgedRun(record.id, head.application, changed, concerns(analysis, heaps or []))


def concerns(analysis: Analysis, heaps_mb: list[int]) -> Mapping[Concern, InRun]:
    """Return what a run had of each; what its record does not tell is left out."""
    numbers = measured(analysis, None)
    found: dict[Concern, InRun | None] = {
        "heaps": _heaps(numbers["gc_share"], heaps_mb),
        "placement": _placement(numbers["remote_share"]),
        "files": _files(analysis),
        "cpus": _cpus(analysis, numbers["cpu_s"]),
        "network": _network(analysis),
        "queries": None if isinstance(analysis.stages, Absent) else _queries(analysis.sql),
    }
    return {name: one for name, one in found.items() if one is not None}


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
    written = [one.io_bytes.write for one in uses if one.io_bytes.write is not None]
    if shuffled:
        return InRun(f"it wrote {show_bytes(shuffled)} of shuffle files and spills", True)
    if not written or sum(written) > _LITTLE:
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


def _network(analysis: Analysis) -> InRun | None:
    if isinstance(analysis.totals, Absent):
        return None
    size = analysis.totals.bytes.shuffle_read_remote
    return InRun(f"it fetched {show_bytes(size)} of shuffle data from other executors", size > 0)


def _queries(sql: list[Sql]) -> InRun:
    if not sql:
        return InRun("it had no SQL query", False)
    return InRun(f"it had {len(sql)} SQL quer{'y' if len(sql) == 1 else 'ies'}", True)
