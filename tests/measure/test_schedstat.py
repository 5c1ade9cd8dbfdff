"""Which threads have run since the last look, with the files that tell it kept open."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hearth.base.processes import start_ticks
from hearth.record.probes import schedstat
from hearth.record.probes.base import SampledProcess
from hearth.record.probes.schedstat import Schedstat
from support import eventually

OURSELVES = SampledProcess(os.getpid(), start_ticks(os.getpid()) or 0, "driver")


@contextmanager
def waiting_thread() -> Iterator[str]:
    """A thread of ours that waits and has run its last before it does, by its id."""
    end, began = threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: (began.set(), end.wait()))
    thread.start()
    began.wait(10)
    file = Path(f"/proc/self/task/{thread.native_id}/schedstat")
    deadline, before = time.monotonic() + 10, b""
    while file.read_bytes() != before and time.monotonic() < deadline:
        before = file.read_bytes()
        time.sleep(0.2)
    try:
        yield str(thread.native_id)
    finally:
        end.set()
        thread.join()


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_the_text_of_a_thread_that_waits_stays_and_that_of_one_that_runs_changes() -> None:
    files = Schedstat(Path("/proc"))
    with waiting_thread() as waits:
        before = dict(files.of(OURSELVES))
        sum(range(2_000_000))
        now = dict(files.of(OURSELVES))
    assert now[waits] == before[waits] != b""
    ran_ns, before_ns = (int(texts[str(os.getpid())].split()[0]) for texts in (now, before))
    assert 1e6 < ran_ns - before_ns < 60e9
    files.keep_only([])


def test_the_files_of_threads_and_processes_that_ended_are_closed() -> None:
    files = Schedstat(Path("/proc"))
    at_first = open_files()
    with waiting_thread() as waits:
        texts = dict(files.of(OURSELVES))
        assert open_files() == at_first + len(texts)
    # A thread is gone from /proc a moment after it was joined.
    eventually("the thread is gone", lambda: waits not in dict(files.of(OURSELVES)))
    assert open_files() == at_first + len(texts) - 1
    files.keep_only([])
    assert open_files() == at_first
    assert not files._open


def test_a_process_that_is_gone_has_no_threads() -> None:
    gone = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    target = SampledProcess(gone.pid, start_ticks(gone.pid) or 0, "executor")
    files = Schedstat(Path("/proc"))
    assert list(dict(files.of(target))) == [str(gone.pid)]
    gone.communicate()
    assert list(files.of(target)) == []


def test_where_few_files_may_be_open_the_same_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedstat, "_SHARE_OF_FILES", 0)
    files = Schedstat(Path("/proc"))
    at_first = open_files()
    with waiting_thread() as waits:
        first, again = dict(files.of(OURSELVES)), dict(files.of(OURSELVES))
    assert first[waits] == again[waits] != b""
    assert open_files() == at_first


def test_another_thread_that_got_the_id_of_one_that_ended_is_read_anew(tmp_path: Path) -> None:
    """The held file then says that its thread is gone (ESRCH)."""
    files = Schedstat(Path("/proc"))
    with waiting_thread() as waits:
        dict(files.of(OURSELVES))
    held = files._open[OURSELVES]
    ours = str(os.getpid())
    os.dup2(held[waits], held[ours])  # what our id would be found to hold
    (texts,) = [text for thread, text in files.of(OURSELVES) if thread == ours]
    assert int(texts.split()[0]) > 0
    files.keep_only([])
