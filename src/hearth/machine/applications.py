"""The records of applications that ran under `local-numa`, as the driver writes them."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

from hearth.base.codec import load_document, read_typed, reason
from hearth.base.errors import UserError
from hearth.base.processes import is_alive
from hearth.machine.placement import Placement

#: Where drivers keep what they leave behind, below the state directory.
FOLDER = "applications"


class ApplicationDocument(TypedDict):
    """The part of `run.json` that is read; contract/run.schema.json has all of it."""

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


@dataclass(frozen=True)
class Application:
    """One application: its record `run.json` (contract/run.schema.json) and its directory."""

    directory: Path
    record: dict[str, Any]

    @property
    def app_id(self) -> str:
        return str(self.record["app_id"])

    @property
    def alive(self) -> bool:
        return is_alive(self.record["driver_pid"], self.record["driver_start_ticks"])

    @property
    def state(self) -> str:
        """The state that the driver last wrote; `gone` if it says `running` but has ended."""
        state = str(self.record["state"])
        return "gone" if state == "running" and not self.alive else state


def read_applications(state_home: Path) -> tuple[list[Application], list[str]]:
    """Return all applications on record, the oldest first, and a line for each that cannot be read.

    A directory without a record yet is skipped.
    """
    applications, problems = [], []
    for directory in sorted((state_home / FOLDER).glob("*")):
        file = directory / "run.json"
        if not os.path.lexists(file):
            continue
        try:
            applications.append(Application(directory, load_document(file, ApplicationDocument)))
        except FileNotFoundError:
            if os.path.lexists(file):
                problems.append(f"'{file}' points to a missing file; delete it")
            # else deleted between listing and reading
        except (OSError, ValueError) as error:
            problems.append(f"'{file}' cannot be read: {reason(error)}; delete its directory")
    return sorted(applications, key=lambda one: str(one.record["started_at"])), problems


def last_placement(application: Application) -> Placement | None:
    """Return what the driver last kept of its executors' placement; None where it kept none.

    Raises UserError for a damaged file.
    """
    file = application.directory / "placement.json"
    return read_typed(file, Placement, "delete it") if file.is_file() else None


def find_application(applications: list[Application], name: str) -> Application:
    """Return the one with this id or name; of several with a name, the one that is running."""
    matches = [one for one in applications if one.app_id == name]
    matches = matches or [one for one in applications if one.record.get("name") == name]
    running = [one for one in matches if one.alive]
    matches = running if len(running) == 1 else matches
    if len(matches) == 1:
        return matches[0]
    if matches:
        ids = ", ".join(one.app_id for one in matches)
        raise UserError(f"'{name}' is the name of {len(matches)} applications: choose from {ids}")
    raise UserError(f"no application '{name}' is on record: 'hearth status --all' lists them")
