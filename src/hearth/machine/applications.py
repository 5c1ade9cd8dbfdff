"""Applications that hearth started or whose driver has its jar: what is kept of each.

Its directory has what `hearth submit` knows when it starts one (`submit.json`, `plan.json`) and
when it has ended (`end.json`), and what the driver writes (`run.json` and more).
"""

import contextlib
import json
import os
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

from hearth.base.codec import LEFT_OUT, load_document, load_typed, read_typed, reason, to_json
from hearth.base.errors import UserError
from hearth.base.private_files import write_private
from hearth.base.processes import is_alive
from hearth.machine.memory_kills import MemoryKills
from hearth.machine.placement import Placement
from hearth.machine.plan import Plan

#: Where drivers keep what they leave behind, below the state directory.
FOLDER = "applications"


class Work(TypedDict):
    """What an application's tasks did, as its driver added it up."""

    tasks: int
    failed_tasks: int
    task_seconds: float
    gc_seconds: float
    driver_peak_mb: NotRequired[int]
    killed_executors: list[str]


class ApplicationDocument(TypedDict):
    """The part of `run.json` that is read; contract/examples/run.json has all of it."""

    schema: Literal["hearth/run/1"]
    app_id: str
    name: str
    master: str
    state: str
    started_at: str
    driver_pid: int
    driver_start_ticks: int
    ui: NotRequired[str]
    machine: NotRequired[str]
    work: NotRequired[Work]


@dataclass(frozen=True)
class Submitted:
    """`submit.json`: what `hearth submit` starts; the process becomes the driver.

    record: of the run, where it is profiled.
    """

    id: str
    name: str
    command: list[str]  #: as it is shown, without secrets
    application: list[str]  #: and its arguments, likewise
    master: str | None
    started_at: str
    machine: str
    driver_pid: int
    driver_start_ticks: int
    record: str | None = field(default=None, metadata=LEFT_OUT)
    schema: Literal["hearth/submit/1"] = "hearth/submit/1"


@dataclass(frozen=True)
class Ended:
    """`end.json`: how it ended, as `hearth submit` saw it; peak_mb: of its largest process."""

    state: Literal["finished", "failed", "interrupted", "killed"]
    exit_code: int
    wall_s: float
    cpu_user_s: float
    cpu_system_s: float
    peak_mb: int
    memory_kills: MemoryKills | None = field(default=None, metadata=LEFT_OUT)
    schema: Literal["hearth/end/1"] = "hearth/end/1"


@dataclass(frozen=True)
class Application:
    """One application: its directory, and its record (contract/examples/run.json).

    Before its driver has written one, the record has what `submit.json` tells.
    """

    directory: Path
    record: dict[str, Any]
    submitted: Submitted | None = None
    ended: Ended | None = None

    @property
    def id(self) -> str:
        """The id of the run, which begins with its time; else the application's own."""
        return self.submitted.id if self.submitted else self.app_id

    @property
    def app_id(self) -> str:
        return str(self.record["app_id"])

    @property
    def started_at(self) -> str:
        return self.submitted.started_at if self.submitted else str(self.record["started_at"])

    @property
    def process(self) -> tuple[int, int]:
        """The driver's id, and its start in clock ticks since boot."""
        return self.record["driver_pid"], self.record["driver_start_ticks"]

    @property
    def alive(self) -> bool:
        return is_alive(*self.process)

    @property
    def state(self) -> str:
        """How it ended, else the state that the driver last wrote; `gone` where it has ended
        without a word.
        """
        if self.ended is not None and not self.alive:
            return self.ended.state
        state = str(self.record["state"])
        return "gone" if state in ("running", "starting") and not self.alive else state

    @property
    def profiled_by(self) -> str:
        """The command that profiles it."""
        words = shlex.join(self.submitted.application) if self.submitted else "APPLICATION"
        return f"hearth profile {words}"

    @property
    def document(self) -> dict[str, Any]:
        """All that is known, for `--json`."""
        known = {"schema": "hearth/light/1", "id": self.id, "state": self.state, "run": self.record}
        parts = {"submit": self.submitted, "end": self.ended, "plan": self.plan}
        return known | {name: to_json(part) for name, part in parts.items() if part is not None}

    @property
    def is_bound(self) -> bool:
        """Whether it has executors of hearth's, whose placement is kept."""
        plan = self.plan
        if plan is None:
            return str(self.record["master"]).startswith("local-numa")
        return not plan.is_native

    @property
    def plan(self) -> Plan | None:
        """The plan by which it runs, if that can be read."""
        try:
            return load_typed(self.directory / "plan.json", Plan)
        except (OSError, ValueError):
            return None


