"""From a command line of `hearth submit` to what runs: the plan, the settings, the command.

Shared by the commands that run an application; only the command prints and starts it.
"""

import os
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from hearth.base.codec import to_json
from hearth.base.errors import UserError
from hearth.base.ids import show_ids
from hearth.base.redaction import Redaction
from hearth.machine import paths
from hearth.machine.plan import Plan
from hearth.machine.plan_request import BINDING_SCOPE, is_unbound, plan_request
from hearth.spark import command
from hearth.spark.conf import (
    user_deploy_mode,
    user_master,
    user_remote,
    user_settings,
    variable_settings,
)
from hearth.spark.local_dirs import check_local_dirs
from hearth.spark.python import python_of_application
from hearth.spark.spark_env import load_spark_env
from hearth.spark.submit_args import Option, SubmitLine, late_options

#: What stands for Spark's own programs where an application is named.
_NO_FILES = ("pyspark-shell", "spark-internal", "spark-shell", "sparkr-shell")
_WHEN_FULL = "spark.hearth.lease.whenFull"
_LATER = (
    "Spark starts faster from the next time on: class-data archives are made when this application "
    "is over, on idle CPU time"
)


@dataclass(frozen=True)
class Submission:
    """What to run: the command, the user's own settings, the master, the plan if hearth plans.

    master is None if none was given and Spark takes its default. afterwards: called just before the
    application starts, where something is to be made when it is over.
    """

    launch: command.Launch
    settings: dict[str, str]
    master: str | None
    plan: Plan | None
    afterwards: Callable[[], None] | None = None


def prepare(
    options: Namespace,
    line: SubmitLine,
    show_plan: Callable[[Plan], None],
    *,
    measured: bool,
) -> Submission:
    """Plans if hearth plans, and composes the command; `show_plan` is called with the plan.

    options: those of `add_submit_arguments`, with `dry_run` and `debug`. measured: whether missing
    class-data archives are made first, so that the run is like all later ones; else they are made
    when it is over. Raises UserError.
    """
    Path.cwd()  # no JVM starts in a directory that is gone
    home = paths.spark_home()
    spark_submit = home / "bin" / "spark-submit"
    load_spark_env(home, os.environ)
    settings = user_settings(line, home, os.environ)
    master = user_master(line, settings, os.environ)
    remote = user_remote(line, settings, os.environ)
    reason = command.pass_through_reason(line, master, remote)
    if reason is not None:
        passed = command.passed_through(spark_submit, line, reason)
        passed.notes.extend(late_options(line))
        return Submission(passed, settings, master, None)
    paths.check_spark(home)
    _check(line, settings)
    check_local_dirs(settings, os.environ)
    notes = _take_variables(line, settings)
    options.python = line.is_python
    plan, inherited = _plan(options, line, settings, master)
    waiting = _waits(options, settings, plan)
    if waiting:
        plan = replace(plan, master="local-numa")  # the driver waits, and plans again
    if not options.dry_run:
        check_application(line.application[0])
    show_plan(plan)
    additions, jar = _additions(options, settings, plan, waiting)
    theirs = command.users_class_path(line, settings)
    flags, afterwards = _archives(options, theirs, settings, jar, measured)
    if afterwards and jar and "spark.hearth.classDataArchive" not in settings:
        # Its executors would write theirs before the application may end.
        additions["spark.hearth.classDataArchive"] = "false"
    path = _archived_path(home, jar) if flags else command.class_path(theirs, jar)
    launch = command.composed(spark_submit, line, settings, plan, additions, path, flags)
    launch = replace(launch, inherited=inherited)
    variables, other = python_of_application(settings, os.environ)
    launch.environment.update(variables)
    notes.extend([other] if other and line.is_python else [])
    launch.notes.extend([*notes, *_idle(options, plan), *late_options(line)])
    launch.notes.extend([_LATER] if afterwards else [])
    return Submission(launch, settings, plan.master, plan, afterwards)


def _check(line: SubmitLine, settings: dict[str, str]) -> None:
    if not line.application:
        raise UserError("no application is given: name a jar or a Python file")
    mode = user_deploy_mode(line, settings, os.environ)
    if mode != "client":
        raise UserError(
            f"--deploy-mode: '{mode}' needs a cluster; here the driver runs locally: leave it out"
        )
    if "spark.hearth.plan" in settings:
        raise UserError(
            f"spark.hearth.plan: '{settings['spark.hearth.plan']}' is already a plan and hearth "
            "submit makes its own: leave the key out, or use spark-submit"
        )


def check_application(application: str) -> None:
    """Raises UserError for a file that is not there: Spark says so seconds later, in many lines."""
    path = application.removeprefix("file:")
    if ":" in path or application in _NO_FILES or Path(path).is_file():
        return
    from difflib import get_close_matches

    folder = Path(path).absolute().parent
    files = [file.name for file in folder.iterdir()] if folder.is_dir() else []
    near = get_close_matches(Path(path).name, files, n=1)
    hint = f"did you mean '{Path(path).with_name(near[0])}'?" if near else "correct its name"
    raise UserError(f"'{application}': there is no such file in '{folder}': {hint}")


