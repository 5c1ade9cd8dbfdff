"""The machine as an earlier run read it, as long as nothing relevant has changed.

Reading takes a JVM with 0.2 s of CPU time, which matters when profiling a short run.
The document is kept in the cache: for this boot, hearth, the CPUs and memory that this process may
use, its cgroups, the machine's settings, memory and devices. The memory that was free is left out.
"""

import contextlib
import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any, TypedDict

from hearth.base.absent import Measured
from hearth.base.codec import load_document, to_json
from hearth.base.private_files import private_directory
from hearth.machine import class_data, paths
from hearth.record import kernel
from hearth.record.schema import RecordedMachine, Setting
from hearth.record.store import write_document

_NAME = "machine"
#: What batch systems set for a job (BatchLimits on the JVM side).
_JOBS = re.compile(r"SLURM_|PBS_|LSB_|SGE_|NCPUS$|NSLOTS$|NHOSTS$|(CPU|MEM)_LIMIT$")
_DEVICES = ("class/net", "class/infiniband", "block")


class _Saved(TypedDict):
    boot_id: str
    machine: RecordedMachine


class KnownMachine:
    """The place of one reading; settings: those of `machine_settings`."""

    def __init__(self, settings: dict[str, Measured[Setting]], root: Path = Path("/")) -> None:
        boot = root / "proc/sys/kernel/random/boot_id"  # a sandbox may have none
        self._boot = boot.read_text(encoding="ascii").strip() if boot.is_file() else None
        status = kernel.parse_status((root / "proc/self/status").read_text(encoding="utf-8"))
        allowed = [status.get("Cpus_allowed_list"), status.get("Mems_allowed_list")]
        groups = root / "proc/self/cgroup"  # whose quota may be another's
        allowed.append(groups.read_text(encoding="utf-8") if groups.is_file() else None)
        allowed += [
            f"{name}={os.environ[name]}" for name in sorted(os.environ) if _JOBS.match(name)
        ]
        total = (root / "proc/meminfo").read_text(encoding="ascii").partition("\n")[0]
        folders = filter(Path.is_dir, map((root / "sys").joinpath, _DEVICES))
        devices = [sorted(path.name for path in folder.iterdir()) for folder in folders]
        facts = json.dumps([allowed, total, devices, to_json(settings)], sort_keys=True)
        key = hashlib.sha256(f"{class_data.key([paths.hearth_jar()], [])} {facts}".encode())
        self._file = paths.cache_home() / f"{_NAME}-{key.hexdigest()[:16]}.json"

    def document(self) -> dict[str, Any] | None:
        """Return what was read in this boot; None if nothing was."""
        try:
            saved = load_document(self._file, _Saved)
        except (OSError, ValueError):  # not there, or damaged: it is read again
            return None
        if self._boot is None or saved["boot_id"] != self._boot:
            return None
        return dict(saved["machine"])

    def keep(self, machine: dict[str, Any]) -> None:
        """Keep what was just read; if that fails, it is read again next time."""
        nodes = machine.get("nodes", [])
        lasting = [{k: v for k, v in node.items() if k != "free_bytes"} for node in nodes]
        machine = {**machine, "nodes": lasting}
        with contextlib.suppress(OSError):
            private_directory(self._file.parent)
            write_document(self._file, {"boot_id": self._boot, "machine": machine})
            class_data.drop_oldest(self._file.parent, _NAME)
