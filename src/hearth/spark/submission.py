"""Turn a command line of `hearth submit` into what runs: the plan, the settings, the command.

Shared by the commands that run an application; only the command prints and starts it.
"""

import glob
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from hearth.base.codec import to_json
from hearth.base.errors import UserError, nearest
from hearth.base.ids import parse_ids, show_ids
from hearth.base.private_files import replaceable
from hearth.base.redaction import Redaction
from hearth.machine import paths
from hearth.machine.jvm import offer
from hearth.machine.jvm import plan as planned
from hearth.machine.plan import BINDING, BINDING_SCOPE, Plan, Reason
from hearth.spark import cds, command, driver_log, named_files
from hearth.spark.conf import (
    user_deploy_mode,
    user_master,
    user_remote,
    variable_settings,
)
from hearth.spark.run_files import write_plan
from hearth.spark.submit_args import Option, SubmitLine, SubmitOptions, late_options

#: What stands for Spark's own programs where an application is named.
_NO_FILES = ("pyspark-shell", "spark-internal", "spark-shell", "sparkr-shell")
_PLUGINS = "spark.plugins"
_RECORDS = "io.hearth.plugin.OneJvm"
_WHEN_FULL = "spark.hearth.lease.whenFull"
_WIDTH = "spark.hearth.width"
_LATER = (
    "Spark will start faster next time: hearth makes class-data archives when this application is "
    "over, on idle CPU time"
)


@dataclass(frozen=True)
class Submission:
    """An application to run: command, the user's own settings, master, and plan if hearth plans.

    master is None if none was given and Spark takes its default. afterwards: called with the id of
    the process that is or becomes the application, where something is to be made when it is over.
    """

    launch: command.Launch
    settings: dict[str, str]
    master: str | None
    plan: Plan | None
    afterwards: Callable[[int], None] | None = None


@dataclass(frozen=True)
class Occasion:
    """The purpose of a submission.

    dry_run: nothing of it will run. measured: missing class-data archives are made first, so that
    the run is like all later ones; else they are made when it is over. debug: of the JVM side. log:
    the level that the user wants of the driver's log; quiet: whether only errors are to be seen.
    """

    dry_run: bool = False
    measured: bool = False
    log: str | None = None
    quiet: bool = False
    debug: bool = False


def prepare(
    line: SubmitLine,
    settings: Mapping[str, str],
    show_plan: Callable[[Plan], None],
    occasion: Occasion,
) -> Submission:
    """Plan if hearth plans, and compose the command; `show_plan` is called with the plan.

    settings: the user's, of `read_settings`. Raises UserError.
    """
    leave_reserved(line.planning)
    master = user_master(line, settings, os.environ)
    remote = user_remote(line, settings, os.environ)
    reason = command.pass_through_reason(line, master, remote)
    if reason is not None:
        here = line.application and user_deploy_mode(line, settings, os.environ) == "client"
        asked = here and (occasion.log or occasion.quiet)
        log = _log_flags(occasion, line, settings) if asked else []
        passed = command.passed_through(_spark_submit(), line, reason, settings, log)
        passed.notes.extend(late_options(line.application))
        return Submission(passed, dict(settings), master, None)
    return _planned(*_checked(line, settings, master), show_plan, occasion)


def plan_of(line: SubmitLine, settings: Mapping[str, str], debug: bool = False) -> Plan | None:
    """Return the plan by which a line would run; None where hearth does not plan it."""
    leave_reserved(line.planning)
    master = user_master(line, settings, os.environ)
    remote = user_remote(line, settings, os.environ)
    if command.pass_through_reason(line, master, remote) is not None:
        return None
    line, known, _ = _checked(line, settings, master)
    return _plan(line, known, Occasion(dry_run=True, debug=debug))[0]


def make_ready(line: SubmitLine, settings: Mapping[str, str], debug: bool = False) -> None:
    """Make what the first measured run of a line would: class-data archives. No lease is taken: the
    runs would share the machine with it.
    """
    plan = plan_of(line, settings, debug)
    if plan is None:
        return
    check_application(line.application[0])
    theirs = command.users_class_path(line, settings)
    _archives(Occasion(measured=True, debug=debug), theirs, settings, _first_jar(plan))


def _checked(
    line: SubmitLine, settings: Mapping[str, str], master: str | None
) -> tuple[SubmitLine, dict[str, str], list[str]]:
    """Return line, settings and notes for the user, with what master and variables set."""
    paths.check_spark(paths.spark_home())
    _check(line, settings)
    check_local_dirs(settings, os.environ)
    line = replace(line, planning=command.sized_by_master(line.planning, master))
    return _with_variables(line, settings)


