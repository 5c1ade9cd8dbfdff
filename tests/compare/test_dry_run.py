"""`hearth compare --dry-run` as a black box: what would run, and nothing runs."""

from pathlib import Path

import pytest

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
    assert rows["unbound"].startswith("hearth profile --executors 2 --cores 1 --unbound --conf ")
    assert rows["bound"].endswith("job.py 2026")
    assert rows["docker"].startswith("not here: ")
    assert "of each arm 1 warm-up and 3 counted runs" in done.stdout
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
    assert rows["unbound"] == "--executors 2 --cores 1 --unbound --master local-numa"
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
        (
            ["--bind", "package", "--arms", "bound,package", "job.py"],
            "--bind: package is also an arm",
        ),
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


@pytest.mark.parametrize("verb", ["compare", "tune", "characterise"])
def test_an_option_of_hearth_behind_the_application_is_said_to_be_the_applications(
    hearth: Command, tmp_path: Path, verb: str
) -> None:
    (tmp_path / "job.py").write_text("")
    done = hearth(verb, "--dry-run", "job.py", "--dry-run")
    assert done.returncode == 0, done.stderr
    said = "hearth: --dry-run after job.py is the application's; hearth's options go before"
    assert done.stderr.count(said) == 1