def _take_variables(line: SubmitLine, settings: dict[str, str]) -> list[str]:
    """Takes settings from environment variables; returns notes for the user."""
    notes = []
    for key, (name, value) in variable_settings(settings, os.environ).items():
        settings[key] = value
        if key.startswith("spark.executor."):
            line.options.append(Option("--conf", f"{key}={value}"))
            notes.append(f"{name}={value} becomes {key}={value}")
    return notes


def _plan(
    options: Namespace, line: SubmitLine, settings: dict[str, str], master: str | None
) -> tuple[Plan, tuple[int, ...]]:
    """The plan, and what the driver inherits so that it holds its lease."""
    from hearth.machine.planner import plan

    for name, fixed in zip(("executors", "cores"), command.fixed_by_master(master), strict=True):
        given = getattr(options, name)
        if fixed is not None and given not in (None, fixed):
            raise UserError(f"--{name}: {given} contradicts the master {master}: give one of them")
        setattr(options, name, fixed if fixed is not None else given)
    conf = {key: value for key, value in settings.items() if key != "spark.master"}
    # Spark looks there first and would ignore the plan's directory.
    if os.environ.get("SPARK_LOCAL_DIRS"):
        conf["spark.local.dir"] = os.environ["SPARK_LOCAL_DIRS"]
    if options.when_full is not None:
        conf[_WHEN_FULL] = options.when_full
    request = plan_request(options, conf, None)
    if options.dry_run:
        return plan(request, options.debug), ()
    from hearth.spark.native_lease import offer

    name = Redaction.of(settings).text(settings.get("spark.app.name") or line.application[0])
    with offer(Path(name).name) as offered:
        words, inherits = (offered.words, offered.inherits) if offered else ((), ())
        found = plan(request, options.debug, words, inherits)
        return found, offered.settle() if offered else ()


def _waits(options: Namespace, settings: dict[str, str], plan: Plan) -> bool:
    """Whether one JVM is to wait until others have given back what it needs."""
    wanted = options.when_full or settings.get(_WHEN_FULL)
    full = any(reason.decision == "sharing" for reason in plan.reasons)
    return plan.is_native and wanted == "wait" and full


def _idle(options: Namespace, plan: Plan) -> list[str]:
    """Notes on executor options that have no effect, because the plan has no executors."""
    if not plan.is_native:
        return []
    asked = [f"--{name}" for name in ("unbound", "docker", "bind") if getattr(options, name)]
    remedy = "the plan is one JVM: fix executors, such as --executors 2"
    return [f"{name} has no effect, {remedy}" for name in asked]


def _additions(
    options: Namespace, settings: dict[str, str], plan: Plan, waiting: bool
) -> tuple[dict[str, str], Path | None]:
    """hearth's own settings and its jar; neither for a native plan, which is plain Spark."""
    if waiting:
        return {_WHEN_FULL: "wait"}, paths.hearth_jar()
    if plan.is_native:
        return {}, None
    from hearth.spark.plan_file import write_plan

    additions = {"spark.hearth.plan": str(write_plan(to_json(plan), paths.state_home()))}
    if options.hosts is not None:
        additions["spark.hearth.hosts"] = options.hosts
    if is_unbound(options):
        additions["spark.hearth.binding"] = "off"
    if options.bind == "package":
        additions[BINDING_SCOPE] = "package"
    if options.docker:
        additions["spark.hearth.launcher"] = "docker"
    if options.when_full is not None:
        additions[_WHEN_FULL] = options.when_full
    if plan.driver.bound and settings.get("spark.hearth.neighbours") != "ignore":
        # The driver plans again if somebody else has taken its CPUs by then.
        additions["spark.hearth.internal.cpus"] = show_ids(os.sched_getaffinity(0))
    return additions, paths.hearth_jar()


def _archives(
    options: Namespace,
    theirs: str,
    settings: dict[str, str],
    jar: Path | None,
    measured: bool,
) -> tuple[list[str], Callable[[], None] | None]:
    """The driver's flags for its class-data archive, and what makes a missing one later.

    theirs: the user's class path; an archive fits one class path only, so a user who adds to it
    starts without. Neither where the user wants none; a dry run makes none.
    """
    from hearth.spark import cds

    if not cds.is_wanted(settings, theirs):
        return [], None
    home = paths.spark_home()
    flags = cds.driver_flags(home, jar, make=measured, debug=options.debug)
    later = not (flags or measured or options.dry_run)
    if later and cds.is_missing(home, jar):
        return [], lambda: cds.make_afterwards(home, jar)
    return flags, None


def _archived_path(home: Path, jar: Path | None) -> str:
    from hearth.spark import cds

    return cds.class_path(home, jar)
