"""Workers of pytest-xdist do not see each other's processes (own_processes)."""

import shlex
import subprocess
import sys
from collections.abc import Iterator

import pytest

import own_processes
from support import require

_NAMES = """
from pathlib import Path
for entry in Path("/proc").glob("[0-9]*/cmdline"):
    print(entry.parent.name, entry.read_bytes())
"""
# Its child's child loses its parent, and ends.
_ORPHAN = """
import os, subprocess, time
from pathlib import Path
orphan = int(subprocess.check_output(["sh", "-c", "sleep 0.1 >&- & echo $!"]))
deadline = time.monotonic() + 20
while Path(f"/proc/{orphan}").exists() and time.monotonic() < deadline:
    time.sleep(0.02)
print(Path(f"/proc/{orphan}").exists())
"""


@pytest.fixture
def marked() -> Iterator[str]:
    """A process that another worker might have started; a word of its command line."""
    if (reason := own_processes.refused()) is not None:
        require("root", f"workers cannot have processes of their own here: {reason}")
    word = "-Dhearth.bound=of-another-worker"
    with subprocess.Popen(["sh", "-c", "read line", word], stdin=subprocess.PIPE) as process:
        yield word
        process.communicate(b"\n", timeout=60)


def within(program: str) -> str:
    """What a worker's Python prints."""
    words = [*shlex.split(own_processes.python(1, 4)), "-c", program]
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout


def seen_here() -> str:
    done = subprocess.run(
        [sys.executable, "-c", _NAMES], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_a_worker_does_not_see_the_executors_of_another(marked: str) -> None:
    assert marked in seen_here()
    assert marked not in within(_NAMES)


def test_process_ids_of_workers_are_far_apart(marked: str) -> None:
    own = [int(line.split()[0]) for line in within(_NAMES).splitlines()]
    assert min(own) == 1
    assert all(number > 1000 for number in own if number != 1)


def test_an_orphan_in_a_worker_leaves_no_zombie(marked: str) -> None:
    assert within(_ORPHAN).strip() == "False"


def test_jvms_of_two_workers_with_one_process_id_share_no_file(marked: str) -> None:
    assert within(f"import os; print(os.path.ismount('{own_processes.JVMS}'))").strip() == "True"