def _planned(
    line: SubmitLine,
    settings: dict[str, str],
    notes: list[str],
    show_plan: Callable[[Plan], None],
    occasion: Occasion,
) -> Submission:
    """Return the submission of what hearth plans, on the one machine that this is."""
    log = _log_flags(occasion, line, settings)
    plan, inherited = _plan(line, settings, occasion)
    check_application(line.application[0])
    check_py_files(line)
    show_plan(plan)
    additions = _additions(line.planning, settings, plan)
    is_wired = settings.get("spark.shuffle.manager") == paths.WIRE_SHUFFLE_MANAGER
    wire = paths.wire_jar() if is_wired else None
    jar = paths.hearth_jar()
    first = _first_jar(plan)
    theirs = command.users_class_path(line, settings)
    flags, afterwards = _archives(occasion, theirs, settings, first)
    if afterwards and first and "spark.hearth.classDataArchive" not in settings:
        # Its executors would write theirs before the application may end.
        additions["spark.hearth.classDataArchive"] = "false"
    before = cds.class_path(paths.spark_home(), first) if flags else theirs
    path = command.class_path(before, None if flags and jar == first else jar, wire)
    path = path or (before if flags else "")
    flags = [*flags, *log]
    launch = command.composed(_spark_submit(), line, settings, plan, additions, path, flags)
    variables, other = python_of_application(settings, os.environ)
    launch.environment.update(variables)
    notes = [*notes, other] if other and line.is_python else notes
    notes = [*notes, *_notes(line, plan)]
    later = [_LATER] if afterwards and cds.is_news(paths.spark_home(), first) else []
    launch.notes.extend([*notes, *later])
    launch = replace(launch, inherited=inherited)
    return Submission(launch, settings, plan.master, plan, afterwards)


def _log_flags(occasion: Occasion, line: SubmitLine, settings: Mapping[str, str]) -> list[str]:
    path = command.users_class_path(line, settings)
    return driver_log.log_flags(occasion.log, settings, path, quiet=occasion.quiet)


def leave_reserved(options: SubmitOptions) -> None:
    """Leave the CPUs that the user reserves: this process and all that it starts run on the others,
    and the machine is planned without them.

    Raises UserError for CPUs that it may not use anyway, or if none would be left.
    """
    if options.reserve_cpus is None:
        return
    allowed = os.sched_getaffinity(0)
    try:
        reserved = {*parse_ids(options.reserve_cpus.replace(" ", ""))}
    except ValueError:
        form = "give a list such as 0-1,8"
        raise UserError(f"--reserve-cpus: '{options.reserve_cpus}' names no CPUs: {form}") from None
    if not reserved or not allowed - reserved:
        shown = show_ids(allowed)
        raise UserError(
            f"--reserve-cpus: '{options.reserve_cpus}' leaves none of CPUs {shown}: give fewer"
        )
    os.sched_setaffinity(0, allowed - reserved)


def _spark_submit() -> Path:
    return paths.spark_home() / "bin" / "spark-submit"


def _check(line: SubmitLine, settings: Mapping[str, str]) -> None:
    if not line.application:
        raise UserError("no application given: name a jar or a Python file")
    mode = user_deploy_mode(line, settings, os.environ)
    if mode != "client":
        raise UserError(
            f"--deploy-mode: '{mode}' needs a cluster, but hearth runs the driver here: "
            "leave it out"
        )
    if "spark.hearth.plan" in settings:
        raise UserError(
            f"spark.hearth.plan: '{settings['spark.hearth.plan']}' is already a plan and hearth "
            "submit makes its own: leave the key out, or use spark-submit"
        )


def check_application(application: str) -> None:
    """Raise UserError for a file that is not there: Spark says so seconds later, in many lines."""
    path = application.removeprefix("file:")
    if ":" in path or application in _NO_FILES or Path(path).is_file():
        return
    folder = Path(path).absolute().parent
    files = [file.name for file in folder.iterdir()] if folder.is_dir() else []
    near = nearest(Path(path).name, files)
    hint = f"did you mean '{Path(path).with_name(near)}'?" if near else "correct its name"
    raise UserError(f"'{application}': no such file in '{folder}': {hint}")


