"""hearth lab demo: nothing outlives it, and all of it runs."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hearth.base.errors import UserError
from hearth.base.processes import start_ticks
from hearth.demo.data import copy_texts
from hearth.spark.children import run_child
from support import Command, eventually

_PARENT = """
import signal, sys, time
from pathlib import Path
from typing import Any
from hearth.spark.children import run_child
from hearth.base.temporary import working_directory
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in background
with working_directory(False) as folder:
    (folder / "data").write_text("x")
    Path(sys.argv[1]).write_text(str(folder))
    late = f"sleep 1; mkdir -p {folder}; echo x > {folder}/late; exit"
    script = f"trap '{late}' TERM; echo $$ > {sys.argv[1]}.pid; while :; do sleep 0.1; done"
    run_child(["sh", "-c", script], {}, folder / "log")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_however_the_command_ends(tmp_path: Path, number: int) -> None:
    note = tmp_path / "folder"
    parent = subprocess.Popen([sys.executable, "-c", _PARENT, str(note)], stderr=subprocess.DEVNULL)
    pid_file = Path(f"{note}.pid")
    eventually("the child starts", lambda: pid_file.is_file() and pid_file.read_text().strip())
    child, folder = int(pid_file.read_text()), Path(note.read_text())
    assert (folder / "data").is_file()
    os.kill(parent.pid, number)
    parent.wait(60)
    eventually("the child is gone", lambda: start_ticks(child) is None)
    eventually("the data are deleted, late ones too", lambda: not folder.exists())


_INTERRUPTED = """
import subprocess, sys
from hearth.base.temporary import working_directory
with working_directory(False) as folder:
    open(sys.argv[1], "w").write(str(folder))
    late = f"sleep 1; mkdir -p {folder}; echo x > {folder}/late; echo x > {sys.argv[1]}.late"
    subprocess.Popen(["sh", "-c", late], start_new_session=True)
    raise KeyboardInterrupt
"""


def test_what_a_child_writes_after_an_interrupt_in_its_start_is_deleted(tmp_path: Path) -> None:
    note = tmp_path / "folder"
    command = [sys.executable, "-c", _INTERRUPTED, str(note)]
    ended = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    assert "KeyboardInterrupt" in ended.stderr
    eventually("the child has written", Path(f"{note}.late").exists)
    folder = Path(note.read_text())
    eventually("what it wrote is deleted", lambda: not folder.exists())


def test_a_child_that_is_being_started_when_an_interrupt_comes_is_ended_with_all_it_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, start = tmp_path / "pid", subprocess.Popen

    def interrupted(*words: Any, **options: Any) -> subprocess.Popen[bytes]:
        child = start(*words, **options)
        eventually("it has begun another", lambda: begun.is_file() and begun.read_text())
        os.kill(os.getpid(), signal.SIGINT)
        return child

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    words = ["sh", "-c", f"sleep 300 & echo $! > {begun}; wait"]
    with pytest.raises(KeyboardInterrupt):
        run_child(words, {}, tmp_path / "log")
    eventually("both are gone", lambda: start_ticks(int(begun.read_text())) is None)


def test_missing_texts_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no text in"):
        copy_texts(tmp_path / "texts", tmp_path)


@pytest.mark.spark
def test_the_whole_demonstration_holds_and_leaves_nothing(hearth: Command, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    words = ["lab", "demo", "--scale", "0.01", "--rounds", "1"]
    done = hearth(*words, environment={"TMPDIR": str(scratch)}, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All checks hold." in done.stdout
    assert done.stdout.count("equal in all 3 runs") == 4
    assert "as planned" in done.stdout and "placement as of 20" in done.stdout
    assert "native" in done.stdout and "plan" in done.stdout
    assert "decide little" in done.stdout
    assert list(scratch.iterdir()) == []
