"""Child processes and a directory that do not outlive this process, however it ends.

The kernel signals a child when its parent dies (prctl(2), PR_SET_PDEATHSIG; kept across
exec). The directory has a keeper: a small process that waits on a pipe whose other end only
this process holds, and deletes the directory when the pipe closes, even after kill -9.
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from hearth.model.private import open_private
from hearth.model.processes import die_with
from hearth.model.progress import tick

_GRACE_S = 15
_WATCH_S = 0.2
# Children may still be writing while they die: deletes until nothing is left, for 30 s at most.
_KEEPER = """
import shutil, sys, time, os
sys.stdin.read()
for _ in range(150):
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    if not os.path.lexists(sys.argv[1]):
        break
    time.sleep(0.2)
"""


@contextlib.contextmanager
def working_directory(
    keep: bool, prefix: str = "hearth-", parent: Path | None = None
) -> Iterator[Path]:
    """A new directory, deleted at the end unless `keep`; below `parent`, else where TMPDIR says."""
    path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    if keep:
        yield path
        return
    keeper = subprocess.Popen(
        [sys.executable, "-I", "-c", _KEEPER, str(path)],
        stdin=subprocess.PIPE,
        start_new_session=True,  # out of reach of the terminal's Ctrl-C
    )
    try:
        yield path
    finally:
        keeper.communicate()


def run_child(
    command: list[str],
    environment: dict[str, str],
    log: Path,
    watch: Callable[[], None] = tick,
    inherited: tuple[int, ...] = (),
) -> int:
    """Runs a command to its end, its output in `log`; its exit code.

    watch: called a few times a second; shows progress. inherited: file descriptors to keep open.
    On an interrupt the child is asked to end, then killed.
    """
    with open(log, "wb", opener=open_private) as output:
        child = subprocess.Popen(
            command,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=inherited,
            preexec_fn=die_with(os.getpid()),  # noqa: PLW1509 - this process has one thread
        )
        try:
            return _watched(child, watch)
        except BaseException:
            child.terminate()
            _end(child)
            raise


def _watched(child: subprocess.Popen[bytes], watch: Callable[[], None]) -> int:
    while True:
        try:
            return child.wait(_WATCH_S)
        except subprocess.TimeoutExpired:
            watch()


def _end(child: subprocess.Popen[bytes]) -> None:
    try:
        child.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
