"""--json: standard output is one JSON document, whatever the command says, and what it ended with.

Each command that has --json is asked at once for what it refuses, and for what it answers early.
"""

import io
import json
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from hearth.cli.answer import Message
from hearth.cli.hints import commands_with
from hearth.cli.main import main

_FILE = "never.py"
#: Of each command with --json: words that it answers or refuses before anything starts, and how.
CASES = {
    "plan": [("--executors 0", 2), ("--format json --executors 0", 2)],
    "status": [("", 0), ("nobody", 2), ("--watch", 2)],
    "compare": [(f"--forget {_FILE}", 0), ("", 2), (f"--arms native {_FILE}", 2)],
    "report": [("last", 2)],
    "topology": [("--force", 2), ("--machine nowhere.tar.gz", 2)],
    "doctor": [("--list", 0), ("nobody", 2), ("--unsilence swappiness", 2)],
    "runs list": [("", 0), ("--kind comparison", 0), ("--last 0", 2)],
    "tune": [("", 2), (f"--budget 0 {_FILE}", 2)],
    "colocate": [("", 2)],
    "workers status": [("", 0)],
    "lab run": [("--list", 0), ("nothing", 2)],
    "lab bench": [("--jobs nothing", 2)],
    "lab characterise": [("", 2)],
    "lab study list": [("", 0)],
    "lab study show": [("nothing", 2)],
    "lab study run": [("", 2), ("nothing", 2)],
    "lab predict": [("--from last", 2)],
    "lab affinity plan": [("--device nothing", 2)],
    "lab affinity defaults": [("--bogus", 2)],
}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user without a run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEARTH_STATE", str(tmp_path / "state"))
    yield tmp_path


def answer(words: list[str]) -> tuple[int, Any]:
    """How a command ended, and the one document of its standard output."""
    with redirect_stdout(io.StringIO()) as printed:
        code = main(words)
    return code, json.loads(printed.getvalue())


def test_every_command_with_json_is_held_here() -> None:
    assert set(CASES) == set(commands_with()["--json"])


@pytest.mark.parametrize(
    ("command", "words", "code"),
    [(command, words, code) for command, cases in CASES.items() for words, code in cases],
)
def test_json_is_printed_whatever_the_answer(
    home: Path, command: str, words: str, code: int
) -> None:
    (home / _FILE).write_text("print(1)\n")
    typed = [*command.split(), "--json", *words.split()]
    ended, document = answer(typed)
    assert ended == code
    if isinstance(document, dict) and document["schema"] == "hearth/message/1":
        assert set(document) == {"schema", "exit_code", "message"}
        assert document["exit_code"] == code and document["message"]
    else:
        assert code == 0


def test_an_unknown_option_is_told_in_json_too(home: Path) -> None:
    for command in CASES:
        ended, document = answer([*command.split(), "--bogus", "--json"])
        assert (ended, document["exit_code"]) == (2, 2), command
        assert document["message"], command


def test_messages_go_to_standard_error(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--json", "--forget", _FILE]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == vars(
        Message("hearth/message/1", 0, "there was no saved winner")
    )
    assert printed.err == "hearth: there was no saved winner\n"


def test_an_applications_own_json_is_its_own(home: Path) -> None:
    with redirect_stdout(io.StringIO()) as printed:
        assert main(["compare", "--forget", _FILE, "--json"]) == 0
    assert printed.getvalue() == ""
