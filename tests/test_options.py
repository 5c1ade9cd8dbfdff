"""The options of each command: its help lists those that it accepts, and no others."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hearth.base.errors import UserError
from hearth.cli.main import command_parser, main
from hearth.machine import jvm

#: What only a submit plans with, with a value that each takes.
PLANNING = {
    "--input": ["1g"],
    "--workload": ["sql"],
    "--executors": ["1"],
    "--cores": ["1"],
    "--memory": ["1g"],
    "--bind": ["node"],
    "--hosts": ["machine"],
    "--docker": [],
    "--when-full": ["share"],
    "--reserve-cpus": ["999"],
}
COMMANDS = ("submit", "profile", "compare", "lab characterise", "tune", "colocate")


class _PlanningError(Exception):
    """The command has accepted its options: it asks for a plan, or reads the machine."""


@pytest.fixture
def application(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A program of the user's; whatever asks the JVM side ends with `_PlanningError`."""

    def call(*_: object, **__: object) -> Any:
        raise _PlanningError

    monkeypatch.setattr(jvm, "call", call)
    monkeypatch.setattr("os.sched_setaffinity", lambda *_: None)  # of the process of the tests
    monkeypatch.setattr("hearth.cli.main._fault", lambda error, _: 70 if _is_planning(error) else 1)
    monkeypatch.setenv("HEARTH_STATE", str(tmp_path / "state"))
    program = tmp_path / "job.py"
    program.touch()
    yield str(program)


def _is_planning(error: Exception) -> bool:
    return isinstance(error, _PlanningError)


def words_of(command: str, option: str, application: str) -> list[str]:
    before = [] if command == "profile" else ["--dry-run"]
    behind = ["--", application] if command == "colocate" else []
    split = ["--split", "1-1"] if command == "colocate" else []
    return [*command.split(), *before, *split, option, *PLANNING[option], application, *behind]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("option", PLANNING)
def test_the_help_of_a_command_lists_exactly_the_options_that_it_accepts(
    command: str, option: str, application: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, parser = command_parser(command)
    listed = re.search(rf"^  {option}\b", parser.format_help(), re.MULTILINE) is not None
    code = main(words_of(command, option, application))
    said = capsys.readouterr().err
    # Only some questions are bound as the user says.
    sometimes = (command, option) == ("lab characterise", "--bind")
    refused = not sometimes and said.startswith(f"hearth: {option}: ") and code == 2
    assert refused or code == (2 if sometimes else 70), said
    assert listed is not refused, said


@pytest.mark.parametrize("line", ["report", "lab study"])
def test_a_line_that_lacks_a_word_is_told_what_to_type(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(line.split()) == 2
    assert f" is missing: type for example 'hearth {line} " in capsys.readouterr().err
    assert main(["report", "last", "--html"]) == 2
    assert "type for example 'hearth report last --html report.html'" in capsys.readouterr().err


def test_options_come_back_from_their_words() -> None:
    from hearth.cli.options import read_line, read_planning_words

    typed = "--docker --memory=4g --executors 0 --when-full wait"
    asked = read_line([*typed.split(), "a.py"]).planning
    assert asked.to_words() == ["--executors", "0", "--memory", "4g", "--docker", "--when-full",
                                "wait"]  # fmt: skip
    assert read_planning_words(asked.to_words(), "here") == asked
    with pytest.raises(UserError, match="here: argument --cores: invalid int value: 'many'"):
        read_planning_words(["--cores", "many"], "here")
