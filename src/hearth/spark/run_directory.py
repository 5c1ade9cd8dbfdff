"""A private directory for what one run needs while it starts, which goes with the run.

This process removes it at its end; after kill -9, or where it has become spark-submit, a process
that waits on a pipe does. The pipe's other end stays open here and in nothing that a JVM starts, so
the kernel closes it with the run. Should the waiting process be killed too, the next run removes
what is an hour old: the files are read when Spark starts.
"""

import atexit
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from hearth.base.private_files import private_directory
from hearth.spark.ascii_path import is_plain

_PREFIX = "hearth-run-"
_KEPT_S = 3600
_KEEPER = 'read -r _; rm -rf -- "$0"'


def run_directory(state: Path) -> Path:
    """A new directory: below the state directory, or below TMPDIR where that cannot be written or
    has a name that JVM options do not take. Raises OSError if neither can.
    """
    if is_plain(state):
        try:
            return _kept(private_directory(state / "starting"))
        except OSError:
            pass
    return temporary_directory()


def temporary_directory() -> Path:
    """A new directory below TMPDIR. Raises OSError."""
    return _kept(Path(tempfile.gettempdir()))


def _kept(parent: Path) -> Path:
    _sweep(parent, time.time() - _KEPT_S)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent)).resolve()
    ours, theirs = os.pipe()
    subprocess.Popen(
        ["sh", "-c", _KEEPER, str(folder)],
        stdin=ours,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,  # out of reach of the terminal's Ctrl-C
    )
    os.close(ours)
    os.set_inheritable(theirs, True)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _sweep(parent: Path, before: float) -> None:
    for old in parent.glob(f"{_PREFIX}*"):
        try:
            seen = old.lstat()
        except FileNotFoundError:
            continue  # another hearth swept it first
        if seen.st_uid == os.getuid() and seen.st_mtime < before:
            shutil.rmtree(old, ignore_errors=True)
