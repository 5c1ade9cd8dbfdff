"""Find where Spark keeps shuffle files, and the space left in a file system."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from hearth.base.absent import Absent, Measured
from hearth.doctor.check import Space


def local_dirs(settings: Mapping[str, str]) -> Sequence[str]:
    """Return where Spark keeps shuffle files (SparkConf, `spark.local.dir`)."""
    named = os.environ.get("SPARK_LOCAL_DIRS") or settings.get("spark.local.dir") or "/tmp"
    # A record's settings may hold a NUL, which no name of a file does.
    names = [name.strip() for name in named.split(",") if "\0" not in name]
    return [os.path.realpath(name) for name in names if name]


def temporary() -> str:
    """Return this process's temporary directory; its first choice if none can be written."""
    try:
        folder = tempfile.gettempdir()
    except FileNotFoundError:
        folder = os.environ.get("TMPDIR") or "/tmp"
    return os.path.realpath(folder)


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # of a folder that this user may not enter
        return False


def space_of(folder: str) -> Measured[Space]:
    """Return the space of the nearest directory that exists: hearth makes its own when needed."""
    at = Path(folder)
    while not _is_there(at) and at != at.parent:
        at = at.parent
    try:
        seen = os.statvfs(at)
    except OSError as error:
        return Absent(f"could not ask for the space of {at}: {error.strerror}")
    size = seen.f_frsize
    return Space(seen.f_bavail * size, seen.f_blocks * size, seen.f_favail, seen.f_files)
