"""The streaming jobs on real Spark, fed by the data server, held against a recount of its log."""

import contextlib
import dataclasses
import http.server
import json
import math
import os
import shlex
import socket
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark.java_gateway import launch_gateway
from spark_runs import damaged, submitting

from hearth.machine import paths as places
from hearth.report.terminal.workloads import line
from hearth.workloads import catalogue
from hearth.workloads.catalogue import MAIN
from hearth.workloads.checks import FinishedRun
from hearth.workloads.checks.registry import check
from hearth.workloads.logs import reason
from hearth.workloads.source import DataServer, events_of
from hearth.workloads.suites import suite
from support import PATIENCE_S, Command, confs, driver_settings, eventually

pytestmark = pytest.mark.spark

SETTINGS = {"rate": "300", "duration-s": "3", "ramp-up-s": "1", "batch-ms": "1000"}
WINDOWS = {"window-s": "3", "slide-s": "1"}
CLICKS = "streaming-click-"

#: Of each job its stream, and its settings beside SETTINGS.
JOBS: dict[str, tuple[str, dict[str, str]]] = {
    "streaming-network-word-count": ("text", {}),
    "streaming-network-grep": ("text", {}),
    "streaming-windowed-word-count": ("text", WINDOWS),
    "streaming-stateful-word-count": ("text", {}),
    "streaming-sql-word-count": ("text", {}),
    f"{CLICKS}error-rate-per-zip": ("clicks", WINDOWS),
    f"{CLICKS}page-counts": ("clicks", {}),
    f"{CLICKS}sliding-page-counts": ("clicks", WINDOWS),
    f"{CLICKS}active-user-count": ("clicks", WINDOWS),
    f"{CLICKS}popular-users-seen": ("clicks", {}),
    "streaming-popular-tags": ("tags", {**WINDOWS, "short-window-s": "1"}),
    "streaming-count-min-top-k": ("clicks", {}),
    "streaming-hll-unique-users": ("clicks", {}),
    "streaming-kmeans": ("points", {}),
    "streaming-linear-regression": ("labelled", {"iterations": "8"}),
    "streaming-logistic-regression": ("labelled", {"iterations": "8"}),
}
STRUCTURED = [
    *list(JOBS)[:8],
    f"{CLICKS}popular-users-seen",
    "streaming-hll-unique-users",
]
CASES = [*((job, "dstream") for job in JOBS), *((job, "structured") for job in STRUCTURED)]
#: A job takes some 10 s; one that hangs is ended after this long.
LIMIT_S = 240


def shell_words(folder: Path) -> list[str]:
    """Of a driver without a program, which has the jobs on its class path."""
    settings = driver_settings(places.spark_home(), None)
    own = [settings.get("spark.driver.extraClassPath"), str(places.workloads_jar())]
    settings |= {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.extraClassPath": ":".join(filter(None, own)),
    }
    return ["--master", "local[2]", *confs(settings), "pyspark-shell"]


class Spark:
    """A JVM that runs one job after another, each in a Spark application of its own."""

    def __init__(self, log: Path) -> None:
        self.log = log
        with log.open("w") as out:
            self._gateway = launch_gateway(popen_kwargs={"stdout": out, "stderr": out})

    def main(self, words: list[str]) -> None:
        """Runs the main class; ends the JVM where that takes longer than LIMIT_S."""
        array = self._gateway.new_array(self._gateway.jvm.java.lang.String, len(words))
        for i, word in enumerate(words):
            array[i] = word
        limit = threading.Timer(LIMIT_S, self._gateway.proc.kill)
        limit.start()
        try:
            getattr(self._gateway.jvm, MAIN).main(array)
        finally:
            limit.cancel()

    def close(self) -> None:
        """Closes its standard input, at which it ends; one that does not is killed."""
        try:
            self._gateway.proc.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            self._gateway.proc.kill()
            self._gateway.proc.communicate()


