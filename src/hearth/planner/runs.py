"""The records of applications that ran under `local-numa`, as the driver writes them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hearth.model.errors import UserError
from hearth.model.processes import is_alive


@dataclass(frozen=True)
class Run:
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
        """What the driver last wrote; `gone` where it said it was running and is no more."""
        state = str(self.record["state"])
        return "gone" if state == "running" and not self.alive else state


def read_runs(state_home: Path) -> list[Run]:
    """All runs on record, the oldest first; a directory without a record yet is left out."""
    runs = []
    for file in (state_home / "runs").glob("*/run.json"):
        try:
            runs.append(Run(file.parent, json.loads(file.read_text(encoding="utf-8"))))
        except FileNotFoundError:
            continue  # swept between listing and reading
        except (json.JSONDecodeError, PermissionError) as error:
            raise UserError(
                f"'{file}' cannot be read: {error}; delete it if it is damaged"
            ) from error
    return sorted(runs, key=lambda run: str(run.record["started_at"]))


def find_run(runs: list[Run], name: str) -> Run:
    """The run with this application id or, where only one has it, this name."""
    matches = [run for run in runs if run.app_id == name]
    matches = matches or [run for run in runs if run.record.get("name") == name]
    if len(matches) == 1:
        return matches[0]
    if matches:
        ids = ", ".join(run.app_id for run in matches)
        raise UserError(f"'{name}' is the name of {len(matches)} applications: choose from {ids}")
    raise UserError(f"no application '{name}' is on record: 'hearth status --all' lists them")
