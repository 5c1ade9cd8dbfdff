"""`hearth profile` as a black box: real Spark, what is on record, what a kill leaves behind."""

import json
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest
from profiled_runs import only_record, start_profile

from hearth.base.errors import UserError
from hearth.base.processes import is_alive
from hearth.cli.main import command_parser
from hearth.machine import paths
from hearth.record.schema import RecordedMachine
from hearth.record.store import Record
from hearth.spark.command import Launch
from hearth.spark.instrumentation import gc_log_option, observed
from hearth.spark.run_files import check_locale, plain_path
from hearth.spark.submit_args import Option
from support import PATIENCE_S, Command, driver_settings, eventually, json_lines, validate

pytestmark = pytest.mark.spark

LIMIT_S = 240.0
#: By how much a busy machine may be late to notice a loss.
BUSY_S = 30.0


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Record, str, str, int]:
    """A run on local[2] that ended well, its output, its errors, its exit code."""
    state = tmp_path_factory.mktemp("finished") / "state"
    process = start_profile(state, "--master", "local[2]", "APP")
    output, errors = process.communicate(timeout=180)
    return only_record(state), output, errors, process.returncode


def rows(record: Record, name: str) -> list[dict]:
    return json_lines(record.directory / name)


def test_a_run_keeps_its_output_and_exit_code_and_tells_its_records_id(finished) -> None:
    record, output, errors, code = finished
    assert code == 0
    assert "groups 100\n" in output
    assert errors.splitlines()[-1] == f"hearth: record {record.id}"
    assert "no effect" not in errors
    assert (record.state, record.end.exit_code) == ("finished", 0)


def test_the_record_holds_event_log_gc_log_and_samples_of_the_driver(finished) -> None:
    record = finished[0]
    (driver,) = [row for row in rows(record, "processes.jsonl") if row.get("role") == "driver"]
    (event_log,) = (record.directory / "eventlog").iterdir()
    events = [json.loads(line)["Event"] for line in event_log.read_text().splitlines()]
    assert events.count("SparkListenerApplicationEnd") == 1
    gc_log = record.directory / "gc" / f"driver-{driver['pid']}.log"
    assert "Pause" in gc_log.read_text()
    for name in ("process", "memory", "threads"):
        found = [r for r in rows(record, f"samples/{name}.jsonl") if r["pid"] == driver["pid"]]
        assert found, f"no {name} sample of the driver"
    cpu = [r["utime"] for r in rows(record, "samples/process.jsonl") if r["pid"] == driver["pid"]]
    assert cpu == sorted(cpu)
    assert cpu[-1] > 100  # ticks: a driver takes seconds to start
    names = [row["names"] for row in rows(record, "samples/threads.jsonl")]
    kinds = {kind for row in names for _, kind in row.values()}
    assert {"task", "gc", "compiler"} <= kinds


def test_the_record_tells_machine_settings_versions_and_why_a_probe_is_absent(finished) -> None:
    head = json.loads((finished[0].directory / "record.json").read_text())
    assert head["schema"] == "hearth/record/1"
    assert head["master"] == "local[2]"
    assert head["versions"]["spark"].startswith("4.3")
    assert isinstance(finished[0].machine, RecordedMachine)
    assert "numa_balancing" in head["machine_settings"]
    for probe in head["probes"]:
        assert probe["status"] == "on" or probe["reason"]


def test_the_sampler_costs_little(finished) -> None:
    record = finished[0]
    costs = {row["probe"]: row["cpu_s"] for row in rows(record, "samples/cost.jsonl")}
    sampling = sum(cost for probe, cost in costs.items() if probe != "sampler")
    assert 0 < sampling < 0.03 * record.wall_s + 0.2


