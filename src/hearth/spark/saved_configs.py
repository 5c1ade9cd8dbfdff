"""Save and find the best configuration of an application on this machine.

By `hearth compare --keep`, which `hearth submit` uses, and by `hearth tune`, which `hearth submit
--tuned` uses.
"""

import hashlib
import json
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypedDict

from hearth.base.codec import LEFT_OUT, read_typed, to_json
from hearth.base.errors import UserError
from hearth.base.private_files import private_directory, write_private
from hearth.spark.submit_args import SubmitLine

#: Options with which the user makes the choice: then a kept one is not used.
_FIXING = {"--executors", "--cores", "--memory", "--bind", "--docker", "--hosts"}


class ComparedConfig(TypedDict):
    """A saved configuration; master: None if the words suffice."""

    arm: str
    comparison: str
    sentence: str
    master: str | None
    words: list[str]


class TunedConfig(TypedDict):
    """The newest result of `hearth tune` for an application and machine.

    master: of a configuration that hearth does not plan; executors, cores: None where the plan
    says. conf: settings, java: flags for the options of that name.
    """

    tune: str
    date: str
    sentence: str
    master: str | None
    executors: int | None
    cores: int | None
    unbound: bool
    conf: dict[str, str]
    java: dict[str, str]


@dataclass(frozen=True)
class SavedConfigs:
    """The configurations saved for an application on one machine: `saved/KEY.json` in the state."""

    application: str
    compared: ComparedConfig | None = field(default=None, metadata=LEFT_OUT)
    tuned: TunedConfig | None = field(default=None, metadata=LEFT_OUT)


_REMEDY = "delete it, or replace it with 'hearth compare --keep' or 'hearth tune'"


def keep_tuned(home: Path, named: str, config: TunedConfig, root: Path = Path("/")) -> None:
    """Keep what was found for an application (`application`) on this machine, over any older."""
    _write(home, replace(_sound(home, named, root), tuned=config), root)


def withdraw_tuned(home: Path, named: str, root: Path = Path("/")) -> TunedConfig | None:
    """Delete what was kept of an application's tunes; return it, None where there was nothing."""
    saved = _sound(home, named, root)
    if saved.tuned is not None:
        _write(home, replace(saved, tuned=None), root)
    return saved.tuned


def kept_tuned(home: Path, named: str, root: Path = Path("/")) -> TunedConfig | None:
    """Return the saved result, or None; raise UserError if it is damaged."""
    return _read(home, named, root).tuned


def workload_named(job: str) -> str:
    """Return the name under which a workload is saved."""
    return f"workload {job}"


def keep_compared(
    home: Path, line: SubmitLine, config: ComparedConfig, root: Path = Path("/")
) -> Path:
    """Write the winner for this application on this machine."""
    return _write(home, replace(_sound(home, application(line), root), compared=config), root)


def kept_compared(home: Path, line: SubmitLine, root: Path = Path("/")) -> ComparedConfig | None:
    """Return what was kept, where the user left the choice open: no master, nothing fixed.

    Raises UserError for one that is damaged.
    """
    fixed = _FIXING & line.planning.given.keys()
    if not line.application or line.has("--master") or fixed:
        return None
    return _read(home, application(line), root).compared


def forget_compared(home: Path, line: SubmitLine, root: Path = Path("/")) -> bool:
    """Return whether there was one to forget."""
    try:
        saved = _read(home, application(line), root)
    except UserError:  # a damaged one goes as well
        saved = SavedConfigs(application(line))
        _write(home, saved, root)
        return True
    _write(home, replace(saved, compared=None), root)
    return saved.compared is not None


def _read(home: Path, named: str, root: Path) -> SavedConfigs:
    file = _file(home, named, root)
    if not os.path.lexists(file):
        return SavedConfigs(named)
    saved = read_typed(file, SavedConfigs, _REMEDY)
    if not (saved.compared or saved.tuned):  # such a file is never written
        raise UserError(f"'{file}' holds no saved configuration: {_REMEDY}")
    return saved


def _sound(home: Path, named: str, root: Path) -> SavedConfigs:
    """Return what is saved; nothing if it is damaged, as it is about to be replaced."""
    try:
        return _read(home, named, root)
    except UserError:
        return SavedConfigs(named)


def _write(home: Path, saved: SavedConfigs, root: Path) -> Path:
    """Write it in place of what was there; no file is left where nothing is saved."""
    file = _file(home, saved.application, root)
    if saved.compared or saved.tuned:
        private_directory(file.parent)
        write_private(file, json.dumps(to_json(saved), indent=1))
    else:
        file.unlink(missing_ok=True)
    return file


def _file(home: Path, named: str, root: Path) -> Path:
    return home / "saved" / f"{_key(named, root)}.json"


def application(line: SubmitLine) -> str:
    """Return the identity of an application: the file, and the class of a jar."""
    file = str(Path(line.application[0]).resolve())
    name = line.last("--class")
    return f"{file} {name}" if name else file


def _key(named: str, root: Path) -> str:
    return hashlib.sha256(f"{named}\n{machine_key(root)}".encode()).hexdigest()[:24]


def machine_key(root: Path = Path("/")) -> str:
    """Tell machines apart: the processor's name, and which CPUs each NUMA node has."""
    info = (root / "proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    names = {line for line in info.splitlines() if line.startswith(("model name", "cpu\t", "CPU "))}
    nodes = sorted((root / "sys/devices/system/node").glob("node[0-9]*/cpulist"))
    cpus = [f"{file.parent.name}={file.read_text(encoding='ascii').strip()}" for file in nodes]
    return hashlib.sha256("\n".join([*sorted(names), *cpus]).encode()).hexdigest()[:16]
