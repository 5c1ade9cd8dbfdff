"""hearth lab run and hearth lab bench as a user meets them, on real Spark."""

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hearth.base.errors import UserError
from hearth.cli.commands.lab import run as run_command
from hearth.cli.main import command_parser
from hearth.machine import paths
from hearth.workloads.parameters import pairs
from support import (
    PATIENCE_S,
    ROOT,
    Command,
    command,
    confs,
    driver_settings,
    environment,
    eventually,
    running,
    says,
    validate,
)

pytestmark = pytest.mark.spark

SMALL = ["--size", "512k"]
ARCHIVED = confs(driver_settings(paths.spark_home(), None))
PLAIN = [*SMALL, "--master", "local[2]", *ARCHIVED]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the data of this module's runs are made, once."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def first(home: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, str, str]:
    """The first run on the data home, which keeps its files: exit code, output, errors."""
    run = started(
        home, tmp_path_factory.mktemp("first"), "lab", "run", "word-count", *PLAIN, "--keep"
    )
    output, errors = run.communicate(timeout=300)
    return run.returncode, output.decode(), errors.decode()


@pytest.fixture
def with_data(hearth: Command, home: Path) -> Command:
    """`hearth` with the data home of this module."""

    def run(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
        environment = {"HEARTH_DATA": str(home), **options.pop("environment", {})}  # type: ignore[dict-item]
        return hearth(*words, environment=environment, **options)

    return run


def java_of(folder: Path) -> list[str]:
    """Every JVM whose command line names a folder: jobs and generators do.

    So does the guardian of a temporary folder, which goes on for half a minute after a kill -9.
    """
    return [words for words in running(str(folder)) if words.partition(" ")[0].endswith("java")]


def test_a_word_count_makes_its_data_once_and_equals_duckdbs(
    with_data: Command, home: Path, first: tuple[int, str, str]
) -> None:
    code, output, errors = first
    assert code == 0, errors
    fields = output.strip().split("  ")
    assert fields[:2] == ["word-count", "local[2]"]
    assert fields[2].endswith("KB")
    assert fields[-1].startswith("answer: checked (")
    making, kept = errors.splitlines()  # elsewhere than on a terminal, a line of each
    assert "making 512 KB of text data, seed 1" in making and kept.startswith("kept in ")
    before = list((home / "runs").iterdir())
    second = with_data("lab", "run", "word-count", *PLAIN, "--json", "--partitions", "3")
    assert second.stderr == "", "the data are there already"
    document = json.loads(second.stdout)
    example = json.loads((ROOT / "contract" / "examples" / "workload-result.json").read_text())
    assert document.keys() == example.keys()
    for part in ("spark", "verdict"):
        assert document[part].keys() == example[part].keys()
    assert document["data"]["text"].keys() == example["data"]["text"].keys()
    assert document["verdict"]["status"] == "checked"
    assert document["parameters"]["partitions"] == "3"
    assert document["asked_master"] == document["spark"]["master"] == "local[2]"
    assert 0 < document["seconds"] < document["wall_s"]
    assert document["data"]["text"]["seed"] == 1
    assert list((home / "runs").iterdir()) == before, "nothing of a run is left unless --keep"


def test_a_job_runs_bound_the_way_hearth_submit_runs_it(with_data: Command) -> None:
    done = with_data("lab", "run", "word-count", *SMALL, "--master", "local-numa[2x1]", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["spark"]["master"] == "local-numa[2x1]"
    assert document["spark"]["executors"] == 2
    assert document["verdict"]["status"] == "checked"


def test_what_is_kept_is_named(first: tuple[int, str, str]) -> None:
    folder = Path(first[2].splitlines()[-1].removeprefix("kept in "))
    assert (folder / "log").is_file()
    assert list((folder / "answer" / "counts").glob("part-*"))


def test_a_job_that_crashes_says_why_and_keeps_its_log(with_data: Command, tmp_path: Path) -> None:
    # Spark asks for 450 MB at least and says so in one line of its own.
    done = with_data("lab", "run", "word-count", *PLAIN, "--conf", "spark.driver.memory=64m")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("hearth: word-count on local[2] ended with 1: ")
    assert "System memory" in last
    log = Path(last.partition("(log: ")[2].rstrip(")"))
    assert log.is_relative_to(tmp_path / "state")
    assert "System memory" in log.read_text()
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["wordcount"], "'wordcount' … word-count"),
        (["xyzzy"], "'xyzzy' … 'hearth lab run --list'"),
        (["word-count", "--size", "2"], "--size: '2'"),
        (["word-count", "--size", "two"], "--size: 'two'"),
        (["word-count", "--size", "900000t"], "--size: "),
        (["word-count", "--master", "lokal[2]"], "--master: 'lokal[2]'"),
        (["word-count", "--master", "local-numa[x]"], "--master: 'local-numa[x]'"),
        (["word-count", "--partitons", "3"], "did you mean '--partitions'?"),
        (["word-count", "--szie", "3m"], "--szie: … did you mean '--size'?"),
        (["word-count", "--dry-run"], "--dry-run: … 'hearth submit', "),
        (["word-count", "--partitions", "many"], "--partitions: 'many' … whole number"),
        (["word-count", "--partitions"], "--partitions:"),
        (["word-count", "--partitions", "2", "--partitions=3"], "--partitions: … twice"),
        (["word-count", "stray"], "'stray'"),
        (["--partitions", "2"], "give the job's name first"),
        (["word-count", "--seed", "-1"], "--seed: -1 … 0"),
        (["word-count", "--port", "70000"], "--port: 70000"),
        (["word-count", "--conf", "nonsense"], "--conf: 'nonsense' … key=value"),
    ],
)
def test_bad_words_of_run_end_in_one_line(
    refused: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    message: str,
) -> None:
    monkeypatch.setenv("HEARTH_DATA", str(tmp_path / "data"))
    assert says(refused("lab", "run", *words), message)
    assert not (tmp_path / "data").exists(), "nothing is made for a run that cannot be"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--repeat", "0"], "--repeat: 0 … 1 to"),
        (["--warmup", "-1"], "--warmup: -1 … 0 to"),
        (["--jobs", "word-count,wordcount"], "'wordcount' … word-count"),
        (["--jobs", "word-count,word-count"], "--jobs: word-count … twice"),
        (["--jobs", "word-count", "--masters", "local[2],lokal"], "--master: 'lokal'"),
        (["--jobs", "word-count", "--masters", "yarn,yarn"], "--masters: yarn … twice"),
        (["--jobs", "word-count", "--size", "big"], "--size: 'big'"),
        (["--suite", "everything"], "invalid choice"),
        (["--suite", "batch", "--jobs", "word-count"], "not allowed with"),
    ],
)
def test_bad_words_of_bench_end_in_one_line(
    refused: Callable[..., str], words: list[str], message: str
) -> None:
    assert says(refused("lab", "bench", *words), message)


