"""Machine settings that are changed for a while and restored, whichever process dies meanwhile.

A guardian holds the old values, and writes them back, even after kill -9.

The processor's data prefetchers are such settings: in MSR_MISC_FEATURE_CONTROL (0x1A4) a set bit
disables one (Intel, "Disclosure of H/W prefetcher control on some Intel processors"; Awan 2016).
The register is read and written through /dev/cpu/N/msr (msr(4)), on every CPU that this process may
use.
"""

import contextlib
import errno
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hearth.base.errors import UserError
from hearth.base.processes import start_guardian

_RESTORE = """
import json, os, sys
sys.stdin.read()
for path, offset, value in json.loads(sys.argv[1]):
    file = os.open(path, os.O_WRONLY)
    os.pwrite(file, bytes.fromhex(value), offset)
    os.close(file)
"""


@dataclass(frozen=True)
class SavedSetting:
    """Bytes at a place of a file: the whole text of a sysctl, or a register of /dev/cpu/N/msr."""

    path: Path
    offset: int
    value: bytes

    def write(self) -> None:
        """Write the value without truncating: neither kind of file can be made shorter."""
        file = os.open(self.path, os.O_WRONLY)
        try:
            os.pwrite(file, self.value, self.offset)
        finally:
            os.close(file)


@contextlib.contextmanager
def changed(before: Sequence[SavedSetting], wanted: Sequence[SavedSetting]) -> Iterator[None]:
    """Write `wanted`, and `before` at the end; raise UserError where that cannot be written."""
    old = [[str(cell.path), cell.offset, cell.value.hex()] for cell in before]
    guardian = start_guardian([sys.executable, "-I", "-c", _RESTORE, json.dumps(old)])
    try:
        for cell in wanted:
            cell.write()
        yield
    finally:
        guardian.communicate()
    if guardian.returncode:
        names = ", ".join(sorted({str(cell.path) for cell in before}))
        raise UserError(f"{names}: the old values could not be restored: check the setting")


REGISTER = 0x1A4
PREFETCHERS = {"l2-hardware": 0, "l2-adjacent-line": 1, "l1-next-line": 2, "l1-ip": 3}
_BYTES = 8
_DEVICES = Path("/dev/cpu")
_CPUINFO = Path("/proc/cpuinfo")


def cannot_switch_prefetchers(
    cpus: Iterable[int], devices: Path = _DEVICES, cpuinfo: Path = _CPUINFO
) -> str | None:
    """Return why the prefetchers cannot be switched here; None where they can be tried."""
    if "GenuineIntel" not in cpuinfo.read_text(encoding="utf-8", errors="replace"):
        return "the register that switches prefetchers is known of Intel's processors only"
    for cpu in cpus:
        device = devices / str(cpu) / "msr"
        if not device.exists():
            return f"there is no {device}: as root, 'modprobe msr' makes it"
        if not os.access(device, os.R_OK | os.W_OK):
            return f"{device} can only be read and written by root"
        try:
            _read(device)
        except OSError as error:
            return f"{device}: register {REGISTER:#x} cannot be read: {error.strerror}"
    return None


@contextlib.contextmanager
def prefetchers_off(
    names: Sequence[str], cpus: Iterable[int], devices: Path = _DEVICES
) -> Iterator[None]:
    """Switch some prefetchers off on these CPUs, all others on, and restore the old state.

    Raises UserError where the processor does not keep what was written.
    """
    places = [devices / str(cpu) / "msr" for cpu in cpus]
    before = [SavedSetting(device, REGISTER, _read(device)) for device in places]
    wanted = [SavedSetting(cell.path, REGISTER, _with(cell.value, names)) for cell in before]
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(changed(before, wanted))
        except OSError as error:
            why = {
                errno.EPERM: "a locked-down kernel (Secure Boot) refuses it",
                errno.EIO: "this processor, or the hypervisor, does not let it be changed",
            }.get(error.errno or 0, "see msr(4)")
            raise UserError(
                f"register {REGISTER:#x} cannot be written: {error.strerror}: {why}"
            ) from error
        _check_kept(wanted)
        yield


def _check_kept(wanted: Sequence[SavedSetting]) -> None:
    for cell in wanted:
        if _read(cell.path) != cell.value:
            raise UserError(
                f"{cell.path}: the processor did not keep what was written to register "
                f"{REGISTER:#x}: its prefetchers cannot be switched here"
            )


def _with(value: bytes, names: Sequence[str]) -> bytes:
    number = int.from_bytes(value, "little")
    for bit in PREFETCHERS.values():
        number &= ~(1 << bit)
    for name in names:
        number |= 1 << PREFETCHERS[name]
    return number.to_bytes(_BYTES, "little")


def _read(device: Path) -> bytes:
    file = os.open(device, os.O_RDONLY)
    try:
        return os.pread(file, _BYTES, REGISTER)
    finally:
        os.close(file)