def applications_home(state_home: Path, settings: Mapping[str, str]) -> Path:
    """Return the directory of all; settings: the user's, who may choose another."""
    chosen = settings.get("spark.hearth.runs.dir")
    return Path(chosen) if chosen else state_home / FOLDER


def submit_directory(home: Path, pid: int, start_ticks: int) -> Path:
    """Return the directory that the driver looks for and takes (jvm: RunDirectory)."""
    return home / f"submit-{pid}-{start_ticks}"


def read_applications(state_home: Path) -> tuple[list[Application], list[str]]:
    """Return all applications on record, the oldest first, and a line for each that cannot be read.

    A directory without a record yet is skipped.
    """
    return applications_in(state_home / FOLDER)


def applications_in(home: Path) -> tuple[list[Application], list[str]]:
    """Return those of one directory, likewise."""
    applications, problems = [], []
    for directory in sorted(home.glob("[!.]*")):
        try:
            application = _read(directory)
        except FileNotFoundError as error:
            if error.filename and os.path.lexists(error.filename):
                problems.append(f"'{error.filename}' points to a missing file; delete it")
            # else deleted between listing and reading
        except (OSError, ValueError) as error:
            file = directory / "run.json"
            problems.append(f"'{file}' cannot be read: {reason(error)}; delete its directory")
        else:
            applications += [application] if application else []
    return sorted(applications, key=lambda one: one.started_at), problems


def _read(directory: Path) -> Application | None:
    """Return an application, None for a directory without one; raise OSError or ValueError."""
    record: dict[str, Any] | None = None
    submitted: Submitted | None = None
    if os.path.lexists(directory / "submit.json"):
        submitted = load_typed(directory / "submit.json", Submitted)
    if os.path.lexists(directory / "run.json"):
        record = load_document(directory / "run.json", ApplicationDocument)
    elif submitted is not None:
        kept = ("name", "master", "started_at", "machine", "driver_pid", "driver_start_ticks")
        record = {name: getattr(submitted, name) for name in kept}
        record |= {"app_id": submitted.id, "state": "starting"}
    if record is None:
        return None
    file = directory / "end.json"
    ended = load_typed(file, Ended) if file.is_file() else None
    return Application(directory, record, submitted, ended)


def keep_end(home: Path, pid: int, start_ticks: int, ended: Ended) -> list[Application]:
    """Write how the process ended into the directory of each application that it was the driver of,
    and return these.

    Raises OSError.
    """
    its = [one for one in applications_in(home)[0] if one.process == (pid, start_ticks)]
    for one in its:
        write_private(one.directory / "end.json", json.dumps(to_json(ended), indent=1))
    return its


def forget_oldest(home: Path, kept: int) -> None:
    """Delete the oldest ended ones beyond so many, as each driver under `local-numa` does too.

    Those that left temporary directories behind stay for such a driver, which removes these first.
    """
    if not home.is_dir() or sum(1 for _ in home.iterdir()) <= kept:
        return
    ended = [one for one in applications_in(home)[0] if not one.alive]
    for one in ended[: max(0, len(ended) - kept)]:
        if one.state != "gone" or not one.record.get("scratch"):
            forget(one)


def forget(application: Application) -> None:
    """Delete what is kept of one that has ended."""
    with contextlib.suppress(OSError):  # another process deletes it, too
        gone = application.directory.with_name(f".deleted-{application.directory.name}")
        application.directory.rename(gone)
        shutil.rmtree(gone)


def last_placement(application: Application) -> Placement | None:
    """Return what the driver last kept of its executors' placement; None where it kept none.

    Raises UserError for a damaged file.
    """
    file = application.directory / "placement.json"
    return read_typed(file, Placement, "delete it") if file.is_file() else None


def find_application(applications: list[Application], name: str) -> Application:
    """Return the one with this id or name; of several with a name, the one that is running."""
    matches = [one for one in applications if name in (one.app_id, one.id)]
    matches = matches or [one for one in applications if one.record.get("name") == name]
    running = [one for one in matches if one.alive]
    matches = running if len(running) == 1 else matches
    if len(matches) == 1:
        return matches[0]
    if matches:
        ids = ", ".join(one.app_id for one in matches)
        raise UserError(f"'{name}' is the name of {len(matches)} applications: choose from {ids}")
    raise UserError(f"no application '{name}' is on record: 'hearth status --all' lists them")