def check_py_files(line: SubmitLine) -> None:
    """Raise UserError for one of --py-files that is not there, as for the application."""
    for file in filter(None, (line.last("--py-files") or "").split(",")):
        if not glob.has_magic(file):
            check_application(file)


def _with_variables(
    line: SubmitLine, settings: Mapping[str, str]
) -> tuple[SubmitLine, dict[str, str], list[str]]:
    """Add what environment variables set to line and settings; return notes for the user too."""
    from_variables = variable_settings(settings, os.environ)
    moved = {key: of for key, of in from_variables.items() if key.startswith("spark.executor.")}
    line = line.adding(*(Option("--conf", f"{key}={value}") for key, (_, value) in moved.items()))
    notes = [f"{name}={value} becomes {key}={value}" for key, (name, value) in moved.items()]
    return line, {**settings, **{key: value for key, (_, value) in from_variables.items()}}, notes


def _plan(
    line: SubmitLine, settings: Mapping[str, str], occasion: Occasion
) -> tuple[Plan, tuple[int, ...]]:
    """Return the plan, and what the driver inherits so that it holds its lease."""
    conf = {key: value for key, value in settings.items() if key != "spark.master"}
    # Spark looks there first and would ignore the plan's directory.
    if os.environ.get("SPARK_LOCAL_DIRS"):
        conf["spark.local.dir"] = os.environ["SPARK_LOCAL_DIRS"]
    if line.planning.when_full is not None:
        conf[_WHEN_FULL] = line.planning.when_full
    if line.planning.width is not None:
        conf[_WIDTH] = line.planning.width
    line, named = _with_named_files(line, conf)
    request = line.planning.plan_request(conf, python=line.is_python).document()
    if occasion.dry_run:
        return _saying(planned(request, occasion.debug), named), ()
    name = Redaction.of(settings).text(settings.get("spark.app.name") or line.application[0])
    with offer(Path(name).name) as offered:
        plan = planned(request, occasion.debug, offered.words, offered.inherits)
        return _saying(plan, named), offered.settle()


def _with_named_files(line: SubmitLine, conf: Mapping[str, str]) -> tuple[SubmitLine, list[Reason]]:
    """Add the size of the input that the arguments name, unless the user gives it; say why."""
    if line.planning.input is not None or "spark.hearth.input" in conf:
        return line, []
    size = named_files.large_input(line.application[1:])
    if size is None:
        return line, []
    options = replace(line.planning, input=f"{size}b")
    return replace(line, planning=options), [named_files.reason(size)]


def _saying(plan: Plan, more: list[Reason]) -> Plan:
    return replace(plan, reasons=[*plan.reasons, *more])


def _notes(line: SubmitLine, plan: Plan) -> list[str]:
    named = [f"input {r.value}: {r.because}" for r in plan.reasons if r.decision == "input"]
    return [*named, *_idle(line.planning, plan), *late_options(line.application)]


def _idle(options: SubmitOptions, plan: Plan) -> list[str]:
    """Return notes on executor options that have no effect, because the plan has no executors."""
    if not plan.is_native:
        return []
    idle = [name for name in ("--docker", "--bind") if name in options.given]
    remedy = "the plan is one JVM: fix executors, such as --executors 2"
    return [f"{name} has no effect: {remedy}" for name in idle]


def _additions(options: SubmitOptions, settings: Mapping[str, str], plan: Plan) -> dict[str, str]:
    """Return hearth's own settings: the planner's, and those of the user's options."""
    width = {} if options.width is None else {_WIDTH: options.width}
    if plan.is_native:
        return {**_one_jvm(settings, plan), **width, **(plan.launch or {})}
    file = write_plan(to_json(plan), paths.state_home())
    additions = {"spark.hearth.plan": str(file), **width, **(plan.launch or {})}
    if options.hosts is not None:
        additions["spark.hearth.hosts"] = options.hosts
    if options.bind == "none":
        additions[BINDING] = "off"
    if options.bind == "package":
        additions[BINDING_SCOPE] = "package"
    if options.docker:
        additions["spark.hearth.launcher"] = "docker"
    if options.when_full is not None:
        additions[_WHEN_FULL] = options.when_full
    if plan.driver.bound and settings.get("spark.hearth.neighbours") != "ignore":
        # The driver plans again if somebody else has taken its CPUs by then.
        additions["spark.hearth.internal.cpus"] = show_ids(os.sched_getaffinity(0))
    return additions


