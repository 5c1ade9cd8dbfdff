"""A setting that is switched: kept before, put back, also after a kill in the middle."""

import errno
import os
import re
from pathlib import Path

import pytest

from doctor.cases import CASES
from doctor.made_machine import booted
from hearth.base.codec import to_json
from hearth.base.errors import UserError
from hearth.doctor.machine import Machine
from hearth.doctor.rules import changes_of
from hearth.machine.switch import SavedValue, Switch, Switched
from hearth.record.store import write_document

CHECK = "offline-cpus"
FIRST, SECOND = "sys/devices/system/cpu/cpu6/online", "sys/devices/system/cpu/cpu7/online"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = booted(tmp_path)
    for path in (FIRST, SECOND):
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_text("0\n")
    return folder


@pytest.fixture
def machine(root: Path) -> Machine:
    """CPUs 6 and 7 are offline."""
    return CASES[CHECK].wrong.machine(root)


@pytest.fixture
def switch(root: Path, tmp_path: Path) -> Switch:
    return Switch(root, tmp_path / "state" / "switched")


def both(root: Path) -> list[str]:
    return [(root / path).read_text().strip() for path in (FIRST, SECOND)]


def abandoned(switch: Switch, planned: Switched) -> None:
    """What a process leaves that is killed together with its guardian."""
    with switch._locked():
        switch._change(planned)


def test_a_setting_is_changed_for_a_while_and_put_back(
    root: Path, machine: Machine, switch: Switch
) -> None:
    planned = switch.plan(CHECK, changes_of(CHECK, machine))
    assert planned.settings == [SavedValue(FIRST, "0", "1"), SavedValue(SECOND, "0", "1")]
    assert both(root) == ["0", "0"]
    with switch.held(planned):
        assert both(root) == ["1", "1"]
        with pytest.raises(UserError, match="it has not been restored yet"):
            switch.plan(CHECK, changes_of(CHECK, machine))
    assert both(root) == ["0", "0"]
    with pytest.raises(ZeroDivisionError), switch.held(planned):
        _ = 1 / 0
    assert both(root) == ["0", "0"]
    assert not list((root.parent / "state").rglob("*.json"))


def test_what_was_set_by_a_files_counterpart_is_put_back_there(root: Path, switch: Switch) -> None:
    """The kernel refuses 0 for dirty_background_bytes: the ratio is written, and it shows 0."""
    fixed, ratio = (root / f"proc/sys/vm/dirty_background_{what}" for what in ("bytes", "ratio"))
    machine = CASES["dirty-pages"].wrong.machine(root)
    before = ratio.read_text().strip()
    with switch.held(switch.plan("dirty-pages", changes_of("dirty-pages", machine))):
        assert fixed.read_text().strip() == str(1 << 30)
        ratio.write_text("0\n")  # as the kernel does
    assert ratio.read_text().strip() == before
    assert fixed.read_text().strip() == str(1 << 30), "the kernel sets it to 0, and nobody else can"


@pytest.mark.parametrize("writes", [0, 1, 2])
def test_after_a_kill_in_the_middle_what_was_is_put_back(
    root: Path, machine: Machine, switch: Switch, writes: int
) -> None:
    planned = switch.plan(CHECK, changes_of(CHECK, machine))
    child = os.fork()
    if child == 0:
        _die_after(switch, writes)
        abandoned(switch, planned)
        os._exit(0)
    assert os.waitpid(child, 0)[1] != 0
    assert both(root) == [["0", "0"], ["1", "0"], ["1", "1"]][writes]
    assert switch.take_back_abandoned() == [
        "put back offline-cpus, which a comparison that was killed had switched"
    ]
    assert both(root) == ["0", "0"]
    assert switch.take_back_abandoned() == []


def _die_after(switch: Switch, writes: int) -> None:
    """Ends this process as SIGKILL would, after some settings."""
    write, done = switch._write, []

    def write_or_die(path: str, value: str) -> None:
        if len(done) == writes:
            os._exit(9)
        write(path, value)
        done.append(path)
        if len(done) == 2:
            os._exit(9)

    switch._write = write_or_die  # type: ignore[method-assign]


def test_a_value_that_the_kernel_does_not_keep_is_put_back(
    root: Path, machine: Machine, switch: Switch
) -> None:
    planned = switch.plan(CHECK, changes_of(CHECK, machine))
    (root / SECOND).unlink()
    (root / SECOND).symlink_to("/dev/null")
    with pytest.raises(UserError, match="cpu7/online"), switch.held(planned):
        pass


def test_what_somebody_else_changed_since_is_left_alone(
    root: Path, machine: Machine, switch: Switch
) -> None:
    abandoned(switch, switch.plan(CHECK, changes_of(CHECK, machine)))
    (root / SECOND).write_text("2\n")
    (said,) = switch.take_back_abandoned()
    assert "somebody changed it since; it was '0' before" in said
    assert both(root) == ["1", "2"]


def test_a_change_that_ended_with_the_last_boot_is_forgotten(
    root: Path, machine: Machine, switch: Switch
) -> None:
    abandoned(switch, switch.plan(CHECK, changes_of(CHECK, machine)))
    (root / "proc/sys/kernel/random/boot_id").write_text("the next boot\n")
    (root / SECOND).write_text("2\n")
    switch.take_back_abandoned()
    assert both(root) == ["1", "2"]
    assert not list((root.parent / "state").rglob("*.json"))


def test_a_record_that_names_another_file_writes_nothing(
    root: Path, machine: Machine, switch: Switch, tmp_path: Path
) -> None:
    other = root / "etc" / "passwd"
    other.parent.mkdir()
    other.write_text("root")
    forged = Switched(CHECK, "this boot", [SavedValue("sys/../etc/passwd", "evil", "root")])
    assert switch.take_back_abandoned() == []
    write_document(switch._file(CHECK), to_json(forged))
    (said,) = switch.take_back_abandoned()
    assert "is not a setting of the kernel" in said
    assert other.read_text() == "root"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nothing", "--arms: 'nothing' is not a check: 'hearth doctor --all' lists them"),
        ("turbos", "did you mean 'turbo'?"),
        ("turbo", "there is nothing to fix in turbo: there is no /sys"),
        ("uneven-nodes", "hearth cannot change uneven-nodes itself: "),
    ],
)
def test_what_cannot_be_fixed_is_said(root: Path, name: str, said: str) -> None:
    machine = CASES["uneven-nodes"].wrong.machine(root)
    with pytest.raises(UserError, match=re.escape(said)):
        changes_of(name, machine)


def test_without_the_right_to_write_nothing_is_planned(
    machine: Machine, switch: Switch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(UserError, match=r"cpu6/online cannot be written here \(only by root"):
        switch.plan(CHECK, changes_of(CHECK, machine))


@pytest.mark.parametrize(("error", "as_root"), [(errno.EACCES, True), (errno.EINVAL, False)])
def test_only_where_a_right_is_missing_is_root_asked_for(
    machine: Machine, switch: Switch, monkeypatch: pytest.MonkeyPatch, error: int, as_root: bool
) -> None:
    planned = switch.plan(CHECK, changes_of(CHECK, machine))

    def refuse(*_: object) -> int:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr("hearth.machine.switch.os.write", refuse)
    with pytest.raises(UserError) as said, switch.held(planned):
        pass
    assert os.strerror(error) in str(said.value)
    assert ("run it as root" in str(said.value)) == as_root
