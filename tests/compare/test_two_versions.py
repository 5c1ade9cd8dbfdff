"""`hearth compare OLD --vs NEW`: two applications, or two versions of one, run in the same way."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hearth.cli.options import read_line
from hearth.studies.engine.arms import profile_words, version_arms
from support import Command, says


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("old.py", "new.py"):
        (tmp_path / name).write_text("print(1)\n")


def test_each_version_runs_as_the_plan_says_with_the_arguments_of_the_first() -> None:
    line = read_line(["--executors", "2", "old.py", "--day", "1"])
    arms = version_arms("plan", ["old.py", "--day", "1"], ["new.py", "--day", "1"])
    assert [arm.name for arm in arms] == ["old.py", "new.py"]
    words = [profile_words(arm, line) for arm in arms]
    assert [one[:2] for one in words] == [["--executors", "2"]] * 2
    assert words[0][-3:] == ["old.py", "--day", "1"] and words[1][-3:] == ["new.py", "--day", "1"]


@pytest.mark.parametrize(
    ("one", "other", "names"),
    [
        (["v1/job.py"], ["v2/job.py"], ["v1/job.py", "v2/job.py"]),
        (["job.py", "1"], ["job.py", "2"], ["job.py 1", "job.py 2"]),
    ],
)
def test_versions_of_one_name_are_told_apart(
    one: list[str], other: list[str], names: list[str]
) -> None:
    assert [arm.name for arm in version_arms("native", one, other)] == names


@pytest.mark.usefixtures("programs")
def test_a_dry_run_shows_both(hearth: Command, tmp_path: Path) -> None:
    old, new = (str(tmp_path / name) for name in ("old.py", "new.py"))
    done = hearth("compare", "--dry-run", old, "--day", "1", "--vs", new)
    assert f"hearth profile {old} --day 1" in done.stdout
    assert f"hearth profile {new} --day 1" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["old.py", "--vs"], "--vs: name the other application"),
        (["old.py", "--vs", "old.py"], "--vs: 'old.py' is the same application"),
        (["old.py", "--vs", "nowhere.py"], "'nowhere.py': no such file"),
        (["--arms", "native,plan", "old.py", "--vs", "new.py"], "--arms: with --vs both run"),
        (["--keep", "old.py", "--vs", "new.py"], "--keep: not accepted with --vs"),
        (["word-count", "--vs", "new.py"], "--vs: 'word-count' is not an application"),
    ],
)
@pytest.mark.usefixtures("programs")
def test_bad_words_are_refused_by_name(
    refused: Callable[..., str], words: list[str], said: str
) -> None:
    assert says(refused("compare", *words), said)
