"""`hearth compare --dry-run` as a black box: what would run, and nothing runs."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from hearth.cli.main import command_parser
from hearth.cli.options import read_submit_line
from support import Command


def test_a_dry_run_lists_each_arm_with_its_command_and_runs_nothing(
    hearth: Command, tmp_path: Path
) -> None:
    (tmp_path / "job.py").write_text("")
    words = ("--executors", "2", "--cores", "1", "--conf", "spark.my.password=hush42")
    no_engine = {"DOCKER_HOST": "unix:///nowhere/docker.sock"}
    done = hearth("compare", "--dry-run", "--repeat", "3", "--arms", "native,unbound,bound,docker",
                  *words, "job.py", "2026", environment=no_engine)  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = dict(line.split(maxsplit=1) for line in done.stdout.splitlines()[1:5])
    assert rows["native"].startswith("hearth profile --master 'local[*]' --conf ")
    assert rows["unbound"].startswith("hearth profile --executors 2 --cores 1 --bind none --conf ")
    assert rows["bound"].endswith("job.py 2026")
    assert rows["docker"].startswith("not here: ")
    assert "runs of each arm: 1 warm-up, 3 measured" in done.stdout
    assert "hush42" not in done.stdout
    assert not list((tmp_path / "state").glob("studies/*/*"))


def test_a_workload_is_compared_by_name_with_its_parameters_and_options_behind(
    hearth: Command,
) -> None:
    done = hearth("compare", "--executors", "2", "--cores", "1", "word-count", "--size", "2m",
                  "--arms", "native,unbound,bound", "--repeat", "3", "--dry-run")  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = dict(line.split(maxsplit=1) for line in done.stdout.splitlines()[1:4])
    assert rows["native"] == "--master 'local[*]'"
    assert rows["unbound"] == "--executors 2 --cores 1 --bind none --master local-numa"
    assert rows["bound"] == "--executors 2 --cores 1 --master local-numa"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--arms", "native,tuned", "word-count"], "run 'hearth tune word-count' first"),
        (
            ["--arms", "native,tuned", "--cores", "1", "word-count"],
            "--cores: conflicts with the arm tuned",
        ),
        (["--keep", "word-count"], "--keep: not accepted for a workload"),
        (["--bind", "package", "job.py"], "--bind: set by each arm"),
        (["batch"], "compare one of them"),
        (["word-cuont"], "word-count"),
    ],
)
def test_what_cannot_be_compared_is_refused_by_name(
    hearth: Command, tmp_path: Path, words: list[str], said: str
) -> None:
    (tmp_path / "job.py").write_text("")
    done = hearth("compare", "--dry-run", *words)
    assert done.returncode == 2
    assert said in done.stderr


STARTING = ("submit", "profile", "compare", "tune", "lab characterise", "colocate")


@pytest.mark.parametrize("verb", STARTING)
def test_a_dry_run_asked_for_behind_the_application_starts_nothing(
    refused: Callable[..., str], tmp_path: Path, verb: str
) -> None:
    (tmp_path / "job.py").write_text("raise SystemExit('it ran')")
    first = ["--", "job.py"] if verb == "colocate" else []
    said = refused(*verb.split(), "job.py", *first, "--dry-run")
    assert "is not hearth's: put it before" in said
    assert not list((tmp_path / "state").glob("*"))


def test_a_dry_run_of_the_applications_own_reaches_it_in_each_arm(
    hearth: Command, tmp_path: Path
) -> None:
    (tmp_path / "job.py").write_text("")
    done = hearth("compare", "--dry-run", "--arms", "native,plan", "--", "job.py", "--dry-run")
    assert done.returncode == 0, done.stderr
    rows = dict(line.split(maxsplit=1) for line in done.stdout.splitlines()[1:3])
    assert rows["native"] == "hearth profile --master 'local[*]' -- job.py --dry-run"
    own = read_submit_line(command_parser("profile")[1], shlex.split(rows["plan"])[2:]).line
    assert own.application == ("job.py", "--dry-run")


def test_a_dry_run_of_a_colocation_makes_no_profile_first(hearth: Command, tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("raise SystemExit('it ran')")
    words = ("--profile-first", "--repeat", "2", "job.py", "--", "job.py")
    done = hearth("colocate", "--dry-run", *words)
    assert done.returncode == 0, done.stderr
    assert not list((tmp_path / "state").glob("studies/*/*"))


def test_a_dry_run_of_a_suite_lists_its_jobs(hearth: Command, tmp_path: Path) -> None:
    done = hearth("lab", "bench", "--suite", "osu", "--repeat", "3", "--warmup", "1", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1].split() == ["group-by", "-", "local[*],", "local-numa"]
    assert done.stdout.endswith("\n16 runs; of each job and master: 1 warm-up, 3 measured\n")
    assert not list((tmp_path / "state").glob("*"))
