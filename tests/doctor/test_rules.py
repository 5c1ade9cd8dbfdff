"""Each rule of the doctor on made trees: right, wrong, of which nothing is seen, and damaged."""

import os
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.cases import ALSO, CASES
from doctor.made_machine import Given, nothing
from hearth.base.absent import Absent
from hearth.doctor.examine import examine
from hearth.doctor.machine import temporary
from hearth.doctor.rule import Fine, Outcome, Problem, Rule
from hearth.doctor.rules import RULES
from hearth.machine.tree import Tree


def told(rule: Rule, outcome: Outcome | Absent) -> str:
    if isinstance(outcome, Absent):
        return f"unseen: {outcome.reason}"
    if isinstance(outcome, Fine):
        return f"fine: {outcome.seen}"
    where = outcome.reads or rule.reads
    return f"{outcome.severity}: {outcome.seen} | {rule.how_for(outcome)} | {where}"


def test_every_rule_has_its_cases() -> None:
    assert RULES.keys() == CASES.keys()


@pytest.mark.parametrize("name", RULES)
def test_a_rule_finds_what_is_wrong_and_claims_nothing_else(name: str, tmp_path: Path) -> None:
    rule, case = RULES[name], CASES[name]
    assert told(rule, rule.outcome(case.right.machine(tmp_path / "right"))).startswith("fine: ")
    unseen = rule.outcome(nothing(tmp_path / "nothing"))
    assert isinstance(unseen, Absent) and unseen.reason
    found = rule.outcome(case.wrong.machine(tmp_path / "wrong"))
    assert isinstance(found, Problem), found
    assert found.severity == case.severity
    assert found.seen and (found.reads or rule.reads)
    assert bool(found.changes) == (rule.how_for(found) == "nothing")
    assert all(change.path.startswith(("proc/sys/", "sys/")) for change in found.changes)
    assert len({change.value for change in found.changes}) < 2, "a command writes one value"


@pytest.mark.parametrize(("name", "given", "said"), ALSO)
def test_what_a_rule_says_of_what_machines_really_hold(
    name: str, given: Given, said: str, tmp_path: Path
) -> None:
    line = told(RULES[name], RULES[name].outcome(given.machine(tmp_path)))
    first, *parts = said.split("...")
    assert line.startswith(first.strip()), line
    assert all(part.strip() in line for part in parts), line


@pytest.mark.parametrize(
    ("value", "native", "maker", "change", "worth"),
    [
        ("1", False, "AuthenticAMD", "0", "unknown"),
        ("3", False, "GenuineIntel", "2", "unknown"),
        ("2", False, "AuthenticAMD", None, None),
        ("0", True, "AuthenticAMD", "1", "published"),
        ("0", True, "GenuineIntel", "1", "unknown"),
    ],
)
def test_numa_balancing_is_worth_a_figure_only_where_nothing_is_bound_on_the_makers_processors(
    tmp_path: Path, value: str, native: bool, maker: str, change: str | None, worth: str | None
) -> None:
    files = {"proc/sys/kernel/numa_balancing": value,
             "proc/cpuinfo": f"processor : 0\nvendor_id : {maker}\n"}  # fmt: skip
    machine = Given(files, plan={"mode": "native" if native else "bound"}).machine(tmp_path)
    rule = RULES["numa-balancing"]
    outcome = rule.outcome(machine)
    changes = outcome.changes if isinstance(outcome, Problem) else ()
    assert [one.value for one in changes] == ([] if change is None else [change])
    found = examine(machine, None, {}, [rule]).findings
    assert [one.worth.kind for one in found] == ([] if worth is None else [worth])


def test_directories_that_every_jvm_writes_to_are_told_by_their_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = RULES["directory-modes"]
    modes = {"tmp": 0o1777, "data": 0o700, "dev/shm": 0o1777}
    given = Given(modes=modes, user={"local_dirs": ["/data", "/not-yet"]})
    machine = given.machine(tmp_path)

    def said() -> str:
        return told(rule, rule.outcome(machine)).partition(" | ")[0]

    assert said() == "fine: /tmp: mode 1777; /data: mode 0700; /dev/shm: mode 1777"
    monkeypatch.setattr(Tree, "may_write", lambda self, path: path != "data")
    assert said() == "harm: /data: mode 0700: this user may not write there"
    (tmp_path / "data").rmdir()
    (tmp_path / "data").write_text("")
    assert said() == "harm: /data is not a directory"
    (tmp_path / "data").unlink()
    (tmp_path / "data").symlink_to("data")
    assert said() == "unseen: could not read /data: Too many levels of symbolic links"


def test_where_no_directory_for_temporary_files_can_be_written_that_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> str:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", none)
    monkeypatch.delenv("TMPDIR", raising=False)
    assert temporary() == "/tmp"
    monkeypatch.setattr(Tree, "may_write", lambda self, path: False)  # as on a read-only root
    machine = Given(user={"temporary": temporary()}).machine(tmp_path)
    for name, said in (
        ("directory-modes", "harm: /tmp does not exist, and this user may not create it"),
        ("state-space", "harm: /home/a/.local/state/hearth: may not be written | export XDG_STATE"),
    ):
        assert told(RULES[name], RULES[name].outcome(machine)).startswith(said)


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
