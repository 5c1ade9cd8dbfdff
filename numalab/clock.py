"""How fast this machine's counter of time stamps runs, which an emulated machine sees as it is.

A guest's kernel measures it against emulated timers when it boots. Beside other work on the host it
measures wrongly, and its clock then runs too fast: 15 times was seen, so that every limit of time
inside was over at once.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import time

MEASURED_SECONDS = 0.1
#: rdtsc; shl rdx, 32; or rax, rdx; ret
_READ = bytes.fromhex("0f31 48c1e220 4809d0 c3")


def kernel_option() -> str:
    """Return what tells a guest's kernel the rate; nothing on machines without such a counter."""
    if platform.machine() != "x86_64":
        return ""
    return f"tsc_early_khz={tsc_khz()}"


def tsc_khz() -> int:
    """Return the counter's rate, measured against the kernel's clock."""
    memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(_READ)
    place = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    counter = ctypes.CFUNCTYPE(ctypes.c_uint64)(place)
    first, began = counter(), time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    time.sleep(MEASURED_SECONDS)
    last, ended = counter(), time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    return round(int(last - first) / (ended - began) * 1e6)
