"""Compose the command that runs from the user's words and the plan: pure, plain text."""

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hearth.base.errors import UserError, nearest
from hearth.base.ids import show_ids
from hearth.base.redaction import Redaction
from hearth.machine.plan import Plan
from hearth.spark.conf import DRIVER_OPTIONS, DROPPED_BY_SPARK
from hearth.spark.submit_args import OPTION_KEYS, Option, SubmitLine, SubmitOptions

_LOCAL_NUMA = re.compile(r"local-numa(?:\[(\d+)(?:x(\d+))?\])?")
_SPARKS = ("local", "local-cluster", "spark", "yarn", "k8s")
#: Options that start nothing: hearth only passes them on.
_NO_APPLICATION = ("--kill", "--status", "--version", "--usage-error")


@dataclass(frozen=True)
class Launch:
    """The command to run, what it adds to the environment, and notes for the user."""

    spark_submit: Path
    options: Sequence[Option]
    application: Sequence[str]
    environment: dict[str, str]
    notes: list[str]
    #: What binds the driver, before spark-submit: nothing when it is not bound.
    prefix: list[str] = field(default_factory=list)
    #: File descriptors that the driver inherits.
    inherited: tuple[int, ...] = ()

    @property
    def command(self) -> list[str]:
        program = [*self.prefix, str(self.spark_submit)]
        return [*program, *_words(self.options), *self.application]

    def shown_command(self, redaction: Redaction) -> list[str]:
        """Return the command without its secrets."""
        options = [word for option in self.options for word in _shown(option, redaction)]
        program = [*self.prefix, str(self.spark_submit)]
        return [*program, *options, *redaction.words(self.application)]

    def shell_text(self, redaction: Redaction) -> str:
        """Return the command as shell input, one option per line, without its secrets."""
        variables = [
            f"{name}={redaction.setting(name, value)}" for name, value in self.environment.items()
        ]
        start = ["env", *variables] if variables else []
        groups = [_shown(option, redaction) for option in self.options]
        application = redaction.words(self.application)
        lines = [[*start, *self.prefix, str(self.spark_submit)], *groups, application]
        return " \\\n  ".join(shlex.join(line) for line in lines if line)


def pass_through_reason(line: SubmitLine, master: str | None, remote: str | None) -> str | None:
    """Return why hearth only passes this command line on; None if it plans."""
    if line.has(*_NO_APPLICATION):
        return "nothing to plan"
    if remote is not None:
        return "a Spark Connect server runs the application"
    if master is not None and not master.startswith("local-numa"):
        _refuse_mistyped(master)
        return f"the master is {master}"
    return None


def _refuse_mistyped(master: str) -> None:
    """Refuse a master that is nearly hearth's; any other may be one that Spark knows."""
    name = re.split(r"[\[:]", master)[0]
    if name not in _SPARKS and nearest(name.lower(), ["local-numa"], cutoff=0.75):
        meant = "local-numa" + master[len(name) :]
        raise UserError(f"--master: '{master}' is not a master: did you mean '{meant}'?")


def fixed_by_master(master: str | None) -> tuple[int | None, int | None]:
    """Return executors and cores that `local-numa[4x12]` fixes.

    Raise UserError for another form.
    """
    if master is None:
        return None, None
    match = _LOCAL_NUMA.fullmatch(master)
    if match is None:
        forms = "local-numa, local-numa[4] or local-numa[4x12]"
        raise UserError(f"--master: '{master}' is not a form of local-numa: use {forms}")
    executors, cores = match.groups()
    return int(executors) if executors else None, int(cores) if cores else None


def sized_by_master(options: SubmitOptions, master: str | None) -> SubmitOptions:
    """Return the options with what the master fixes.

    Raise UserError where they say something else.
    """
    executors, cores = fixed_by_master(master)
    for name, given, fixed in (
        ("executors", options.executors, executors),
        ("cores", options.cores, cores),
    ):
        if fixed is not None and given not in (None, fixed):
            raise UserError(f"--{name}: {given} contradicts the master {master}: give one of them")
    return replace(
        options,
        executors=options.executors if executors is None else executors,
        cores=options.cores if cores is None else cores,
    )


