"""A directory that does not outlive this process, however it ends.

It has a keeper: a small process that waits on a pipe whose other end only this process holds, and
deletes the directory when the pipe closes, even after kill -9.
"""

import contextlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

# Where this process says nothing at its end, its children may go on for a while, and make the
# directory anew: what they make is deleted for 30 s.
_KEEPER = """
import shutil, sys, time, os
over = sys.stdin.read() == "over"
for _ in range(150):
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    if over and not os.path.lexists(sys.argv[1]):
        break
    time.sleep(0.2)
"""


@contextlib.contextmanager
def working_directory(
    keep: bool, prefix: str = "hearth-", parent: Path | None = None, suffix: str = ""
) -> Iterator[Path]:
    """A new directory, deleted at the end unless `keep`; below `parent`, else where TMPDIR says."""
    path = Path(tempfile.mkdtemp(prefix=prefix, suffix=suffix, dir=parent))
    if keep:
        yield path
        return
    keeper = subprocess.Popen(
        [sys.executable, "-I", "-c", _KEEPER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,  # who reads this process's output waits for nobody else
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # out of reach of the terminal's Ctrl-C
    )
    over = b"over"
    try:
        yield path
    except KeyboardInterrupt:  # perhaps while a child was being started: it may go on for a while
        over = b""
        shutil.rmtree(path, ignore_errors=True)
        raise
    finally:
        assert keeper.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            keeper.stdin.write(over)
            keeper.stdin.close()
        if over:
            keeper.wait()
