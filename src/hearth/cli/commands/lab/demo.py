"""Demonstrate hearth on this machine: topology, plan, comparison, a bound Spark job, its proof.

Generates TPC-H data; runs three of its queries and a word count by spark-submit under local[*] and
by hearth submit as it plans here, and says which was faster; runs them on bound executors, and says
where the kernel has these. Exits with 1 if that is not as planned, or the answers differ.

examples:
  hearth lab demo
  hearth lab demo --scale 0.2 --keep
  hearth lab demo --rounds 1
"""

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from hearth import api, demo
from hearth.base.errors import UserError
from hearth.base.private_files import private_directory
from hearth.base.temporary import working_directory
from hearth.cli.commands import status
from hearth.demo.data import generate
from hearth.machine import paths
from hearth.machine.applications import last_placement, read_applications
from hearth.machine.plan import Plan
from hearth.report.kinds import show_document
from hearth.report.terminal.plan import show_plan
from hearth.report.terminal.screen import Screen
from hearth.report.terminal.topology import show_topology
from hearth.spark.children import run_child

_MOST_ROUNDS = 20
_LARGEST_SCALE = 100.0
_LAST_LINES = 15


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's options."""
    scale_help = "TPC-H scale factor: about as many GB (default: 0.05)"
    parser.add_argument("--scale", type=float, default=0.05, metavar="F", help=scale_help)
    rounds_help = f"measured runs of each arm, at most {_MOST_ROUNDS} (default: 2)"
    parser.add_argument("--rounds", type=int, default=2, metavar="N", help=rounds_help)
    parser.add_argument("--keep", action="store_true", help="keep data, logs and results")


def run(options: Namespace) -> int:
    """Run everything and show it; return 0 if every check holds, else 1."""
    _check(options.scale, options.rounds)
    plan = _show_machine_and_plan()
    with working_directory(options.keep, "hearth-demo-") as folder:
        _title("Data")
        print(f"  {generate(folder, options.scale)}", flush=True)
        _prepare(folder / "state")
        good = _demonstrate(folder, plan, options.rounds)
        if options.keep:
            print(f"\nkept in {folder}")
    print("\nAll checks hold." if good else "\nA check failed: see above.")
    return 0 if good else 1


def _check(scale: float, rounds: int) -> None:
    if not 0.0 < scale <= _LARGEST_SCALE:
        limit = f"above 0, at most {_LARGEST_SCALE:g}"
        raise UserError(f"--scale: {scale} is out of range: give a number {limit}")
    if not 1 <= rounds <= _MOST_ROUNDS:
        limit = f"from 1 to {_MOST_ROUNDS}"
        raise UserError(f"--rounds: {rounds} is out of range: give a number {limit}")
    paths.check_spark(paths.spark_home())


def _title(text: str) -> None:
    print(f"\n{Screen.of().title(text)}\n", flush=True)


def _show_machine_and_plan() -> Plan:
    screen, machine = Screen.of(), api.topology()
    _title("This machine (hearth topology)")
    print("\n".join(show_topology(machine, screen)))
    plan = api.plan(workload="sql")
    _title("The plan for a SQL workload on it (hearth plan --workload sql)")
    print("\n".join(show_plan(plan, machine, screen)))
    return plan


def _demonstrate(folder: Path, plan: Plan, rounds: int) -> bool:
    job = [str(folder / name) for name in ("tables", "queries", "texts", "answers")]
    _compare(rounds, job)
    placed = _submit_bound(folder, plan, job)
    return _show_results(folder) and placed


def _prepare(state: Path) -> None:
    """Keep the user's own spark-defaults.conf and records out of this."""
    # At a place that stays: a class-data archive fits one path of Spark's configuration.
    nothing = private_directory(paths.cache_home() / "no-configuration")
    os.environ.update(
        HEARTH_STATE=str(state), SPARK_CONF_DIR=str(nothing), PYSPARK_PYTHON=sys.executable
    )


def _program(job: list[str]) -> list[str]:
    return ["--conf", "spark.ui.enabled=false", str(Path(demo.__file__).with_name("job.py")), *job]


def _submit_bound(folder: Path, plan: Plan, job: list[str]) -> bool:
    """Run the job on bound executors, show their placement, and return whether it was planned."""
    words = ["--workload", "sql", *_shape(plan)]
    shown = f"hearth submit {' '.join(words)} ..."
    _title(f"Bound executors ({shown}) and their proof (hearth status APP)")
    if plan.is_native:
        words += ["--conf", "spark.hearth.classDataArchive=false"]  # no other run would use it
        print("  The plan above has none: this run shows only what binding is.\n", flush=True)
    log = folder / "submit.log"
    code = run_child([sys.executable, "-m", "hearth", "submit", *words, *_program(job)], {}, log)
    if code:
        last = log.read_text(errors="replace").splitlines()[-_LAST_LINES:]
        print("\n".join(f"    {line}" for line in last), file=sys.stderr)
        raise UserError(f"the bound run ended with {code}; see its last lines above")
    return _show_placement(folder / "state")


def _shape(plan: Plan) -> list[str]:
    """Return the words that fix bound executors: the plan's, or two where it has none."""
    cpus = len(os.sched_getaffinity(0))
    executors = min(2, cpus) if plan.is_native else len(plan.executors)
    cores = cpus // executors if plan.is_native else plan.executors[0].task_slots
    return ["--executors", str(executors), "--cores", str(cores)]


def _show_placement(state: Path) -> bool:
    (*_, application), _ = read_applications(state)  # the last one: compared ones may be bound too
    status.show(application.app_id, ended=True, as_json=False, debug=False)
    placement = last_placement(application)
    verdicts = {executor.verdict for executor in placement.executors} if placement else set()
    if "unbound" in verdicts:
        print("\n  Not bound: other applications hold these CPUs (hearth status --leases).")
    return bool(verdicts) and verdicts <= {"as planned", "unbound"}


def _compare(rounds: int, job: list[str]) -> None:
    _title("Is it faster here? spark-submit --master 'local[*]' and hearth submit (hearth compare)")
    *options, program = _program([])
    comparison = api.compare(
        program, *job, arms=("native", "plan"), repeat=rounds, warmup=0, options=options
    )
    print("\n".join(show_document(comparison, Screen.of())))
    print("\n  A few runs of seconds decide little. For your own job: hearth compare my_job.py")


def _show_results(folder: Path) -> bool:
    _title("Answers")
    runs: list[dict[str, Any]] = [
        json.loads(file.read_text()) for file in sorted((folder / "answers").iterdir())
    ]
    same = {name: all(run[name] == rows for run in runs) for name, rows in runs[0].items()}
    for name, is_same in sorted(same.items()):
        verdict = f"equal in all {len(runs)} runs" if is_same else "DIFFERENT"
        print(f"  {name:<6} {len(runs[0][name]):>5} rows  {verdict}")
    return all(same.values())