def test_executors_of_local_numa_are_on_record_with_their_placement(tmp_path: Path) -> None:
    words = ["--master", "local-numa[2x1]", "--memory", "512m", "APP", "fail"]
    process = start_profile(tmp_path, *words)
    output, errors = process.communicate(timeout=240)
    assert " INFO " not in errors
    log = only_record(tmp_path).directory / "driver.log"
    assert " INFO SparkContext: " in log.read_text() and log.stat().st_mode & 0o777 == 0o600
    assert process.returncode == 7, errors
    record = only_record(tmp_path)
    assert record.state == "failed"
    seen = [row for row in rows(record, "processes.jsonl") if row.get("role") == "executor"]
    assert {row["executor_id"] for row in seen} == {"0", "1"}
    proof = json.loads((record.directory / "placement.json").read_text())
    proved = {entry["executor_id"]: entry["kernel"]["cpus_allowed"] for entry in proof["executors"]}
    assert {row["executor_id"]: row["cpus_allowed"] for row in seen} == proved
    for row in seen:
        assert (record.directory / "gc" / f"executor-{row['pid']}.log").stat().st_size > 0
    assert record.head.plan.mode == "partitioned"
    assert output == "groups 100\n", "the application's output is its own"


def busy_profile(state: Path) -> tuple[subprocess.Popen[str], Record, list[dict]]:
    """A run that goes on until it is ended, once it has been sampled; with its processes."""
    process = start_profile(state, "--master", "local[2]", "--no-summary", "APP", "stay")
    assert process.stdout is not None
    assert process.stdout.readline() == "groups 100\n"
    record = only_record(state)

    def seen() -> list[dict]:
        return [r for r in rows(record, "processes.jsonl") if r["event"] == "seen"]

    def sampled() -> bool:
        kept = (record.directory / "samples" / "process.jsonl").exists()
        return kept and any(row["role"] == "driver" for row in seen())

    eventually("the driver is sampled", sampled, LIMIT_S)
    return process, record, seen()


def all_end(processes: list[dict]) -> None:
    def running() -> bool:
        return any(is_alive(row["pid"], row["start_ticks"]) for row in processes)

    eventually("all of them end", lambda: not running(), LIMIT_S)


def test_after_kill_9_of_profile_nothing_runs_on_and_the_record_is_readable(tmp_path: Path) -> None:
    process, record, processes = busy_profile(tmp_path)
    assert record.state == "running"
    eventually("the machine is read", lambda: (record.directory / "machine.json").exists(), LIMIT_S)
    process.kill()
    process.communicate()
    all_end(processes)
    killed = only_record(tmp_path)
    assert killed.state == "killed"
    assert isinstance(killed.machine, RecordedMachine)
    assert rows(killed, "samples/process.jsonl")


def test_kill_9_of_the_sampler_leaves_the_application_and_ctrl_c_ends_it_and_closes_the_record(
    tmp_path: Path,
) -> None:
    process, record, processes = busy_profile(tmp_path)
    (sampler,) = [pid for pid in children(process.pid) if name_of(pid) == "hearth-sampler"]
    os.kill(sampler, signal.SIGKILL)
    time.sleep(1)
    (driver,) = [row for row in processes if row["role"] == "driver"]
    assert is_alive(driver["pid"], driver["start_ticks"])
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130
    all_end(processes)
    assert only_record(tmp_path).state == "interrupted"
    (warning,) = rows(record, "warnings.jsonl")
    assert warning["what"].startswith("the sampler ended with -9")


def test_an_application_over_its_limit_is_ended_and_the_record_says_so(tmp_path: Path) -> None:
    program, started = tmp_path / "sleeps.py", tmp_path / "process"
    program.write_text(
        "import os, sys, time\n"
        "open(sys.argv[1], 'w').write(open('/proc/self/stat').read())\n"
        "time.sleep(1000)\n"  # it would not notice that its JVM has gone
    )
    words = ("--limit", "10s", "--master", "local[1]", str(program), str(started))
    process = start_profile(tmp_path / "state", *words)
    process.communicate(timeout=LIMIT_S)
    assert process.returncode == 124
    record = only_record(tmp_path / "state")
    assert record.state == "interrupted"
    assert record.wall_s >= 10
    assert "ended after 10 s, its limit" in rows(record, "warnings.jsonl")[0]["what"]
    fields = started.read_text().split()
    assert not is_alive(int(fields[0]), int(fields[21])), "Python without its JVM"