def run_words(job: str, server: DataServer, folder: Path, settings: dict[str, str]) -> list[str]:
    words = ["run", job, "--answer", str(folder / "answer"), "--result", str(folder / "result")]
    given = {**settings, "source": server.source, "control": server.control}
    return [*words, *(word for name, value in given.items() for word in (f"--{name}", value))]


def run_job(spark: Spark, folder: Path, job: str, settings: dict[str, str]) -> FinishedRun:
    stream, own = JOBS[job]
    settings = {**SETTINGS, **own, **settings}
    folder.mkdir()
    log = folder / "log"
    with DataServer(stream, int(settings["rate"]), events_of(settings), 5, log) as server:
        spark.main(run_words(job, server, folder, settings))
    result = json.loads((folder / "result").read_text(encoding="utf-8"))
    return FinishedRun(job, result["parameters"], {"stream": log}, folder / "answer", result)


def run_case(spark: Spark, folder: Path, case: tuple[str, str]) -> FinishedRun:
    job, api = case
    return run_job(spark, folder / f"{job}-{api}", job, {"api": api})


class Runs:
    """What each case came to; one that ended otherwise fails only the tests that ask for it."""

    def __init__(self) -> None:
        self._outcomes: dict[tuple[str, str], FinishedRun | str] = {}

    def __getitem__(self, case: tuple[str, str]) -> FinishedRun:
        outcome = self._outcomes[case]
        if isinstance(outcome, str):
            pytest.fail(f"{' by '.join(case)} did not end well: {outcome}", pytrace=False)
        return outcome

    def add(self, folder: Path, cases: list[tuple[str, str]]) -> None:
        """Runs the cases; in a JVM in which a job failed or hung runs no other."""
        with contextlib.ExitStack() as alive:
            spark = None
            for job, api in cases:
                spark = spark or alive.enter_context(
                    contextlib.closing(Spark(folder / f"spark-{job}-{api}.log"))
                )
                try:
                    self._outcomes[job, api] = run_case(spark, folder, (job, api))
                except (Py4JError, OSError) as error:
                    said = reason(spark.log.read_text(encoding="utf-8").splitlines())
                    self._outcomes[job, api] = f"{error}; last in the log: {said}"
                    alive.close()
                    spark = None


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Every job by every API."""
    folder, found = tmp_path_factory.mktemp("streams"), Runs()
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(2) as pool:
        patch.setenv("PYSPARK_SUBMIT_ARGS", shlex.join(shell_words(folder)))
        halves = [CASES[0::2], CASES[1::2]]
        for half in [pool.submit(found.add, folder, cases) for cases in halves]:
            half.result()
    return found


Change = Callable[[list[dict[str, Any]]], Any]


def changed(run: FinishedRun, folder: Path, change: Change) -> FinishedRun:
    """The run with a change to the list of its answers."""

    def damage(answer: Path) -> None:
        file = answer / "batches.jsonl"
        answers = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        change(answers)
        file.write_text("".join(json.dumps(a) + "\n" for a in answers), encoding="utf-8")

    return damaged(run, folder, damage)


def spoil_a_number(value: Any) -> bool:
    """Makes the first number inside half as large again, and one more; says if there was one."""
    places = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(places):
        if key in ("id", "window_ms"):
            continue
        if isinstance(inner, int | float):
            value[key] = type(inner)(inner * 1.5 + 1)
            return True
        if isinstance(inner, dict | list) and spoil_a_number(inner):
            return True
    return False


def spoil_the_last_number(answers: list[dict[str, Any]]) -> None:
    known = [answer for answer in reversed(answers) if spoil_a_number(answer)][:1]
    assert known


@pytest.mark.parametrize(("job", "api"), CASES)
def test_no_event_is_lost_or_counted_twice(job: str, api: str, runs: Any) -> None:
    run = runs[job, api]
    streaming = run.result["streaming"]
    assert streaming["api"] == api
    # A machine that stands still for more than a second makes the server drop some: it says so.
    assert streaming["events_processed"] + streaming["unsent"] == 1200
    verdict = check(run)
    assert verdict.status == "checked", verdict.detail


@pytest.mark.parametrize(("job", "api"), CASES)
def test_a_wrong_number_in_the_answer_is_found(
    job: str, api: str, runs: Any, tmp_path: Path
) -> None:
    verdict = check(changed(runs[job, api], tmp_path, spoil_the_last_number))
    assert verdict.status == "wrong"


# Of structured windows a later answer takes the place of an earlier one.
@pytest.mark.parametrize(
    ("job", "api"), [case for case in CASES if case[1] == "dstream" or JOBS[case[0]][1] != WINDOWS]
)
def test_a_missing_answer_is_found(job: str, api: str, runs: Runs, tmp_path: Path) -> None:
    """Of a batch with many events; of a DStream's windows one in the middle."""
    run = runs[job, api]
    fullest = max(run.result["streaming"]["batches"], key=lambda batch: batch["events"])["id"]

    def drop(answers: list[dict[str, Any]]) -> None:
        ids = [answer["id"] for answer in answers]
        middle = "window-s" in run.parameters and api == "dstream"
        del answers[len(ids) // 2 if middle else ids.index(fullest)]

    assert check(changed(run, tmp_path, drop)).status == "wrong"


def shifted(by_ms: int) -> Change:
    """All windows lie at another time."""

    def shift(answers: list[dict[str, Any]]) -> None:
        for answer in answers:
            spans = answer["windows"].items()
            answer["windows"] = {str(int(start) + by_ms): counts for start, counts in spans}

    return shift


@pytest.mark.parametrize(
    ("job", "api", "change", "words"),
    [
        ("count-min-top-k", "dstream", lambda a: a[-1].update(top=[["0", 1]]), ""),
        ("count-min-top-k", "dstream", lambda a: a[-1].update(total=1), ""),
        ("click-sliding-page-counts", "structured", shifted(-20_000), ""),
        ("click-sliding-page-counts", "structured", shifted(20_000), ""),
        ("network-word-count", "dstream", lambda a: a.append(a[-1]), "2 answers"),
    ],
)
def test_what_is_forgotten_of_another_time_or_told_twice_is_found(
    job: str, api: str, change: Change, words: str, runs: Runs, tmp_path: Path
) -> None:
    verdict = check(changed(runs[f"streaming-{job}", api], tmp_path, change))
    assert verdict.status == "wrong"
    assert words in verdict.detail


def test_a_lost_event_is_found(runs: Any, tmp_path: Path) -> None:
    run = runs["streaming-network-grep", "dstream"]
    log = tmp_path / "log"
    log.write_text(run.data["stream"].read_text(encoding="utf-8") + "one more\n", encoding="utf-8")
    verdict = check(dataclasses.replace(run, data={"stream": log}))
    assert verdict.status == "wrong"
    sent = run.result["streaming"]["events_sent"]
    assert f"{sent:,} events, the log holds {sent + 1:,}" in verdict.detail


@pytest.mark.parametrize("api", ["dstream", "structured"])
def test_an_event_counted_in_the_wrong_batch_is_found(api: str, runs: Any) -> None:
    run = runs["streaming-network-word-count", api]
    result = json.loads(json.dumps(run.result))
    first, second = [b for b in result["streaming"]["batches"] if b["events"] > 1][:2]
    first["events"] += 1
    second["events"] -= 1
    assert check(dataclasses.replace(run, result=result)).status == "wrong"


# Sources that fail


def submit(folder: Path, words: list[str], log: Path) -> "subprocess.Popen[str]":
    command = submitting({"spark.sql.warehouse.dir": str(folder / "warehouse")})
    with log.open("w") as out:
        return subprocess.Popen([*command, *words], stdout=out, stderr=out, cwd=folder)


def end_of(process: "subprocess.Popen[str]", log: Path) -> str:
    """What the job says last; it must be an error of the user's, in one line."""
    assert process.wait(PATIENCE_S) == 2, log.read_text(encoding="utf-8")[-3000:]
    lines = log.read_text(encoding="utf-8").splitlines()
    (said,) = [line for line in lines if line.startswith("workloads: ")]
    return said


@pytest.mark.parametrize("api", ["dstream", "structured"])
def test_a_source_that_is_killed_ends_the_job_with_one_line(api: str, tmp_path: Path) -> None:
    settings = {**SETTINGS, "api": api, "duration-s": "120"}
    log = tmp_path / "log"
    with DataServer("text", 100, 12_000, 1, None) as server:
        words = run_words("streaming-network-word-count", server, tmp_path, settings)
        process = submit(tmp_path, words, log)
        try:
            answers = tmp_path / "answer" / "batches.jsonl"
            eventually("an answer", lambda: answers.is_file() or process.poll() is not None)
            assert process.poll() is None, log.read_text(encoding="utf-8")[-3000:]
            os.kill(server.pid, 9)
            assert "start" in end_of(process, log)
        finally:
            process.kill()
            process.wait()
    assert not (tmp_path / "result").exists()


class _SilentSource(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps({"sent": 0, "unsent": 0, "done": False, "reader": "connected"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Says nothing on the terminal."""


def test_a_source_that_sends_nothing_ends_the_job_after_its_patience(tmp_path: Path) -> None:
    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), _SilentSource) as control,
        socket.create_server(("127.0.0.1", 0)) as data,
    ):
        threading.Thread(target=control.serve_forever, daemon=True).start()
        server = DataServer("text", 1, 1, 1, None)
        server.port, server.control_port = data.getsockname()[1], control.server_address[1]
        words = run_words("streaming-network-word-count", server, tmp_path, {"patience-s": "2"})
        log = tmp_path / "log"
        assert "the source sent 0 events" in end_of(submit(tmp_path, words, log), log)
        control.shutdown()


def test_a_job_without_a_source_says_how_to_start_one(tmp_path: Path) -> None:
    words = ["run", "streaming-kmeans", "--answer", str(tmp_path / "a"), "--result", "r"]
    log = tmp_path / "log"
    assert "--source is missing" in end_of(submit(tmp_path, words, log), log)


# As a user meets them: hearth lab run, hearth lab bench


def test_a_run_tells_the_figures_of_its_batches(hearth: Command, tmp_path: Path) -> None:
    settings = [f"--{name}={value}" for name, value in SETTINGS.items()]
    words = ["lab", "run", "streaming-network-grep", "--master", "local[2]", *settings, "--json"]
    done = hearth(*words, environment={"HEARTH_DATA": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["verdict"]["status"] == "checked"
    streaming = document["streaming"]
    measured = [batch for batch in streaming["batches"] if not batch["warm_up"]]
    times = sorted(batch["processing_ms"] for batch in measured)
    ranks = [math.ceil(part * len(times)) - 1 for part in (0.5, 0.95)]
    events = sum(batch["events"] for batch in streaming["batches"])
    delay = max(batch["scheduling_delay_ms"] for batch in measured)
    shown = line(document)
    assert f"  {events:,} events, {streaming['unsent']:,} unsent  " in shown
    assert f"  batch: {times[ranks[0]]} ms, 95 % within {times[ranks[1]]} ms  " in shown
    kept = "kept up" if streaming["kept_up"] else "did not keep up"
    assert f"  delay: at most {delay} ms  {kept}  answer: checked (" in shown


def test_the_streaming_suite_has_each_job_by_each_of_its_apis() -> None:
    entries = suite("streaming", catalogue.load())
    covered = [(entry.job.name, entry.parameters.get("api", "dstream")) for entry in entries]
    assert sorted(covered) == sorted(CASES)
