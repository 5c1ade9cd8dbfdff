"""Machine settings that are changed for a while and restored, whichever process dies meanwhile.

A small process holds the old values and waits on a pipe whose other end only this process holds:
when the pipe closes, even after kill -9, it writes them back.
"""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hearth.base.errors import UserError

_RESTORER = """
import json, os, sys
sys.stdin.read()
for path, offset, value in json.loads(sys.argv[1]):
    file = os.open(path, os.O_WRONLY)
    os.pwrite(file, bytes.fromhex(value), offset)
    os.close(file)
"""


@dataclass(frozen=True)
class SavedSetting:
    """Bytes at a place of a file: the whole text of a sysctl, or a register of /dev/cpu/N/msr."""

    path: Path
    offset: int
    value: bytes

    def write(self) -> None:
        """Without truncating: neither kind of file can be made shorter."""
        file = os.open(self.path, os.O_WRONLY)
        try:
            os.pwrite(file, self.value, self.offset)
        finally:
            os.close(file)


@contextlib.contextmanager
def changed(before: Sequence[SavedSetting], wanted: Sequence[SavedSetting]) -> Iterator[None]:
    """Writes `wanted`, and `before` at the end; raises UserError where that cannot be written."""
    old = [[str(cell.path), cell.offset, cell.value.hex()] for cell in before]
    restorer = subprocess.Popen(
        [sys.executable, "-I", "-c", _RESTORER, json.dumps(old)],
        stdin=subprocess.PIPE,
        start_new_session=True,  # out of reach of the terminal's Ctrl-C
    )
    try:
        for cell in wanted:
            cell.write()
        yield
    finally:
        restorer.communicate()
    if restorer.returncode:
        names = ", ".join(sorted({str(cell.path) for cell in before}))
        raise UserError(f"{names}: the old values could not be restored: check the setting")
