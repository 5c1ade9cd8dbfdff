"""Regular files, where others may have put a pipe or a device in their place."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_regular(file: Path) -> BinaryIO:
    """Open a file to read. Raises OSError for anything but a regular file, and never waits."""
    if stat.S_ISREG(file.stat().st_mode):  # before it is opened: opening a device may do something
        opened = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        if stat.S_ISREG(os.fstat(opened).st_mode):
            return os.fdopen(opened, "rb")
        os.close(opened)
    raise OSError(errno.EINVAL, "it is not a file", str(file))
