"""A setting that is switched: kept before, put back, also after a kill in the middle."""

import errno
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from doctor.cases import CASES
from doctor.made_machine import booted
from hearth.base.errors import UserError
from hearth.doctor.machine import Machine
from hearth.doctor.rules import changes_of
from hearth.machine.switch import SavedValue, Switch, Switched

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


def test_a_fix_is_made_and_taken_back(root: Path, machine: Machine, switch: Switch) -> None:
    switch.apply(switch.plan(CHECK, changes_of(CHECK, machine), persist=False))
    assert both(root) == ["1", "1"]
    with pytest.raises(UserError, match="is fixed already"):
        switch.plan(CHECK, changes_of(CHECK, machine), persist=False)
    switch.undo(CHECK)
    assert both(root) == ["0", "0"]
    with pytest.raises(UserError, match="hearth has not fixed offline-cpus"):
        switch.undo(CHECK)


def test_what_was_set_by_a_files_counterpart_is_put_back_there(root: Path, switch: Switch) -> None:
    """The kernel refuses 0 for dirty_background_bytes: the ratio is written, and it shows 0."""
    fixed, ratio = (root / f"proc/sys/vm/dirty_background_{what}" for what in ("bytes", "ratio"))
    machine = CASES["dirty-pages"].wrong.machine(root)
    before = ratio.read_text().strip()
    switch.apply(switch.plan("dirty-pages", changes_of("dirty-pages", machine), persist=False))
    assert fixed.read_text().strip() == str(1 << 30)
    ratio.write_text("0\n")  # as the kernel does
    switch.undo("dirty-pages")
    assert ratio.read_text().strip() == before
    assert fixed.read_text().strip() == str(1 << 30), "the kernel sets it to 0, and nobody else can"


def test_planning_a_fix_changes_nothing(root: Path, machine: Machine, switch: Switch) -> None:
    planned = switch.plan(CHECK, changes_of(CHECK, machine), persist=True)
    assert planned.settings == [SavedValue(FIRST, "0", "1"), SavedValue(SECOND, "0", "1")]
    assert both(root) == ["0", "0"]
    assert not (root / "etc").exists()


@pytest.mark.parametrize("writes", [0, 1, 2])
def test_after_a_kill_in_the_middle_undo_puts_back_what_was(
    root: Path, machine: Machine, switch: Switch, writes: int
) -> None:
    planned = switch.plan(CHECK, changes_of(CHECK, machine), persist=False)
    child = os.fork()
    if child == 0:
        _die_after(switch, writes)
        switch.apply(planned)
        os._exit(0)
    assert os.waitpid(child, 0)[1] != 0
    assert both(root) == [["0", "0"], ["1", "0"], ["1", "1"]][writes]
    switch.undo(CHECK)
    assert both(root) == ["0", "0"]


def _die_after(switch: Switch, writes: int) -> None:
    """Ends this process as SIGKILL would, after some settings or before the drop-ins."""
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
    planned = switch.plan(CHECK, changes_of(CHECK, machine), persist=False)
    (root / SECOND).unlink()
    (root / SECOND).symlink_to("/dev/null")
    with pytest.raises(UserError, match="cpu7/online"):
        switch.apply(planned)


def test_what_lasts_is_a_file_that_undo_removes(
    root: Path, machine: Machine, switch: Switch
) -> None:
    switch.apply(switch.plan(CHECK, changes_of(CHECK, machine), persist=True))
    file = root / "etc/tmpfiles.d/hearth-offline-cpus.conf"
    assert file.read_text().splitlines()[1:] == [
        f"w /{FIRST} - - - - 1",
        f"w /{SECOND} - - - - 1",
    ]
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    switch.undo(CHECK)
    assert not file.exists()
    assert both(root) == ["0", "0"]


def test_a_setting_of_sysctl_lasts_by_a_line_of_its_own(root: Path, switch: Switch) -> None:
    machine = CASES["memory-maps"].wrong.machine(root)
    switch.apply(switch.plan("memory-maps", changes_of("memory-maps", machine), persist=True))
    file = root / "etc/sysctl.d/90-hearth-memory-maps.conf"
    assert file.read_text().splitlines()[1:] == ["vm.max_map_count = 262144"]
    switch.undo("memory-maps")
    assert (root / "proc/sys/vm/max_map_count").read_text() == "65530\n"


def test_what_somebody_else_changed_since_is_left_alone(
    root: Path, machine: Machine, switch: Switch
) -> None:
    switch.apply(switch.plan(CHECK, changes_of(CHECK, machine), persist=False))
    (root / SECOND).write_text("2\n")
    with pytest.raises(UserError, match="somebody changed it since; it was '0' before"):
        switch.undo(CHECK)
    assert both(root) == ["1", "2"]


def test_a_change_that_ended_with_the_last_boot_is_forgotten(
    root: Path, machine: Machine, switch: Switch
) -> None:
    switch.apply(switch.plan(CHECK, changes_of(CHECK, machine), persist=False))
    (root / "proc/sys/kernel/random/boot_id").write_text("the next boot\n")
    for path in (FIRST, SECOND):
        (root / path).write_text("0\n")
    assert switch.plan(CHECK, changes_of(CHECK, machine), persist=False).settings


def test_a_record_that_names_another_file_writes_nothing(
    root: Path, machine: Machine, switch: Switch, tmp_path: Path
) -> None:
    other = root / "etc" / "passwd"
    other.parent.mkdir()
    other.write_text("root")
    forged = Switched(CHECK, "this boot", [SavedValue("sys/../etc/passwd", "evil", "root")], [])
    switch._keep(forged)
    with pytest.raises(UserError, match="is not a setting of the kernel"):
        switch.undo(CHECK)
    switch._keep(replace(forged, settings=[], drop_ins=["etc/passwd"]))
    with pytest.raises(UserError, match="names files that hearth does not write"):
        switch.undo(CHECK)
    assert other.read_text() == "root"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nothing", "--fix: 'nothing' is not a check: 'hearth doctor --all' lists them"),
        ("turbos", "did you mean 'turbo'?"),
        ("turbo", "there is nothing to fix in turbo: there is no /sys"),
        ("uneven-nodes", "hearth cannot change uneven-nodes itself: "),
    ],
)
def test_what_cannot_be_fixed_is_said(root: Path, switch: Switch, name: str, said: str) -> None:
    machine = CASES["uneven-nodes"].wrong.machine(root)
    with pytest.raises(UserError, match=said):
        switch.plan(name, changes_of(name, machine), persist=False)


def test_without_the_right_to_write_the_command_for_the_host_is_said(
    root: Path, machine: Machine, switch: Switch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(UserError, match=r"cannot be written here .* on the host, as root: sh -c"):
        switch.plan(CHECK, changes_of(CHECK, machine), persist=False)


@pytest.mark.parametrize(("error", "as_root"), [(errno.EACCES, True), (errno.EINVAL, False)])
def test_only_where_a_right_is_missing_is_root_asked_for(
    machine: Machine, switch: Switch, monkeypatch: pytest.MonkeyPatch, error: int, as_root: bool
) -> None:
    planned = switch.plan(CHECK, changes_of(CHECK, machine), persist=False)

    def refuse(*_: object) -> int:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr("hearth.machine.switch.os.write", refuse)
    with pytest.raises(UserError) as said:
        switch.apply(planned)
    assert os.strerror(error) in str(said.value)
    assert ("run it as root" in str(said.value)) == as_root
