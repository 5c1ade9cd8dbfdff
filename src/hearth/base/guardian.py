"""A guardian: a small process that does one thing when this one is gone, however it ends.

It waits on its standard input, a pipe whose other end only this process holds: the kernel closes
that with the process, even after kill -9.
"""

import subprocess
from collections.abc import Sequence


def start_guardian(words: Sequence[str]) -> "subprocess.Popen[bytes]":
    """Start one; words: a command that reads its standard input to the end, and then acts.

    It is out of reach of the terminal's Ctrl-C, and does not hold this process's output open: who
    reads that waits for nobody else.
    """
    return subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    )
