"""Where a plan lies while its application runs.

The driver reads the plan from a file named by `spark.hearth.plan`. The file's name is a hash of
its content, so a dry run prints the very command that runs, one plan takes one file however
often it is used, and files not used for a week are swept.
"""

import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from hearth.model.errors import UserError

KEPT_S = 7 * 24 * 3600
_TEMPORARY = "hearth-plan-"


def write_plan(plan: dict[str, Any], state: Path) -> Path:
    """The path of the plan's file below the state directory; sweeps old ones.

    Where that cannot be written, with a warning, in a private temporary directory: the application
    does not depend on hearth's state. Raises UserError where neither can be.
    """
    folder = state / "plans"
    try:
        return _written(plan, folder)
    except OSError as error:
        problem = f"the plan cannot be written to '{folder}': {error.strerror}"
    try:
        instead = _written(plan, _temporary())
    except OSError as error:
        raise UserError(
            f"{problem}, nor to '{tempfile.gettempdir()}': {error.strerror}; "
            "make room, or set HEARTH_STATE to a directory that can be written"
        ) from error
    print(f"hearth: {problem}; it is in '{instead}'", file=sys.stderr)
    return instead


def _written(plan: dict[str, Any], folder: Path) -> Path:
    text = json.dumps(plan, indent=1, sort_keys=True)
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    file = folder / f"{name}.json"
    part = folder / f".{name}.{os.getpid()}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _sweep(folder, time.time() - KEPT_S)
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    return file


def _temporary() -> Path:
    """A directory of this run alone, for nobody is left to delete it; those of others are swept."""
    before = time.time() - KEPT_S
    for old in Path(tempfile.gettempdir()).glob(f"{_TEMPORARY}*"):
        seen = old.lstat()
        if seen.st_uid == os.getuid() and seen.st_mtime < before:
            shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=_TEMPORARY))


def _sweep(folder: Path, before: float) -> None:
    for file in folder.iterdir():
        try:
            if file.stat().st_mtime < before:
                file.unlink()
        except FileNotFoundError:
            continue  # another hearth swept it first
