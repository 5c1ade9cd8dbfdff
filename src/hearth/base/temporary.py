"""A directory that does not outlive this process, however it ends.

Its guardian deletes it, even after kill -9.
"""

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hearth.base.processes import start_guardian

# Where this process says nothing at its end, its children may go on for a while, and make the
# directory anew: what they make is deleted for 30 s.
_DELETE = """
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
    """Make a directory (below `parent` or in TMPDIR); delete it at the end unless `keep`."""
    path = Path(tempfile.mkdtemp(prefix=prefix, suffix=suffix, dir=parent)).absolute()
    if keep:
        yield path
        return
    guardian = start_guardian([sys.executable, "-I", "-c", _DELETE, str(path)])
    over = b"over"
    try:
        yield path
    except KeyboardInterrupt:  # perhaps while a child was being started: it may go on for a while
        over = b""
        shutil.rmtree(path, ignore_errors=True)
        raise
    finally:
        assert guardian.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            guardian.stdin.write(over)
            guardian.stdin.close()
        if over:
            guardian.wait()
