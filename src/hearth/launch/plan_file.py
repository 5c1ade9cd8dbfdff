"""Where a plan lies while its application runs.

The driver reads the plan from a file named by `spark.hearth.plan`. The file's name is a hash of
its content, so a dry run prints the very command that runs, one plan takes one file however
often it is used, and files not used for a week are swept.
"""

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

from hearth.model.errors import UserError

KEPT_S = 7 * 24 * 3600


def write_plan(plan: dict[str, Any], state: Path) -> Path:
    """The path of the plan's file below the state directory; sweeps old ones."""
    text = json.dumps(plan, indent=1, sort_keys=True)
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    folder = state / "plans"
    file = folder / f"{name}.json"
    part = folder / f".{name}.{os.getpid()}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _sweep(folder, time.time() - KEPT_S)
        try:
            part.write_text(text, encoding="utf-8")
            part.replace(file)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(
            f"the plan cannot be written to '{folder}': {error.strerror}; "
            "make room, or set HEARTH_STATE to a directory that can be written"
        ) from error
    return file


def _sweep(folder: Path, before: float) -> None:
    for file in folder.iterdir():
        try:
            if file.stat().st_mtime < before:
                file.unlink()
        except FileNotFoundError:
            continue  # another hearth swept it first
