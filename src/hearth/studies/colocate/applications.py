"""The applications of a colocation, and how each is run: on a share of the machine, or unbound.

On its share an application is planned as if the machine ended there, by its own `hearth profile`
whose CPUs are the share's. Memory that CPUs of several shares use, such as that of the one node of
a machine split by cores, is divided in proportion to CPUs: by the plan for the same CPUs of a
machine on which the others are occupied.
"""

import contextlib
import functools
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hearth.base.errors import UserError
from hearth.base.ids import show_ids
from hearth.base.redaction import Redaction
from hearth.machine import paths
from hearth.machine.jvm import plan
from hearth.machine.plan import Plan
from hearth.spark.command import sized_by_master
from hearth.spark.conf import read_settings, user_master
from hearth.spark.run_files import private_properties
from hearth.spark.submit_args import SubmitLine, SubmitOptions
from hearth.studies.colocate.partition import Units
from hearth.studies.engine.arms import UNBOUND, Arm, reject_settings_that_equalise_arms
from hearth.studies.engine.target import Target, WorkloadTarget, target_of
from hearth.workloads import cases, datasets, runner

_HEAPS = ("spark.executor.memory", "spark.driver.memory")
_OFF_HEAP = ("spark.memory.offHeap.enabled", "spark.memory.offHeap.size")
_JAVA = "spark.driver.extraJavaOptions"
_IGNORED = ("spark.hearth.neighbours", "ignore")
_MOST_APPLICATIONS = 64


@dataclass(frozen=True)
class ColocatedApplication:
    """An application that takes part. name: no other has it. settings: the user's own.

    planning: what it is planned with: the user's options, and what is known of a workload.
    """

    name: str
    target: Target
    line: SubmitLine
    planning: SubmitOptions
    settings: dict[str, str]

    @property
    def command(self) -> list[str]:
        """The command line as typed, without secrets."""
        line = self.line
        words = [*line.planning.to_words(), *line.option_words, *line.application]
        return list(Redaction.of(self.settings).words(words))


@dataclass(frozen=True)
class _Sized:
    """The configuration of a plan: of each executor the heap, None where the user fixed it."""

    plan: Plan
    heap_mb: int | None = None
    off_heap_mb: int = 0


def check_lines(lines: Sequence[SubmitLine]) -> None:
    """Raise UserError unless each names an application, and they are as many as can take part."""
    if not all(line.application for line in lines):
        raise UserError(
            "an application is missing: name a workload, a jar or a Python file on each side "
            "of --, as in: hearth colocate a.py -- b.py"
        )
    number = len(lines)
    if not 2 <= number <= _MOST_APPLICATIONS:
        raise UserError(
            f"cannot colocate {number} application{'s' if number > 1 else ''}: give 2 to "
            f"{_MOST_APPLICATIONS}, separated by --"
        )


def applications_of(lines: Sequence[SubmitLine]) -> list[ColocatedApplication]:
    """Read the command line of each application; raise UserError for what cannot take part."""
    applications: list[ColocatedApplication] = []
    for line in lines:
        new = _application(line)
        number = sum(one.target.name == new.name for one in applications)
        applications.append(replace(new, name=f"{new.name} {number + 1}") if number else new)
    return applications


def _application(line: SubmitLine) -> ColocatedApplication:
    settings = read_settings(line)
    reject_settings_that_equalise_arms(settings)
    target, job = target_of(line, "name")
    if job is not None:
        _refuse_hints(line)
        options = replace(line.planning, workload=runner.KINDS[job.family])
        return ColocatedApplication(target.name, target, line, options, settings)
    master = user_master(line, settings, os.environ)
    if master is not None and not master.startswith("local-numa"):
        raise UserError(
            f"--master: {line.application[0]}: '{master}' cannot be given a share: leave it out, "
            "or give local-numa[NxM]"
        )
    return ColocatedApplication(
        target.name, target, line, sized_by_master(line.planning, master), settings
    )


def _refuse_hints(line: SubmitLine) -> None:
    for option in ("--hosts", "--input", "--workload", "--when-full"):
        if option in line.planning.given:
            name = line.application[0]
            raise UserError(f"{option}: {name}: a workload is run without it: leave it out")


def with_data(applications: Sequence[ColocatedApplication]) -> list[ColocatedApplication]:
    """Make the data of workloads that is missing, before anything is timed; return the applications
    with the size of their input.
    """
    return [_with_data(application) for application in applications]


def _with_data(application: ColocatedApplication) -> ColocatedApplication:
    if not isinstance(application.target, WorkloadTarget):
        return application
    data = cases.data_of(application.target.offer, application.target.case)
    size = sum(int(datasets.manifest(directory)["bytes"]) for directory in data.values())
    options = replace(application.planning, input=f"{size}b" if size else None)
    return replace(application, planning=options)


