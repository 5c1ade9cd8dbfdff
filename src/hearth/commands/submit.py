"""Runs an application like spark-submit, planned for this machine and bound to it.

A drop-in for spark-submit: everything that it takes may be given, before the application as
ever, and goes through untouched; what follows the application is the application's own.
hearth's own options may stand anywhere before the application. The plan is printed on standard
error in five lines; the exit code is the application's.

With no --master, or with one of the forms local-numa, local-numa[4] (executors) and
local-numa[4x12] (executors x cores), hearth plans. Any other master is yours: hearth then only
passes the command on to spark-submit.

examples:
  hearth submit my_job.py
  hearth submit --input 200g --workload sql my_job.py --date 2026-11-21
  hearth submit --executors 4 --memory 20g --class org.example.Job job.jar
  hearth submit --master 'local-numa[4x12]' --conf spark.sql.shuffle.partitions=96 my_job.py
  hearth submit --dry-run my_job.py
"""

import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from hearth.launch import compose
from hearth.launch.arguments import SubmitLine, split_line
from hearth.launch.local_dirs import check_local_dirs
from hearth.launch.settings import check_spark, user_master, user_settings
from hearth.model.errors import UserError
from hearth.planner import places
from hearth.planner.request import KINDS, add_workload_arguments, plan_request


def add_arguments(parser: ArgumentParser) -> None:
    """The command's own options; those of spark-submit are told apart in `hearth.launch`."""
    parser.usage = "hearth submit [options of hearth or spark-submit] APPLICATION [its arguments]"
    add_workload_arguments(parser)
    parser.add_argument(
        "--hosts",
        choices=("node", "machine"),
        help="what a host is to Spark: each NUMA node (default), or the machine",
    )
    parser.add_argument(
        "--unbound", action="store_true", help="start the executors unbound, for comparison"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="print the exact command, run nothing"
    )


def parse(parser: ArgumentParser, words: list[str]) -> Namespace:
    """The options, with the whole command line beside them."""
    line = split_line(words)
    options = parser.parse_args(line.hearth)
    options.line = line
    return options


def run(options: Namespace) -> int:
    """Becomes spark-submit, whose exit code is the application's; a dry run comes back."""
    launch = _launch(options, options.line)
    for note in launch.notes:
        print(f"hearth: {note}", file=sys.stderr)
    if not options.dry_run:
        sys.stderr.flush()
        os.execvpe(launch.command[0], launch.command, {**os.environ, **launch.environment})
    print(launch.shell_text())
    return 0


def _launch(options: Namespace, line: SubmitLine) -> compose.Launch:
    home = places.spark_home()
    spark_submit = home / "bin" / "spark-submit"
    settings = user_settings(line, home)
    master = user_master(line, settings)
    reason = compose.pass_through_reason(line, master)
    if reason is not None:
        return compose.passed_through(spark_submit, line, reason)
    check_spark(home)
    _check(line, settings)
    check_local_dirs(settings, os.environ)
    plan = _plan(options, settings, master)
    additions, jar = _additions(options, plan)
    flags = _driver_flags(options, line, settings, jar)
    launch = compose.composed(spark_submit, line, settings, plan, additions, jar, flags)
    launch.environment.update(_python(settings))
    return launch


def _check(line: SubmitLine, settings: dict[str, str]) -> None:
    if not line.application:
        raise UserError("no application is given: name a jar or a Python file")
    mode = line.last("--deploy-mode") or settings.get("spark.submit.deployMode", "client")
    if mode != "client":
        raise UserError(
            f"--deploy-mode: '{mode}' needs a cluster; here the driver runs locally: leave it out"
        )
    if "spark.hearth.plan" in settings:
        raise UserError(
            f"spark.hearth.plan: '{settings['spark.hearth.plan']}' is a plan already and hearth "
            "submit makes its own: leave the key out, or use spark-submit"
        )


def _plan(options: Namespace, settings: dict[str, str], master: str | None) -> dict[str, Any]:
    from hearth.planner import jvm
    from hearth.report.plan import show_plan_briefly

    for name, fixed in zip(("executors", "cores"), compose.fixed_by_master(master), strict=True):
        given = getattr(options, name)
        if fixed is not None and given not in (None, fixed):
            raise UserError(f"--{name}: {given} contradicts the master {master}: give one of them")
        setattr(options, name, fixed if fixed is not None else given)
    _from_settings(options, settings)
    conf = {key: value for key, value in settings.items() if key != "spark.master"}
    plan = jvm.call("plan", request=plan_request(options, conf, None), debug=options.debug)
    print("\n".join(show_plan_briefly(plan)), file=sys.stderr)
    return plan


def _from_settings(options: Namespace, settings: dict[str, str]) -> None:
    """The keys of hearth that say what its options say."""
    options.input = options.input or settings.get("spark.hearth.input")
    options.workload = options.workload or settings.get("spark.hearth.workload")
    if options.workload not in (None, *KINDS):
        known = ", ".join(KINDS)
        raise UserError(f"spark.hearth.workload: '{options.workload}' is unknown: use {known}")


def _additions(options: Namespace, plan: dict[str, Any]) -> tuple[dict[str, str], Path | None]:
    """hearth's own settings and its jar; none for a native plan, which is plain Spark."""
    if plan["mode"] == "native":
        return {}, None
    from hearth.launch.plan_file import write_plan

    additions = {"spark.hearth.plan": str(write_plan(plan, places.state_home()))}
    if options.hosts is not None:
        additions["spark.hearth.hosts"] = options.hosts
    if options.unbound:
        additions["spark.hearth.binding"] = "off"
    return additions, places.hearth_jar()


def _driver_flags(
    options: Namespace, line: SubmitLine, settings: dict[str, str], jar: Path | None
) -> list[str]:
    """For the driver's class-data archive, unless the user wants none; a dry run makes none."""
    if jar is None or settings.get("spark.hearth.classDataArchive", "true").lower() != "true":
        return []
    from hearth.launch.driver_archive import driver_flags

    path = compose.class_path(line, settings, jar)
    return driver_flags(
        places.spark_home(), path, jar, make=not options.dry_run, debug=options.debug
    )


def _python(settings: dict[str, str]) -> dict[str, str]:
    """Python workers run the Python that runs hearth, unless the user chose one."""
    chosen = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
    keys = ("spark.pyspark.python", "spark.pyspark.driver.python")
    if any(os.environ.get(name) for name in chosen) or any(key in settings for key in keys):
        return {}
    return {"PYSPARK_PYTHON": sys.executable}
