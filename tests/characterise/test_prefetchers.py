"""Switching prefetchers: on files in place of the registers, which no machine of ours has.

A processor's registers cannot be had in the emulator, which ignores writes to this one: files of
the same layout stand in for /dev/cpu/N/msr.
"""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hearth.base.errors import UserError
from hearth.studies.engine.kernel_settings import (
    REGISTER,
    SavedSetting,
    cannot_switch_prefetchers,
    changed,
    prefetchers_off,
)
from support import ROOT, eventually

CPUS = (0, 3)
#: A register with the next-line prefetcher off already and a bit that is not ours.
BEFORE = (0b100 | 1 << 40).to_bytes(8, "little")


@pytest.fixture
def devices(tmp_path: Path) -> Path:
    for cpu in CPUS:
        (tmp_path / str(cpu)).mkdir()
        (tmp_path / str(cpu) / "msr").write_bytes(bytes(REGISTER) + BEFORE)
    (tmp_path / "cpuinfo").write_text("vendor_id : GenuineIntel\n")
    return tmp_path


def registers(devices: Path) -> set[bytes]:
    return {(devices / str(cpu) / "msr").read_bytes()[REGISTER:] for cpu in CPUS}


def test_those_named_are_off_on_every_cpu_all_others_on_and_other_bits_stay(devices: Path) -> None:
    with prefetchers_off(("l2-adjacent-line", "l1-ip"), CPUS, devices):
        assert registers(devices) == {(0b1010 | 1 << 40).to_bytes(8, "little")}
    assert registers(devices) == {BEFORE}


def test_the_old_state_comes_back_after_an_error(devices: Path) -> None:
    with pytest.raises(ZeroDivisionError), prefetchers_off((), CPUS, devices):
        _ = 1 / 0
    assert registers(devices) == {BEFORE}


def test_the_old_state_comes_back_after_kill_9(devices: Path) -> None:
    code = (
        "import sys, time, pathlib\n"
        "from hearth.studies.engine.kernel_settings import prefetchers_off\n"
        f"with prefetchers_off(('l1-ip',), {CPUS}, pathlib.Path({str(devices)!r})):\n"
        "    print('off', flush=True); time.sleep(60)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"off\n"
        assert registers(devices) != {BEFORE}
        holder.kill()
    eventually("the old state is back", lambda: registers(devices) == {BEFORE})


def test_a_processor_that_does_not_keep_the_bits_is_an_error_and_all_is_put_back(
    devices: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SavedSetting, "write", lambda cell: None)
    with pytest.raises(UserError, match="did not keep"), prefetchers_off((), CPUS, devices):
        pytest.fail("it ran all the same")
    assert registers(devices) == {BEFORE}


@pytest.mark.parametrize(
    ("error", "why"), [(errno.EPERM, "Secure Boot"), (errno.EIO, "this processor, or the hyperv")]
)
def test_a_register_that_refuses_a_value_is_explained_by_its_error(
    devices: Path, monkeypatch: pytest.MonkeyPatch, error: int, why: str
) -> None:
    def refuse(_: SavedSetting) -> None:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(SavedSetting, "write", refuse)
    with pytest.raises(UserError, match=why), prefetchers_off((), CPUS, devices):
        pytest.fail("it ran all the same")


def test_a_value_that_cannot_be_put_back_is_said_and_not_hidden(tmp_path: Path) -> None:
    file = tmp_path / "setting"
    file.write_bytes(b"1")
    before, wanted = SavedSetting(file, 0, b"1"), SavedSetting(file, 0, b"0")
    with pytest.raises(UserError, match="could not be restored"), changed([before], [wanted]):
        file.unlink()


def test_why_they_cannot_be_switched_is_told(devices: Path) -> None:
    info = devices / "cpuinfo"
    assert cannot_switch_prefetchers(CPUS, devices, info) is None
    assert "modprobe msr" in str(cannot_switch_prefetchers((7,), devices, info))
    (devices / "3" / "msr").write_bytes(b"")
    info.write_text("vendor_id : AuthenticAMD\n")
    assert "Intel's processors only" in str(cannot_switch_prefetchers(CPUS, devices, info))
