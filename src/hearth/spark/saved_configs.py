"""Save and find the best configuration of an application on this machine.

By `hearth compare --keep`, which `hearth submit` uses, and by `hearth tune`, which `hearth submit
--tuned` uses.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any, TypedDict, cast

from hearth.base.codec import read_document
from hearth.base.private_files import private_directory, write_private
from hearth.spark.submit_args import SubmitLine

#: Options with which the user makes the choice: then a kept one is not used.
_FIXING = {"--executors", "--cores", "--memory", "--bind", "--unbound", "--docker", "--hosts"}


class Choice(TypedDict):
    """A saved configuration; master: None if the words suffice."""

    arm: str
    comparison: str
    sentence: str
    master: str | None
    words: list[str]


class TunedChoice(TypedDict):
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


def keep_tuned(home: Path, named: str, choice: TunedChoice, root: Path = Path("/")) -> None:
    """Keep what was found for an application (`application`) on this machine, over any older."""
    file = _tuned_file(home, named, root)
    private_directory(file.parent)
    write_private(file, json.dumps({"application": named, **choice}, indent=1))


def tuned_choice(home: Path, named: str, root: Path = Path("/")) -> TunedChoice | None:
    """Return the saved result, or None; raise UserError if it is damaged."""
    file = _tuned_file(home, named, root)
    if not os.path.lexists(file):
        return None
    found = read_document(file, TunedChoice, "delete it, or replace it with 'hearth tune'")
    return cast(TunedChoice, found)


def workload_named(job: str) -> str:
    """Return the name under which a workload is saved."""
    return f"workload {job}"


def _tuned_file(home: Path, named: str, root: Path) -> Path:
    return home / "tuned" / f"{_key(named, root)}.json"


def keep_choice(
    home: Path, line: SubmitLine, choice: dict[str, Any], root: Path = Path("/")
) -> Path:
    """Write the winner for this application on this machine.

    choice: {arm, comparison, sentence; master, words: with which `hearth submit` runs it so}.
    """
    file = _file(home, line, root)
    private_directory(file.parent)
    write_private(file, json.dumps({"application": application(line), **choice}, indent=1))
    return file


def kept_choice(home: Path, line: SubmitLine, root: Path = Path("/")) -> dict[str, Any] | None:
    """Return the kept choice, where the user left the choice open: no master, nothing fixed.

    Raises UserError for one that is damaged.
    """
    fixed = _FIXING & line.asked.given.keys()
    if not line.application or line.has("--master") or fixed:
        return None
    file = _file(home, line, root)
    if not os.path.lexists(file):
        return None
    return read_document(file, Choice, "delete it, or replace it with 'hearth compare --keep'")


def forget_choice(home: Path, line: SubmitLine, root: Path = Path("/")) -> bool:
    """Return whether there was one to forget."""
    file = _file(home, line, root)
    there = os.path.lexists(file)
    file.unlink(missing_ok=True)
    return there


def application(line: SubmitLine) -> str:
    """Return the identity of an application: the file, and the class of a jar."""
    file = str(Path(line.application[0]).resolve())
    name = line.last("--class")
    return f"{file} {name}" if name else file


def _file(home: Path, line: SubmitLine, root: Path) -> Path:
    return home / "choices" / f"{_key(application(line), root)}.json"


def _key(named: str, root: Path) -> str:
    return hashlib.sha256(f"{named}\n{machine_key(root)}".encode()).hexdigest()[:24]


def machine_key(root: Path = Path("/")) -> str:
    """Tell machines apart: the processor's name, and which CPUs each NUMA node has."""
    info = (root / "proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    names = {line for line in info.splitlines() if line.startswith(("model name", "cpu\t", "CPU "))}
    nodes = sorted((root / "sys/devices/system/node").glob("node[0-9]*/cpulist"))
    cpus = [f"{file.parent.name}={file.read_text(encoding='ascii').strip()}" for file in nodes]
    return hashlib.sha256("\n".join([*sorted(names), *cpus]).encode()).hexdigest()[:16]
