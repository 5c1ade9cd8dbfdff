"""One run of a job: the command, the process, the document that it leaves, the verdict on it.

Under `local-numa` the job goes through `hearth submit`, under any other master through plain
spark-submit: what is measured is what a user would run.
"""

import contextlib
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hearth.base.codec import load_document
from hearth.base.progress import working
from hearth.machine import paths
from hearth.spark.children import run_child
from hearth.workloads import catalogue, logs
from hearth.workloads.checks import FinishedRun, Verdict
from hearth.workloads.shapes import JobResult
from hearth.workloads.source import DataServer, events_of

#: What `hearth submit --workload` calls the families of jobs.
KINDS = {"core": "etl", "ml": "ml", "graph": "graph", "sql": "sql", "streaming": "etl"}
_LAST_LINES = 15


@dataclass(frozen=True)
class JobRequest:
    """A request to run a workload.

    parameters: of the job, those that the user chose. data: the directory of each input.
    data_bytes: their size together, for the plan. conf: Spark settings of the user's.
    """

    job: catalogue.Job
    master: str
    parameters: dict[str, str]
    data: dict[str, Path]
    data_bytes: int
    conf: dict[str, str] = field(default_factory=dict)
    #: Of the events of a streaming job's source, and the port that they come from (0: any).
    seed: int = 1
    port: int = 0
    #: What runs it in place of spark-submit or `hearth submit`, such as `hearth profile`.
    program: tuple[str, ...] = ()
    #: Whether `hearth submit` gets the kind of work and the size of its input.
    hinted: bool = True

    def value(self, name: str) -> str:
        """Return a parameter's value: the user's choice, else the job's default."""
        defaults = {p.name: p.default for p in self.job.parameters}
        return self.parameters.get(name, defaults[name])


@dataclass(frozen=True)
class Checked:
    """A finished run: its document, the verdict on its answer, seconds from start to end."""

    result: dict[str, Any]
    verdict: Verdict
    wall_s: float


class RunError(Exception):
    """The job failed: the message is the reason in one line; `tail` its last lines."""

    def __init__(self, reason: str, tail: list[str], log: Path | None = None) -> None:
        super().__init__(reason if log is None else f"{reason} (log: {log})")
        self.reason, self.tail = reason, tail

    def with_log(self, log: Path) -> "RunError":
        """Return the same, with the place where the whole log was kept."""
        return RunError(self.reason, self.tail, log)


def run(request: JobRequest, folder: Path) -> Checked:
    """Run a job once, in an empty directory of its own, and check its answer.

    Raises RunError where it ends with an error or leaves no result.
    """
    result, log = folder / "result.json", folder / "log"
    start = time.perf_counter()
    running = f"{request.job.name} runs on {request.master}"
    with _source(request, folder) as source, working(running):
        code = run_child(command(request, folder, source.parameters), {}, log)
    wall = time.perf_counter() - start
    if code or not result.is_file():
        raise _failed(code, log)
    try:
        document = load_document(result, JobResult)
    except (OSError, ValueError) as error:
        left = f"left a result that cannot be read: {error}"
        raise RunError(left, logs.lines_of(log)[-_LAST_LINES:]) from error
    if request.job.stream is not None and not source.data:
        reason = "its events came from your own source"
        return Checked(document, Verdict("unchecked", reason), wall)
    finished = FinishedRun(
        job=request.job.name,
        parameters=document["parameters"],
        data={**request.data, **source.data},
        answer=folder / "answer",
        result=document,
    )
    from hearth.workloads.checks.registry import check  # loads numpy: naming a workload does not

    with working("checking its answer"):
        return Checked(document, check(finished), wall)


@dataclass(frozen=True)
class _Source:
    """A streaming job's source parameters, and the log of events for its check."""

    parameters: dict[str, str] = field(default_factory=dict)
    data: dict[str, Path] = field(default_factory=dict)


@contextlib.contextmanager
def _source(request: JobRequest, folder: Path) -> Iterator[_Source]:
    """Run the data server of a streaming job for as long as the job runs."""
    if request.job.stream is None or "source" in request.parameters:
        yield _Source()
        return

    values = {p.name: request.value(p.name) for p in request.job.parameters}
    log = folder / "stream.log"
    rate, events = int(values["rate"]), events_of(values)
    with DataServer(request.job.stream, rate, events, request.seed, log, request.port) as server:
        addresses = {"source": server.source, "control": server.control}
        yield _Source(addresses, {"stream": log})


def command(request: JobRequest, folder: Path, extra: dict[str, str] | None = None) -> list[str]:
    """Return the whole command line.

    Extra: parameters that the run itself adds, such as the source.
    """
    settings = {
        "spark.app.name": request.job.name,
        "spark.ui.enabled": "false",
        "spark.log.level": "WARN",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        **request.conf,
    }
    confs = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    data = [word for name, path in request.data.items() for word in ("--data", f"{name}={path}")]
    parameters = {**request.parameters, **(extra or {})}
    files = ["--answer", str(folder / "answer"), "--result", str(folder / "result.json")]
    chosen = [word for key, value in parameters.items() for word in (f"--{key}", value)]
    job = [str(paths.workloads_jar()), "run", request.job.name, *data, *files, *chosen]
    return [*_program(request), *confs, "--class", catalogue.MAIN, *job]


def _program(request: JobRequest) -> list[str]:
    master = ["--master", request.master]
    if not request.master.startswith("local-numa"):
        plain = [str(paths.spark_home() / "bin" / "spark-submit")]
        return [*(request.program or plain), *master]
    workload = ["--workload", KINDS[request.job.family]]
    size = ["--input", f"{request.data_bytes}b"] if request.data_bytes else []
    hints = [*workload, *size] if request.hinted else []
    submit = [sys.executable, "-m", "hearth", "submit"]
    return [*(request.program or submit), *master, *hints]


def _failed(code: int, log: Path) -> RunError:
    lines = logs.lines_of(log)
    ended = f"ended with {code}" if code else "left no result"
    return RunError(f"{ended}: {logs.reason(lines)}", lines[-_LAST_LINES:])
