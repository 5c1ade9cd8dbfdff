"""Each test's applications run in a directory of their own, and are gone when it ends."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from application import Site


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    place = Site(tmp_path)
    yield place
    for process in place.started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=10)
    for pid in place.executors():
        os.kill(pid, signal.SIGKILL)