def test_the_list_and_a_jobs_help_say_what_the_catalogue_knows(hearth: Command) -> None:
    listed = hearth("lab", "run", "--list").stdout
    assert "batch, Spark core" in listed
    assert "word-count" in listed
    assert hearth("lab", "run").stdout == listed
    shown = hearth("lab", "run", "word-count", "--help").stdout
    for part in ("stresses", "published", "--partitions", "Awan 2016"):
        assert part in shown


def test_parameters_are_told_from_options_in_either_form() -> None:
    _, parser = command_parser("lab run")
    options = run_command.parse(parser, ["k-means", "--clusters=8", "--size", "2g", "--a", "-1"])
    assert pairs(options.parameters) == {"clusters": "8", "a": "-1"}
    assert (options.job, options.size) == ("k-means", "2g")
    with pytest.raises(UserError, match="its value is missing"):
        pairs(run_command.parse(parser, ["k-means", "--a"]).parameters)


def started(
    home: Path,
    tmp_path: Path,
    *words: str,
) -> subprocess.Popen[bytes]:
    """The command in the background, with the data home given, in its own session."""
    return subprocess.Popen(
        command(*words),
        env=environment(tmp_path / "state", HEARTH_DATA=str(home)),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def test_killed_while_a_job_runs_it_leaves_no_process_and_no_folder(
    with_data: Command, home: Path, tmp_path: Path
) -> None:
    runs = home / "runs"
    kept = set(runs.glob("*"))  # by the tests before this one
    many = ["--partitions", "100000"]  # left alone, it would go on for minutes
    run = started(home, tmp_path, "lab", "run", "word-count", *PLAIN, *many)

    def answers() -> list[Path]:
        return [file for own in set(runs.glob("*")) - kept for file in own.glob("answer/*/*")]

    eventually("the job writes its answer", lambda: answers() != [])
    assert java_of(runs) != []
    os.kill(run.pid, signal.SIGKILL)
    run.communicate(timeout=PATIENCE_S)
    eventually("the job is gone", lambda: java_of(runs) == [])
    eventually("its folder is deleted", lambda: set(runs.iterdir()) == kept)


def test_a_killed_bench_goes_on_where_it_was(
    with_data: Command, home: Path, tmp_path: Path
) -> None:
    jobs = ("--jobs", "word-count", "--masters", "local[1],local[2]")
    bench = started(home, tmp_path, "lab", "bench", *jobs, *SMALL, *ARCHIVED)

    def kept() -> list[str]:
        files = (tmp_path / "state").glob("studies/bench/*/trials.jsonl")
        return [line for file in files for line in file.read_text().splitlines()]

    eventually("a case is kept", lambda: len(kept()) == 1)
    os.kill(bench.pid, signal.SIGKILL)
    bench.communicate(timeout=PATIENCE_S)
    before = kept()
    (series,) = (tmp_path / "state").glob("studies/bench/*")
    page = tmp_path / "series.html"
    done = with_data("lab", "bench", "--resume", series.name, "--json", "--html", str(page))
    assert done.returncode == 0, done.stderr
    assert "2 runs, 1 of them made already" in done.stderr
    assert "word-count: seconds of each run" in page.read_text()
    assert kept()[:1] == before and len(kept()) == 2, "what was measured stays"
    document = json.loads(done.stdout)
    validate("bench-result", document)
    one, two = document["jobs"][0]["arms"]
    assert two["ratio"]["value"] == pytest.approx(two["median_s"] / one["median_s"])
    verdicts = [case["result"]["verdict"]["status"] for case in document["cases"]]
    assert verdicts == ["checked", "checked"]
    refused = with_data("lab", "bench", "--resume", series.name, "--repeat", "2")
    assert refused.returncode == 2
    assert "has repeat 1, not 2" in refused.stderr
