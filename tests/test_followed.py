"""How `hearth submit` follows the run that it starts, and what it says at the end."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from hearth.base.processes import CpuSeconds, is_alive, start_ticks
from hearth.cli.commands.submit import how_it_ended
from hearth.cli.options import read_line
from hearth.spark.followed import RunEnd
from support import PATIENCE_S, eventually

#: A run that a shell carries out in the child's place; its end is printed.
_FOLLOW = """
import os, sys
from hearth.base.errors import UserError
from hearth.spark.followed import follow

def become(side):
    if sys.argv[1] == "never":
        raise UserError("no such file")
    side.begins()
    os.execvp("sh", ["sh", "-c", sys.argv[1]])

try:
    end = follow(become)
    print(end.began, end.code, end.wall_s >= 0, end.cpu.total > 0, end.state)
except UserError as error:
    print("refused:", error)
"""


def followed(script: str, **how: object) -> "subprocess.Popen[str]":
    words = [sys.executable, "-c", _FOLLOW, script]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, **how)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 0", "True 0 True True finished"),
        ("exit 7", "True 7 True True failed"),
        ("kill -9 $$", "True 137 True True failed"),
        ("never", "refused: no such file"),
    ],
)
def test_the_exit_code_is_the_runs_and_what_never_began_is_known(script: str, said: str) -> None:
    assert followed(script).communicate(timeout=PATIENCE_S)[0].strip() == said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_parent_reaches_the_run(tmp_path: Path, number: signal.Signals) -> None:
    ready = tmp_path / "ready"
    script = f"trap 'exit 9' TERM INT; touch {ready}; while :; do sleep 0.05; done"
    run = followed(script, start_new_session=True)
    eventually("it runs", ready.exists)
    run.send_signal(number)
    assert run.communicate(timeout=PATIENCE_S)[0].strip() == "True 9 True True interrupted"


def test_the_run_ends_with_its_parent_even_after_kill_9(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    run = followed(f"echo $$ > {note}; exec sleep 300")
    eventually("it runs", lambda: note.exists() and note.read_text().strip() != "")
    pid = int(note.read_text())
    ticks = start_ticks(pid) or 0
    time.sleep(0.1)
    os.kill(run.pid, signal.SIGKILL)
    run.communicate(timeout=PATIENCE_S)
    eventually("it is gone", lambda: not is_alive(pid, ticks))


def test_the_last_line_says_how_it_ended_and_after_a_long_success_what_to_run_next() -> None:
    line = read_line(["my job.py", "--day", "1"])
    assert how_it_ended(RunEnd(True, 0, 42.34, CpuSeconds(40.0, 2.5)), line) == (
        "finished in 42.3 s, 42.5 CPU s (40.0 user, 2.5 system), exit code 0; "
        "to see where the time goes: hearth profile 'my job.py'"
    )
    short = how_it_ended(RunEnd(True, 0, 12.34, CpuSeconds(1.0, 0.0)), line)
    assert short == "finished in 12.3 s, 1.0 CPU s (1.0 user, 0.0 system), exit code 0"
    failed = RunEnd(True, 130, 65.0, CpuSeconds(1.0, 0.0))
    rest = "after 1 min 05 s, 1.0 CPU s (1.0 user, 0.0 system), exit code 130"
    assert how_it_ended(failed, line) == f"failed {rest}", "the program's own exit code"
    assert how_it_ended(replace(failed, interrupted=True), line) == f"interrupted {rest}"
