"""A child process that does not outlive this process, however it ends.

The kernel signals a child when its parent dies (prctl(2), PR_SET_PDEATHSIG; kept across exec).
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from hearth.base.private_files import open_private
from hearth.base.processes import die_with
from hearth.base.progress import tick

_GRACE_S = 15
_WATCH_S = 0.2


def run_child(
    command: list[str],
    environment: dict[str, str],
    log: Path,
    watch: Callable[[], None] = tick,
    inherited: tuple[int, ...] = (),
) -> int:
    """Run a command to its end, its output in `log`; its exit code.

    watch: called a few times a second; shows progress. inherited: file descriptors to keep open.
    On an interrupt the child is asked to end, then killed.
    """
    child: subprocess.Popen[bytes] | None = None
    with open(log, "wb", opener=open_private) as output:
        try:
            with _interrupts_wait():
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
            code = _watched(child, watch)
            if code < 0:  # killed: it could not end what it had started
                _end(child)
            return code
        except BaseException:
            if child is not None:
                child.terminate()
                _end(child)
            raise


@contextlib.contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Hold back interrupts until the end: a half-started child would have no owner."""
    came: list[tuple[int, FrameType | None]] = []
    usual = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    handled = {number: handler for number, handler in usual.items() if callable(handler)}
    for number in handled:
        signal.signal(number, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
    for came_number, frame in came:
        handled[signal.Signals(came_number)](came_number, frame)


def _watched(child: subprocess.Popen[bytes], watch: Callable[[], None]) -> int:
    while True:
        try:
            return child.wait(_WATCH_S)
        except subprocess.TimeoutExpired:
            watch()


def _end(child: subprocess.Popen[bytes]) -> None:
    """Wait for it, then ends what it left in its group, such as Python without its JVM."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(_GRACE_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
