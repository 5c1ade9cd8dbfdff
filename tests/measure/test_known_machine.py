"""The machine of a run before is taken for this one's only while nothing that tells has changed."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hearth.machine.known_machine import KnownMachine
from hearth.record.schema import Launched
from hearth.record.store import RecordWriter, new_directory
from hearth.spark.machine_reading import MachineReading

SETTINGS = {"smt": {"value": "on"}}
READ = {"schema": "hearth/topology/1", "nodes": [{"id": 0, "free_bytes": 5}, {"id": 1}]}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine's files; the cache is the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "root"
    write(root / "proc/sys/kernel/random/boot_id", "boot-1\n")
    write(root / "proc/self/status", "Cpus_allowed_list:\t0-7\nMems_allowed_list:\t0-1\n")
    write(root / "proc/meminfo", "MemTotal:  100 kB\nMemFree:  50 kB\n")
    write(root / "sys/class/net/eth0/mtu", "1500\n")
    return root


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_what_was_read_is_known_but_for_the_memory_that_was_free(root: Path) -> None:
    assert KnownMachine(SETTINGS, root).document() is None
    KnownMachine(SETTINGS, root).keep(READ)
    nodes = [{"id": 0}, {"id": 1}]
    assert KnownMachine(SETTINGS, root).document() == {**READ, "nodes": nodes}


CHANGES: dict[str, Callable[[Path], None]] = {
    "another boot": lambda r: write(r / "proc/sys/kernel/random/boot_id", "boot-2\n"),
    "other CPUs allowed": lambda r: write(r / "proc/self/status", "Cpus_allowed_list:\t0\n"),
    "another cgroup": lambda r: write(r / "proc/self/cgroup", "0::/other\n"),
    "more memory": lambda r: write(r / "proc/meminfo", "MemTotal:  200 kB\n"),
    "a device that came": lambda r: write(r / "sys/class/net/eth1/mtu", "1500\n"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_after_a_change_the_machine_is_read_again(root: Path, change: str) -> None:
    KnownMachine(SETTINGS, root).keep(READ)
    CHANGES[change](root)
    assert KnownMachine(SETTINGS, root).document() is None


def test_with_another_setting_the_machine_is_read_again(root: Path) -> None:
    KnownMachine(SETTINGS, root).keep(READ)
    assert KnownMachine({"smt": {"value": "off"}}, root).document() is None


def test_what_a_kill_tore_is_read_again(root: Path, tmp_path: Path) -> None:
    KnownMachine(SETTINGS, root).keep(READ)
    (file,) = (tmp_path / "cache").rglob("machine-*.json")
    file.write_text(file.read_text()[:40])
    assert KnownMachine(SETTINGS, root).document() is None


def test_where_nothing_can_be_kept_the_machine_is_read_each_time(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "file", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))  # no directory
    KnownMachine(SETTINGS, root).keep(READ)
    assert KnownMachine(SETTINGS, root).document() is None


def test_where_the_kernel_tells_no_boot_nothing_is_taken_for_known(root: Path) -> None:
    (root / "proc/sys/kernel/random/boot_id").unlink()
    KnownMachine(SETTINGS, root).keep(READ)
    assert KnownMachine(SETTINGS, root).document() is None


def test_a_second_run_has_its_machine_at_once_and_reads_nothing(root: Path, tmp_path: Path) -> None:
    def record(name: str, answer: str) -> dict:
        writer = RecordWriter.create(
            new_directory(tmp_path, name), name, Launched(master="local[2]")
        )
        reading = MachineReading(writer, ["sh", "-c", answer], KnownMachine(SETTINGS, root))
        reading.look(final=True)
        return json.loads((writer.directory / "machine.json").read_text())

    read = record("first", f"echo '{json.dumps(READ)}'")
    assert read == READ
    assert record("second", "echo not read >&2; exit 3")["schema"] == READ["schema"]
