"""Each check of the doctor on made trees: right, wrong, of which nothing is seen, and damaged."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.cases import CASES
from doctor.made_machine import nothing
from hearth.base.absent import Absent
from hearth.doctor.rule import Fine, Problem, Rule
from hearth.doctor.rules import RULES


def test_every_check_has_its_cases() -> None:
    assert RULES.keys() == CASES.keys()
    assert len(RULES) >= 40


@pytest.mark.parametrize("name", RULES)
def test_where_all_is_right_nothing_is_found(name: str, tmp_path: Path) -> None:
    found = RULES[name].outcome(CASES[name].right.machine(tmp_path))
    assert isinstance(found, Fine), found
    assert found.seen


@pytest.mark.parametrize("name", RULES)
def test_what_is_wrong_is_found_with_evidence_and_a_command(name: str, tmp_path: Path) -> None:
    found = RULES[name].outcome(CASES[name].wrong.machine(tmp_path))
    assert isinstance(found, Problem), found
    assert found.severity == ("harm" if CASES[name].harm else "advice")
    assert found.seen and (found.reads or RULES[name].reads)
    assert RULES[name].command_for(found) != "none"
    for change in found.changes:
        assert change.path.startswith(("proc/sys/", "sys/"))


@pytest.mark.parametrize("name", RULES)
def test_of_a_machine_that_cannot_be_seen_nothing_is_claimed(name: str, tmp_path: Path) -> None:
    found = RULES[name].outcome(nothing(tmp_path))
    assert isinstance(found, Absent) and found.reason


@pytest.mark.parametrize("check", RULES.values(), ids=lambda check: check.name)
def test_a_check_says_why_what_is_better_and_where_that_is_known_from(check: Rule) -> None:
    assert check.why.endswith((".", "?")) and check.better and check.source and check.touches
    assert check.worth.kind == "unknown" or any(c.isdigit() for c in check.worth.text)


def _garbled(rng: random.Random) -> Callable[[Path], None]:
    return lambda file: file.write_bytes(b"\xff\xfe" + rng.randbytes(rng.randint(1, 200)))


def _directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _loop(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.name)


#: What leaves nothing that could be believed.
DESTROYED: dict[str, Callable[[random.Random], Callable[[Path], None]]] = {
    "garbled": _garbled,
    "empty": lambda rng: lambda file: file.write_bytes(b""),
    "one megabyte": lambda rng: lambda file: file.write_bytes(b"9" * (1 << 20)),
    "other words": lambda rng: (
        lambda file: file.write_bytes(b"[yes] -1 0x10 1e9 \xe2\x91\xa0\n" * 3)
    ),
    "a directory": lambda rng: _directory,
    "a pipe": lambda rng: _pipe,
    "a link to itself": lambda rng: _loop,
}
WITH_FILES = [name for name in RULES if CASES[name].wrong.files]


@pytest.mark.parametrize("damage", DESTROYED)
@pytest.mark.parametrize("name", WITH_FILES)
def test_destroyed_files_end_in_could_not_read(name: str, damage: str, tmp_path: Path) -> None:
    machine = CASES[name].wrong.machine(tmp_path)
    destroy = DESTROYED[damage](random.Random(f"{name} {damage}"))
    for path in CASES[name].wrong.files:
        destroy(tmp_path / path)
    found = RULES[name].outcome(machine)
    assert not isinstance(found, Problem), found
    if isinstance(found, Absent):
        assert found.reason.isprintable() and len(found.reason) < 300


@pytest.mark.parametrize("name", WITH_FILES)
def test_cut_and_altered_files_never_end_in_a_trace(name: str, tmp_path: Path) -> None:
    rng = random.Random(name)
    for turn in range(15):
        root = tmp_path / str(turn)
        machine = CASES[name].wrong.machine(root)
        for path in CASES[name].wrong.files:
            content = bytearray((root / path).read_bytes())
            for _ in range(rng.randint(0, 3)):
                content[rng.randrange(len(content)) :] = rng.choice(
                    [b"", b"\n", b"-", b"\0", rng.randbytes(5)]
                )
                content = content or bytearray(b"0")
            (root / path).write_bytes(content)
        found = RULES[name].outcome(machine)
        text = found.reason if isinstance(found, Absent) else found.seen
        assert text.isprintable() and len(text) < 300
        shutil.rmtree(root)