def test_kill_9_of_the_driver_is_on_record_as_the_signal(tmp_path: Path) -> None:
    process, _, processes = busy_profile(tmp_path)
    (driver,) = [row for row in processes if row["role"] == "driver"]
    os.kill(driver["pid"], signal.SIGKILL)
    process.communicate(timeout=LIMIT_S)
    assert process.returncode == 128 + signal.SIGKILL
    record = only_record(tmp_path)
    assert (record.state, record.end.signal) == ("failed", signal.SIGKILL)
    gone = [r["pid"] for r in rows(record, "processes.jsonl") if r["event"] == "gone"]
    assert driver["pid"] in gone


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def name_of(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def test_kill_9_of_one_executor_is_told_with_its_time_and_the_run_goes_on(
    hearth: Command, tmp_path: Path
) -> None:
    words = ["--master", "local-numa[2x1]", "--memory", "512m", "--no-summary", "APP", "wait"]
    process = start_profile(tmp_path, *words)
    assert process.stdout is not None
    assert process.stdout.readline() == "groups 100\n"
    record = only_record(tmp_path)
    victim = wait_for_executor(record, "1")
    os.kill(victim["pid"], signal.SIGKILL)
    killed_s = (time.monotonic_ns() - record.head.clock.monotonic_ns) / 1e9
    eventually(
        "it is gone",
        lambda: '"gone"' in (record.directory / "processes.jsonl").read_text(),
        LIMIT_S,
    )
    (tmp_path / "go").touch()
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    state = {"HEARTH_STATE": str(tmp_path)}
    (run,) = json.loads(hearth("report", "last", "--json", environment=state).stdout)["runs"]
    (lost,) = [executor for executor in run["executors"] if executor["id"] == "1"]
    assert lost["pid"] == victim["pid"]
    assert lost["removed_s"] == pytest.approx(killed_s, abs=BUSY_S)
    assert "killed by SIGKILL" in lost["reason"]
    shown = " ".join(hearth("report", "last", environment=state).stdout.split())
    assert f"Executor 1 was lost at {lost['removed_s']:.1f} s" in shown
    gone = {r["pid"]: r["t"] for r in rows(record, "processes.jsonl") if r["event"] == "gone"}
    assert gone[victim["pid"]] == pytest.approx(killed_s, abs=BUSY_S)
    assert max(run["tasks_sample"]["start_s"]) > lost["removed_s"]
    assert run["record"]["state"] == "finished"


def wait_for_executor(record: Record, name: str) -> dict:
    """The executor's row, once the sampler has seen it."""

    def seen() -> list[dict]:
        who = ("executor", name)
        found = rows(record, "processes.jsonl")
        return [row for row in found if (row.get("role"), row.get("executor_id")) == who]

    eventually(f"executor {name} is seen", seen, LIMIT_S)
    return seen()[0]


def launch(*options: Option) -> Launch:
    return Launch(Path("spark-submit"), list(options), ["app.py"], {}, [])


def conf(seen) -> dict[str, str]:
    pairs = [option.value for option in seen.launch.options if option.name == "--conf"]
    return dict(pair.partition("=")[::2] for pair in pairs)


def test_the_users_jvm_options_stay_before_those_of_the_record() -> None:
    own = Option("--driver-java-options", "-Xlog:gc:file=/mine.log -Da='b c'")
    executor = Option("--conf", "spark.executor.extraJavaOptions=-XX:+UseZGC")
    seen = observed(launch(own, executor), {}, "local-numa[2]", Path("/r"), "gc-%p.log")
    assert not [option for option in seen.launch.options if option.name.startswith("--driver")]
    driver_log, executor_log = gc_log_option("/r/gc/driver-%p.log"), "/r/gc/executor-%p.log"
    options = conf(seen)
    assert options["spark.driver.extraJavaOptions"] == f"{own.value} {driver_log}"
    wanted = f"-XX:+UseZGC {gc_log_option(executor_log)}"
    assert options["spark.executor.extraJavaOptions"] == wanted


@pytest.mark.parametrize("name", ["plain", 'a "b":c,d e%', "größe"])
def test_a_jvm_logs_into_a_record_of_any_name_in_any_locale(tmp_path: Path, name: str) -> None:
    record = tmp_path / name
    record.mkdir()
    with plain_path(record) as place:
        option = shlex.split(gc_log_option(str(place / "driver.log")))
        environment = {**os.environ, "LC_ALL": "C"}
        command = [str(paths.java()), *option, "-version"]
        done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (record / "driver.log").read_text()
    assert (place == record) == (name == "plain")
    assert place.exists() == (name == "plain")


def test_a_state_directory_that_the_locale_cannot_write_is_refused_and_says_what_to_set() -> None:
    with pytest.raises(UserError, match=r"LC_ALL=C\.UTF-8"):
        check_locale(Path("/größe"), {"LC_ALL": "C", "LANG": "de_DE.UTF-8"})
    check_locale(Path("/größe"), {"LANG": "de_DE.UTF-8"})
    check_locale(Path('/a "b":c'), {"LC_ALL": "C"})


def test_an_event_log_of_the_users_own_stays_where_they_keep_it() -> None:
    theirs = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": "/logs",
        "spark.eventLog.compress": "true",
    }
    seen = observed(launch(), theirs, "yarn", Path("/r"), "gc-%p.log")
    assert seen.users_event_log == "/logs"
    assert "spark.eventLog.dir" not in conf(seen)
    assert seen.settings["spark.eventLog.compress"] == "true"
    assert "file=gc-%p.log" in conf(seen)["spark.executor.extraJavaOptions"]
    without = observed(launch(), {"spark.eventLog.dir": "/logs"}, "yarn", Path("/r"), "x")
    assert without.users_event_log is None
    assert conf(without)["spark.eventLog.dir"] == "file:///r/eventlog"


