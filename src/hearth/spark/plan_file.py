"""Where a plan is while its application runs.

The driver reads the plan from a file named by `spark.hearth.plan`. The file's name is a hash of
its content, so a dry run prints exactly the command that runs, a plan takes one file however often
it is used, and files not used for a week are deleted. No application removes its file at its end:
another may be starting from the same one, a program may start a second SparkContext, and a command
that a dry run printed may still be run. So no such file holds a system property or an agent of the
user's, which may be a secret: the driver knows them from its own settings.
"""

import hashlib
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from hearth.base.errors import UserError
from hearth.base.private_files import private_directory, write_private
from hearth.spark.run_directory import temporary_directory

KEPT_S = 7 * 24 * 3600


def write_plan(plan: dict[str, Any], state: Path) -> Path:
    """The path of the plan's file below the state directory; old ones there are deleted.

    If that cannot be written, a directory that goes with this process is used, with a warning: the
    application does not depend on hearth's state. Raises UserError if neither works.
    """
    text = json.dumps(_without_properties(plan), indent=1, sort_keys=True)
    name = f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"
    folder = state / "plans"
    try:
        return _written(name, text, folder)
    except OSError as error:
        problem = f"the plan cannot be written to '{folder}': {error.strerror}"
    try:
        instead = _written(name, text, temporary_directory())
    except OSError as error:
        raise UserError(
            f"{problem}, nor to '{tempfile.gettempdir()}': {error.strerror}; "
            "make room, or set HEARTH_STATE to a writable directory"
        ) from error
    print(f"hearth: {problem}; it is in '{instead}' while this runs", file=sys.stderr)
    return instead


def _without_properties(plan: dict[str, Any]) -> dict[str, Any]:
    """What the plan itself derives are JVM flags (-X)."""
    executors = [
        {**each, "java_options": [word for word in each["java_options"] if word.startswith("-X")]}
        for each in plan.get("executors", [])
    ]
    return {**plan, "executors": executors}


def _written(name: str, text: str, folder: Path) -> Path:
    private_directory(folder)
    _sweep(folder, time.time() - KEPT_S)
    write_private(folder / name, text)
    return folder / name


def _sweep(folder: Path, before: float) -> None:
    for file in folder.iterdir():
        try:
            if file.stat().st_mtime < before:
                file.unlink()
        except FileNotFoundError:
            continue  # another hearth swept it first
