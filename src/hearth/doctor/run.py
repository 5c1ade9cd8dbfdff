"""A run on record that the doctor judges a machine for: what was set, and what there was of it."""

import contextlib
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hearth.base.absent import Absent, Measured
from hearth.base.codec import to_json, typed
from hearth.base.errors import UserError
from hearth.base.limits import Text
from hearth.doctor.check import Concern, Machine
from hearth.doctor.places import local_dirs
from hearth.machine.plan import Plan
from hearth.record.schema import RecordHead, Setting
from hearth.record.store import Record

#: What a profile sets for its own sake.
_OF_THE_PROFILE = ("spark.eventLog.",)
_JAVA_OPTIONS = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")


@dataclass(frozen=True)
class InRun:
    """The part of a run that a finding acts on."""

    text: Text
    matters: bool  #: false: the run had none of it


@dataclass(frozen=True)
class JudgedRun:
    """The run that the findings are judged for."""

    id: str
    application: str
    changed: list[str]  #: settings of the machine and versions that are others now
    #: by what a finding acts on
    concerns: Mapping[Concern, InRun] = field(default_factory=dict)


def machine_of(machine: Machine, record: Record) -> Machine:
    """Return the machine with the plan and the settings of a run.

    Raises UserError where the run was on another machine.
    """
    _refuse_another(machine, record)
    own = machine.own
    if not isinstance(own, Absent):
        conf = _chosen(record.head)
        version = record.head.versions.get("spark", own.spark_version)
        own = replace(own, conf=conf, local_dirs=local_dirs(conf), spark_version=version)
    return replace(machine, plan=_plan(record.head), own=own)


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
    own = set() if isinstance(plan, Absent) else set(plan.executors[0].java_options)
    own |= {word for key in _JAVA_OPTIONS for word in _words(planned.get(key, ""))}
    found = {}
    for key, value in head.configuration.items():
        if key in _JAVA_OPTIONS:
            kept = [w for w in _words(value) if w not in own and not w.startswith("-Xlog:gc*")]
            if kept:
                found[key] = shlex.join(kept)
        elif planned.get(key) != value and not key.startswith(_OF_THE_PROFILE):
            found[key] = value
    return found


def _words(options: str) -> list[str]:
    with contextlib.suppress(ValueError):  # a quotation mark without its other
        return shlex.split(options)
    return options.split()