def test_a_users_event_log_gc_log_and_flight_recording_are_kept(tmp_path: Path) -> None:
    archive = driver_settings(paths.spark_home(), None).get("spark.driver.extraJavaOptions", "")
    recording = f"-XX:StartFlightRecording=filename={tmp_path / 'mine.jfr'}"
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "older").write_text("an application of before\n")
    process = start_profile(
        tmp_path,
        *("--master", "local[2]", "--no-summary", "--conf", "spark.eventLog.enabled=true"),
        *("--conf", f"spark.eventLog.dir={tmp_path / 'logs'}"),
        *("--driver-java-options", f"{archive} -Xlog:gc:file={tmp_path / 'mine.log'} {recording}"),
        "APP",
    )
    _, errors = process.communicate(timeout=180)
    assert process.returncode == 0, errors
    record = only_record(tmp_path)
    (linked,) = (record.directory / "eventlog").iterdir()
    assert linked.samefile(tmp_path / "logs" / linked.name)
    assert "SparkListenerApplicationEnd" in linked.read_text()
    assert "Pause" in (tmp_path / "mine.log").read_text()
    assert list((record.directory / "gc").iterdir())
    assert (tmp_path / "mine.jfr").stat().st_size > 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--remote", "sc://x", "APP"], "--remote: the application runs in a Spark Connect server"),
        (
            ["--master", "yarn", "--deploy-mode", "cluster", "APP"],
            "--deploy-mode: 'cluster' runs the driver elsewhere",
        ),
    ],
)
def test_what_would_not_run_here_is_refused_by_name(
    tmp_path: Path, words: list[str], message: str
) -> None:
    process = start_profile(tmp_path, *words)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2
    assert f"hearth: {message}" in errors
    assert not (tmp_path / "records").exists()


def test_what_follows_the_application_is_never_taken_for_an_option_of_profile() -> None:
    module, parser = command_parser("profile")
    options = module.parse(parser, ["--arm", "bound", "app.py", "--no-summary", "--arm", "x"])
    assert (options.arm, options.no_summary) == ("bound", False)
    assert [*options.line.application] == ["app.py", "--no-summary", "--arm", "x"]


def test_record_json_holds_to_its_contract(finished) -> None:
    validate("record", json.loads((finished[0].directory / "record.json").read_text()))
