"""Where a plan is while its application runs.

The driver reads the plan from a file named by `spark.hearth.plan`. The file's name is a hash of
its content, so a dry run prints exactly the command that runs, a plan takes one file however often
it is used, and files not used for a week are deleted. No application removes its file at its end:
another may be starting from the same one, a program may start a second SparkContext, and a command
that a dry run printed may still be run.
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
from hearth.model.private import private_directory, write_private

KEPT_S = 7 * 24 * 3600
_TEMPORARY = "hearth-plan-"


def write_plan(plan: dict[str, Any], state: Path) -> Path:
    """The path of the plan's file below the state directory (see `write_for_runs`)."""
    text = json.dumps(plan, indent=1, sort_keys=True)
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    return write_for_runs(f"{name}.json", text, state)


def write_for_runs(name: str, text: str, state: Path) -> Path:
    """The path of a private file that a run needs while it starts; sweeps old ones.

    If that cannot be written, a private temporary directory is used with a warning: the application
    does not depend on hearth's state. Raises UserError if neither works.
    """
    folder = state / "plans"
    try:
        return _written(name, text, folder)
    except OSError as error:
        problem = f"the plan cannot be written to '{folder}': {error.strerror}"
    try:
        instead = _written(name, text, _temporary())
    except OSError as error:
        raise UserError(
            f"{problem}, nor to '{tempfile.gettempdir()}': {error.strerror}; "
            "make room, or set HEARTH_STATE to a writable directory"
        ) from error
    print(f"hearth: {problem}; it is in '{instead}'", file=sys.stderr)
    return instead


def _written(name: str, text: str, folder: Path) -> Path:
    private_directory(folder)
    _sweep(folder, time.time() - KEPT_S)
    write_private(folder / name, text)
    return folder / name


def _temporary() -> Path:
    """A directory for this run only; nobody is left to delete it, so old ones are swept here."""
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