def alone(application: ColocatedApplication, name: str, limit_s: float) -> Arm:
    """Return the application alone on the whole machine, as planned for it."""
    return Arm(name, _own(application), limit_s=limit_s)


def _own(application: ColocatedApplication) -> tuple[str, ...]:
    """Return a workload's planning options, which an application's line has itself."""
    if not isinstance(application.target, WorkloadTarget):
        return ()
    return tuple(application.line.planning.to_words())


def on_share(
    application: ColocatedApplication, units: Units, share: Sequence[int], name: str, limit_s: float
) -> Arm:
    """Return the application bound to these CPUs, as planned for them."""
    sized = _sized(application, units, share)
    words = () if sized.heap_mb is None else ("--memory", f"{sized.heap_mb}m")
    conf = tuple(_off_heap(application, sized).items())
    all_words = (*_own(application), *words)
    return Arm(name, all_words, conf=conf, limit_s=limit_s, cpus=tuple(share))


def unbound(
    application: ColocatedApplication,
    units: Units,
    share: Sequence[int],
    like: Sequence[int],
    name: str,
    limit_s: float,
) -> Arm:
    """Return the application on all CPUs, unbound, configured by the plan for the CPUs of `like`.

    Its memory is that of the share, so that all fit.
    """
    sized = _sized(application, units, share, like)
    if sized.plan.is_native:
        return _one_jvm(application, sized, name, limit_s)
    words = () if sized.heap_mb is None else ("--memory", f"{sized.heap_mb}m")
    conf = {**_off_heap(application, sized), _IGNORED[0]: _IGNORED[1]}
    words = (*_own(application), *UNBOUND, *words)
    master = sized.plan.master
    return Arm(name, words, master=master, conf=tuple(conf.items()), limit_s=limit_s)


def _one_jvm(application: ColocatedApplication, sized: _Sized, name: str, limit_s: float) -> Arm:
    """Return the arm that `hearth submit` would start: plain Spark with the plan's settings."""
    conf = {k: v for k, v in sized.plan.conf.items() if k not in _OFF_HEAP}
    if sized.heap_mb is not None:
        conf["spark.driver.memory"] = f"{sized.heap_mb}m"
    conf |= _off_heap(application, sized)
    private = {}
    if users := application.settings.get(_JAVA):
        conf[_JAVA] = " ".join(filter(None, [conf.get(_JAVA), users]))
        # JVM options from the user's files are not for a command line, which every user can read.
        if _JAVA not in {option.key for option in application.line.options}:
            private = {_JAVA: conf.pop(_JAVA)}
    files = private_properties(private, paths.state_home()) if private else None
    master = sized.plan.master
    return Arm(name, master=master, conf=tuple(conf.items()), properties=files, limit_s=limit_s)


def _sized(
    application: ColocatedApplication,
    units: Units,
    share: Sequence[int],
    like: Sequence[int] | None = None,
) -> _Sized:
    """Return the plan on the CPUs of `like` (by default the share), with the share's memory."""
    plan = _planned(application, like if like is not None else share)
    options, settings = application.planning, application.settings
    if options.memory is not None or any(key in settings for key in _HEAPS):
        return _Sized(plan)
    others = sorted({*units.all} - {*share})
    room = _planned(application, units.all, show_ids(others) if others else None)
    number = len(plan.executors)
    heap = sum(executor.heap_mb for executor in room.executors)
    off = sum(executor.off_heap_mb for executor in room.executors)
    return _Sized(plan, min(heap // number, plan.executors[0].heap_mb), off // number)


def _off_heap(application: ColocatedApplication, sized: _Sized) -> dict[str, str]:
    """Return the off-heap settings of the share's plan, unless the user sets them."""
    if sized.heap_mb is None or any(key in application.settings for key in _OFF_HEAP):
        return {}
    if not sized.off_heap_mb:
        return {_OFF_HEAP[0]: "false"}
    return {_OFF_HEAP[0]: "true", _OFF_HEAP[1]: f"{sized.off_heap_mb}m"}


def _planned(
    application: ColocatedApplication, cpus: Sequence[int], occupied: str | None = None
) -> Plan:
    """Return the plan on these CPUs.

    Raise UserError, with the application's name, where nothing fits.
    """
    conf = {key: value for key, value in application.settings.items() if key != "spark.master"}
    python = application.line.is_python
    with _allowed(cpus):
        try:
            request = application.planning.plan_request(conf, python=python, occupied=occupied)
            return _answered(json.dumps(request.document()), tuple(cpus))
        except UserError as error:
            raise UserError(f"{application.name} on CPUs {show_ids(cpus)}: {error}") from error


@functools.cache
def _answered(request: str, _cpus: tuple[int, ...]) -> Plan:
    """Ask once for the same CPUs, which are allowed now, as each ask starts a JVM."""
    return plan(json.loads(request))


@contextlib.contextmanager
def _allowed(cpus: Sequence[int]) -> Iterator[None]:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
