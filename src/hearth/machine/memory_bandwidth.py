"""The memory bandwidth that this machine sustains, measured once with a STREAM-like kernel.

The result is cached by machine, settings and the jar that measured it.
"""

import hashlib
import os
import platform
import sys
from pathlib import Path

from hearth.base.codec import load_typed, to_json, typed
from hearth.base.private_files import private_directory
from hearth.base.progress import working
from hearth.machine import jvm, paths
from hearth.record.schema import SustainedBandwidth
from hearth.record.store import write_document

_SETTINGS = (
    "/proc/cpuinfo",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/node/online",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/devices/system/cpu/smt/control",
)
# Of /proc/cpuinfo only what is fixed, not what changes from moment to moment.
_STEADY = ("model name", "cpu family", "stepping", "cache size", "CPU part", "cpu\t", "machine")


def known_bandwidth() -> SustainedBandwidth | None:
    """Return the bandwidth measured earlier with the machine's present settings, or None."""
    try:
        return load_typed(_file(), SustainedBandwidth)
    except (OSError, ValueError):  # not there, or damaged: it is measured again when needed
        return None


def sustained_bandwidth(*, debug: bool = False) -> SustainedBandwidth:
    """Return GB/s (10^9 bytes) of the triad by NUMA node, measured where it is not known yet.

    Its document: contract/examples/bandwidth.json.
    """
    known = known_bandwidth()
    if known is not None:
        return known
    print("hearth: measuring memory bandwidth, once for this machine ...", file=sys.stderr)
    with working("measuring memory bandwidth"):
        measured = typed(jvm.call("bandwidth", debug=debug, compute=True), SustainedBandwidth)
    try:
        file = _file()
        private_directory(file.parent)
        write_document(file, to_json(measured))
    except OSError as error:
        print(f"hearth: the bandwidth will be measured again next time: {error}", file=sys.stderr)
    return measured


def _file() -> Path:
    parts = [platform.machine(), platform.node(), _jar_stamp(), _allowed()]
    parts += [_steady(Path(name)) for name in _SETTINGS]
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    return paths.cache_home() / f"bandwidth-{key}.json"


def _jar_stamp() -> str:
    status = paths.hearth_jar().stat()
    return f"{status.st_size} {status.st_mtime_ns}"


def _allowed() -> str:
    return ",".join(str(cpu) for cpu in sorted(os.sched_getaffinity(0)))


def _steady(file: Path) -> str:
    text = file.read_text(errors="replace") if file.is_file() else ""
    if file.name != "cpuinfo":
        return text
    return "\n".join(line for line in text.splitlines() if line.startswith(_STEADY))