def passed_through(
    spark_submit: Path,
    line: SubmitLine,
    reason: str,
    settings: Mapping[str, str],
    driver_flags: Sequence[str] = (),
) -> Launch:
    """Return spark-submit with what the user typed, less hearth's own options.

    driver_flags: JVM flags before those of the user's settings.
    """
    idle = replace(line.planning, reserve_cpus=None).to_words()
    ignored = f", so {' '.join(idle)} has no effect" if idle else ""
    note = f"{reason}: hearth only passes through the command{ignored}"
    prefix = restricted(line.planning)
    options = list(line.options)
    if driver_flags:
        java = " ".join(filter(None, [*driver_flags, settings.get(DRIVER_OPTIONS)]))
        options.append(Option("--conf", f"{DRIVER_OPTIONS}={java}"))
    return Launch(spark_submit, options, line.application, {}, [note], prefix)


def restricted(options: SubmitOptions) -> list[str]:
    """Return what starts a driver on the CPUs of this process, where the user reserves others."""
    if options.reserve_cpus is None:
        return []
    return ["taskset", "--cpu-list", show_ids(os.sched_getaffinity(0))]


def composed(
    spark_submit: Path,
    line: SubmitLine,
    settings: Mapping[str, str],
    plan: Plan,
    additions: dict[str, str],
    path: str,
    driver_flags: list[str] | None = None,
) -> Launch:
    """Return spark-submit with the plan: the user's options, what the plan adds, the application.

    additions: hearth's own settings (including the plan file). path: the driver's extra class path
    where hearth adds to it, else empty. driver_flags: JVM flags before the user's.
    """
    wanted = {**plan.conf, **additions, **_driver_options(settings, plan, driver_flags or [])}
    changed = {key: value for key, value in wanted.items() if settings.get(key) != value}
    notes: list[str] = []
    options = [Option("--master", plan.master)]
    for option in line.options:
        if not (path and option.name == "--driver-class-path"):
            options += _kept(option, changed, notes)
    options += [Option("--conf", f"{key}={value}") for key, value in sorted(changed.items())]
    if path:
        options.append(Option("--driver-class-path", path))
    bound = ["taskset", "--cpu-list", plan.driver.cpus] if plan.driver.bound else []
    prefix = bound or restricted(line.planning)
    return Launch(spark_submit, options, line.application, {}, notes, prefix)


def _driver_options(settings: Mapping[str, str], plan: Plan, flags: list[str]) -> dict[str, str]:
    """Return the driver's JVM flags and the plan's, then the user's own: the last one counts."""
    ours = list(filter(None, [*flags, plan.conf.get(DRIVER_OPTIONS)]))
    theirs = filter(None, [settings.get(DRIVER_OPTIONS)])
    return {DRIVER_OPTIONS: " ".join([*ours, *theirs])} if ours else {}


def users_class_path(line: SubmitLine, settings: Mapping[str, str]) -> str:
    """Return the driver's extra class path that the user set; empty where there is none."""
    return line.last("--driver-class-path") or settings.get("spark.driver.extraClassPath") or ""


def class_path(theirs: str, *jars: Path | None) -> str:
    """Return the user's class path and hearth's jars; empty where hearth adds nothing."""
    added = [str(jar) for jar in jars if jar]
    return ":".join([*filter(None, [theirs]), *added]) if added else ""


def _kept(option: Option, changed: dict[str, str], notes: list[str]) -> list[Option]:
    """Translate one of the user's options."""
    if option.name == "--master":
        return []
    if option.name == "--conf" and (option.value or "").partition("=")[0].strip() in changed:
        return []
    key = OPTION_KEYS.get(option.name)
    if option.name in DROPPED_BY_SPARK:
        notes.append(
            f"{option.name} {option.value} becomes {key}={option.value}: "
            "Spark drops the option for local masters"
        )
        return [] if key in changed else [Option("--conf", f"{key}={option.value}")]
    return [] if key in changed else [option]


def _shown(option: Option, redaction: Redaction) -> list[str]:
    """Return an option's words without secrets: its value is a setting's, or a file's name."""
    if option.value is None:
        return [option.name]
    key = OPTION_KEYS.get(option.name)
    if key is not None:
        return [option.name, redaction.setting(key, option.value)]
    if option.name == "--conf":
        return [option.name, redaction.assignment(option.value)]
    return [option.name, redaction.text(option.value)]


def _words(options: Iterable[Option]) -> list[str]:
    words: list[str] = []
    for option in options:
        words.append(option.name)
        if option.value is not None:
            words.append(option.value)
    return words
