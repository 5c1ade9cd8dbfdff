"""Waiting for what others do, within a limit of time."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable


def wait_for(
    what: str,
    check: Callable[[], bool],
    limit_seconds: float,
    process: subprocess.Popen[bytes] | None = None,
) -> None:
    """Wait until a check holds; TimeoutError after the limit, or when the process has ended."""
    deadline = time.monotonic() + limit_seconds
    while not check():
        if time.monotonic() > deadline or (process and process.poll() is not None):
            raise TimeoutError(f"not within {limit_seconds:.0f} s: {what}")
        time.sleep(0.2)
