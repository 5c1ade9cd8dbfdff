"""`--resume ID` alone: the command of each study is kept, and what contradicts it is refused."""

from pathlib import Path
from typing import Any

import pytest

from hearth.base.codec import to_json
from hearth.base.errors import UserError
from hearth.base.redaction import REDACTED
from hearth.cli.main import command_parser
from hearth.record.store import write_document
from hearth.studies.engine.store import (
    CHARACTERISE,
    COLOCATE,
    COMPARE,
    TUNE,
    StudyKind,
    TypedCommand,
)

KINDS = {"compare": COMPARE, "tune": TUNE, "lab characterise": CHARACTERISE, "colocate": COLOCATE}
NUMBER = "20260101-000000-job-1a2b"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEARTH_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "state"


def kept(state: Path, kind: StudyKind, words: list[str], directory: str | None = None) -> None:
    """A study whose command these words were."""
    place = kind.home(state) / NUMBER
    place.mkdir(parents=True)
    (place / kind.head).write_text("{}")
    typed = TypedCommand(words, directory or str(Path.cwd()))
    write_document(place / "command.json", to_json(typed))


def read(verb: str, *words: str) -> Any:
    module, parser = command_parser(verb)
    return module.parse(parser, list(words))


@pytest.mark.parametrize("verb", KINDS)
def test_the_id_alone_reads_as_the_command_that_began_it(state: Path, verb: str) -> None:
    other = ["--", "word-count", "--size", "2g"] if verb == "colocate" else []
    words = ["--executors", "2", "--conf", "spark.app.name=b", "job.py", "--date", "monday", *other]
    if verb == "lab characterise":
        words = words[2:]
    kept(state, KINDS[verb], words)
    again, typed = read(verb, "--resume", "1a2b"), read(verb, *words)
    assert again.resume == "1a2b" and typed.resume is None
    of = "lines" if verb == "colocate" else "line"
    assert getattr(again, of) == getattr(typed, of)


def test_what_is_typed_beside_the_id_stands_before_the_application(state: Path) -> None:
    kept(state, COMPARE, ["--arms", "native,plan", "job.py", "--day", "1"])
    again = read("compare", "--resume", NUMBER, "--budget", "10m", "--json")
    assert (again.arms, again.json) == ("native,plan", True)
    assert again.line.application == ("job.py", "--day", "1") and again.runs.budget_s == 600


def test_what_is_typed_beside_the_id_counts_also_where_options_stood_behind_a_workload(
    state: Path,
) -> None:
    kept(state, COMPARE, ["word-count", "--repeat", "3", "--size", "2g"])
    again = read("compare", "--resume", NUMBER, "--repeat", "9")
    assert again.runs.repeat == 9, "which is refused when the study is opened"
    assert again.line.application == ("word-count", "--size", "2g")


def test_of_two_applications_each_keeps_its_own_words(state: Path) -> None:
    kept(state, COLOCATE, ["word-count", "--seed", "5", "--", "my.py", "--limit", "5", "--json"])
    both = read("colocate", "--resume", NUMBER)
    assert [line.application for line in both.lines] == [
        ("word-count",), ("my.py", "--limit", "5", "--json"),
    ]  # fmt: skip
    assert both.runs.seed == 5 and not both.json


def test_a_command_that_is_typed_again_is_read_as_it_is(state: Path) -> None:
    kept(state, COMPARE, ["--repeat", "3", "job.py"])
    assert read("compare", "--resume", NUMBER, "--repeat", "4", "b.py").runs.repeat == 4
    assert read("compare", "job.py", "--resume").line.application == ("job.py", "--resume")


@pytest.mark.parametrize(
    ("words", "directory", "why"),
    [
        (["job.py", f"--password={REDACTED}"], None, "with a secret, which is not kept: type its"),
        (["job.py"], "/elsewhere", "was begun in '/elsewhere': go there"),
    ],
)
def test_what_is_not_the_command_any_more_is_refused(
    state: Path, words: list[str], directory: str | None, why: str
) -> None:
    kept(state, TUNE, words, directory)
    with pytest.raises(UserError, match=why):
        read("tune", "--resume", NUMBER)


def test_an_unknown_id_and_a_study_without_its_command_are_refused_by_name(state: Path) -> None:
    with pytest.raises(UserError, match="no tune has the id 'zzzz': 'hearth runs' lists them"):
        read("tune", "--resume", "zzzz")
    kept(state, TUNE, ["job.py"])
    (TUNE.home(state) / NUMBER / "command.json").unlink()
    with pytest.raises(UserError, match="type it, with --resume 2026"):
        read("tune", "--resume", NUMBER)
