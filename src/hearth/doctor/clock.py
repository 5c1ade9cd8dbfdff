"""Whether the kernel's clock is synchronised with another (adjtimex(2))."""

import ctypes
import os

from hearth.base.absent import Absent, Measured

_UNSYNCHRONISED = 0x40  # STA_UNSYNC
#: Of struct timex on machines with longs of 8 bytes.
_STATUS = 40


def clock_synchronised() -> Measured[bool]:
    """Return it; nothing is set."""
    if ctypes.sizeof(ctypes.c_long) != 8:
        return Absent("adjtimex(2) is not known for this architecture")
    answer = ctypes.create_string_buffer(512)
    if ctypes.CDLL(None, use_errno=True).adjtimex(answer) < 0:
        return Absent(f"adjtimex(2) failed: {os.strerror(ctypes.get_errno())}")
    return not int.from_bytes(answer.raw[_STATUS : _STATUS + 4], "little") & _UNSYNCHRONISED
