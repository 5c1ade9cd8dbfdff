"""One run of a job: the command, the process, the document that it leaves, the verdict on it.

Under `local-numa` the job goes through `hearth submit`, under any other master through plain
spark-submit: what is measured is what a user would run.
"""

import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hearth.bench import catalogue
from hearth.bench.checks import FinishedRun, Verdict
from hearth.bench.checks.registry import check
from hearth.launch.children import run_child
from hearth.planner import places

#: What `hearth submit --workload` calls the families of jobs.
_WORKLOADS = {"core": "etl", "ml": "ml", "graph": "graph", "sql": "sql", "streaming": "etl"}
_LAST_LINES = 15
_REASON_LENGTH = 300


@dataclass(frozen=True)
class Request:
    """What to run.

    parameters: of the job, those that the user chose. data: the directory of each input.
    data_bytes: their size together, for the plan. conf: Spark settings of the user's.
    """

    job: catalogue.Job
    master: str
    parameters: dict[str, str]
    data: dict[str, Path]
    data_bytes: int
    conf: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """A finished run: its document, the verdict on its answer, seconds from start to end."""

    result: dict[str, Any]
    verdict: Verdict
    wall_s: float


class RunError(Exception):
    """The job did not end well: the message is its reason in one line; `tail` its last lines."""

    def __init__(self, reason: str, tail: list[str], log: Path | None = None) -> None:
        super().__init__(reason if log is None else f"{reason} (log: {log})")
        self.reason, self.tail = reason, tail

    def with_log(self, log: Path) -> "RunError":
        """The same, with the place where the whole log was kept."""
        return RunError(self.reason, self.tail, log)


def run(request: Request, folder: Path) -> Outcome:
    """Runs a job once, in an empty directory of its own, and checks its answer.

    Raises RunError where it ends with an error or leaves no result.
    """
    result, log = folder / "result.json", folder / "log"
    start = time.perf_counter()
    code = run_child(command(request, folder), {}, log)
    wall = time.perf_counter() - start
    if code or not result.is_file():
        raise _failed(code, log)
    document = json.loads(result.read_text(encoding="utf-8"))
    finished = FinishedRun(
        job=request.job.name,
        parameters=document["parameters"],
        data=request.data,
        answer=folder / "answer",
        result=document,
    )
    return Outcome(document, check(finished), wall)


def command(request: Request, folder: Path) -> list[str]:
    """The whole command line; what the user set comes last, so it counts."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.log.level": "WARN",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        **request.conf,
    }
    confs = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    data = [word for name, place in request.data.items() for word in ("--data", f"{name}={place}")]
    files = ["--answer", str(folder / "answer"), "--result", str(folder / "result.json")]
    chosen = [word for key, value in request.parameters.items() for word in (f"--{key}", value)]
    job = [str(catalogue.workloads_jar()), "run", request.job.name, *data, *files, *chosen]
    return [*_program(request), *confs, "--class", catalogue.MAIN, *job]


def _program(request: Request) -> list[str]:
    if not request.master.startswith("local-numa"):
        return [str(places.spark_home() / "bin" / "spark-submit"), "--master", request.master]
    workload = ["--workload", _WORKLOADS[request.job.family]]
    size = ["--input", f"{request.data_bytes}b"] if request.data_bytes else []
    submit = [sys.executable, "-m", "hearth", "submit", "--master", request.master]
    return [*submit, *workload, *size]


def _failed(code: int, log: Path) -> RunError:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    ended = f"ended with {code}" if code else "left no result"
    return RunError(f"{ended}: {reason(lines)}", lines[-_LAST_LINES:])


def reason(lines: list[str]) -> str:
    """The line of a log that says best why a run failed."""
    for mark in ("workloads: ", "hearth: "):
        said = [line.removeprefix(mark) for line in lines if line.startswith(mark)]
        if said and lines and lines[-1].startswith(mark):
            return said[-1]
    causes = [line for line in lines if line.startswith(("Caused by: ", "Exception in thread "))]
    memory = [line for line in lines if "OutOfMemoryError" in line]
    other = [line for line in lines if "Error" in line or "Exception" in line]
    for found in (memory[:1], causes[-1:], other[:1], lines[-1:]):
        if found:
            return found[0].strip()[:_REASON_LENGTH]
    return "it says nothing"
