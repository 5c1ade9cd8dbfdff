"""Refuses directories for shuffle files that cannot be used, before a JVM starts.

Without a usable one Spark's driver ends with stack traces.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from hearth.base.errors import UserError
from hearth.base.private_files import replaceable


def check_local_dirs(settings: Mapping[str, str], environment: Mapping[str, str]) -> None:
    """Raises UserError for the first directory that is not writable and cannot be made, or in which
    others could replace an application's files.

    Spark takes SPARK_LOCAL_DIRS before spark.local.dir (Utils.getConfiguredLocalDirs of Spark 4.3).
    """
    for source, value in (
        ("SPARK_LOCAL_DIRS", environment.get("SPARK_LOCAL_DIRS")),
        ("spark.local.dir", settings.get("spark.local.dir")),
    ):
        if value:
            for name in filter(None, value.split(",")):
                _check(source, Path(name))
            return


def _check(source: str, wanted: Path) -> None:
    """Creates nothing: the directory or its nearest existing parent decides."""
    path = Path.cwd() / wanted
    nearest = next(one for one in (path, *path.parents) if os.path.lexists(one))
    if not nearest.is_dir():
        problem = f"'{nearest}' is not a directory"
    elif not os.access(nearest, os.W_OK | os.X_OK):
        problem = f"'{nearest}' cannot be written"
    elif not (problem := replaceable(path / "hearth")):
        return
    raise UserError(f"{source}: '{wanted}' cannot be used: {problem}; name writable directories")