def _one_jvm(settings: Mapping[str, str], plan: Plan) -> dict[str, str]:
    """Return what shows and keeps one JVM of plain Spark: `local-numa` does so itself.

    A failure of it is one warning; the user's own plugins come first.
    """
    if plan.master.startswith("local-numa"):
        return {}
    theirs = [name for name in settings.get(_PLUGINS, "").split(",") if name.strip()]
    return {_PLUGINS: ",".join([*theirs, _RECORDS])}


def _first_jar(plan: Plan) -> Path | None:
    """Return hearth's jar where an archive has it; `local[n]` starts from plain Spark's archive,
    which has the classes of tasks as well.
    """
    return paths.hearth_jar() if plan.master.startswith("local-numa") else None


def _archives(
    occasion: Occasion, theirs: str, settings: Mapping[str, str], jar: Path | None
) -> tuple[list[str], Callable[[int], None] | None]:
    """Return the driver's flags for its class-data archive, and what makes a missing one later.

    theirs: the user's class path; an archive fits one class path only, so a user who adds to it
    starts without. Neither where the user wants none; a dry run makes none.
    """
    if not cds.is_wanted(settings, theirs):
        return [], None
    home = paths.spark_home()
    flags = cds.driver_flags(home, jar, make=occasion.measured, debug=occasion.debug)
    later = not (flags or occasion.measured or occasion.dry_run)
    if later and cds.is_missing(home, jar):
        return [], partial(cds.make_afterwards, home, jar)
    return flags, None


def check_local_dirs(settings: Mapping[str, str], environment: Mapping[str, str]) -> None:
    """Raise UserError for the first directory for shuffle files that is not writable and cannot be
    made, or in which others could replace an application's files: the driver would end with stack
    traces.

    Spark takes SPARK_LOCAL_DIRS before spark.local.dir (Utils.getConfiguredLocalDirs of Spark 4.3).
    """
    for source, value in (
        ("SPARK_LOCAL_DIRS", environment.get("SPARK_LOCAL_DIRS")),
        ("spark.local.dir", settings.get("spark.local.dir")),
    ):
        if value:
            for name in filter(None, value.split(",")):
                _check_local_dir(source, Path(name))
            return


def _check_local_dir(source: str, wanted: Path) -> None:
    """Raise UserError if the directory or its nearest existing parent is unfit; create nothing."""
    path = Path.cwd() / wanted
    nearest = next(one for one in (path, *path.parents) if os.path.lexists(one))
    if not nearest.is_dir():
        problem = f"'{nearest}' is not a directory"
    elif not os.access(nearest, os.W_OK | os.X_OK):
        problem = f"'{nearest}' cannot be written"
    elif not (problem := replaceable(path / "hearth")):
        return
    raise UserError(f"{source}: cannot use '{wanted}': {problem}; choose writable directories")


_PYTHON_VARIABLES = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
_PYTHON_KEYS = ("spark.pyspark.python", "spark.pyspark.driver.python")
#: What an activated environment sets (venv; conda).
_ACTIVATED = ("VIRTUAL_ENV", "CONDA_PREFIX")


def python_of_application(
    settings: Mapping[str, str], environment: Mapping[str, str]
) -> tuple[dict[str, str], str]:
    """Return variables that make Spark take the user's Python, and a line where it is another's.

    An activated environment comes before the first python3 of the path, and that before hearth's
    own, which may be in an environment of its own (`uv tool install`, pipx) without what the
    application imports. Nothing, where the user has told Spark which to take.
    """
    if any(environment.get(name) for name in _PYTHON_VARIABLES) or any(
        key in settings for key in _PYTHON_KEYS
    ):
        return {}, ""
    for name in _ACTIVATED:
        if environment.get(name):
            python3 = shutil.which("python3", path=f"{environment[name]}/bin")
            if python3:
                return _chosen(python3, f"the environment in {name}")
    on_path = shutil.which("python3", path=environment.get("PATH"))
    return _chosen(on_path or sys.executable, "the first python3 of the PATH")


def _chosen(python: str, why: str) -> tuple[dict[str, str], str]:
    """Return the setting for a Python, and a line to show unless it is hearth's own.

    Environments are told apart by folder: the file is usually a link to the same Python.
    """
    own = Path(sys.executable)
    if os.path.realpath(Path(python).parent) == os.path.realpath(own.parent):
        return {"PYSPARK_PYTHON": str(own)}, ""
    line = f"the application runs in {python} ({why}), not in hearth's own Python: "
    return {"PYSPARK_PYTHON": python}, line + "PYSPARK_PYTHON chooses another"
