"""hearth demo: nothing outlives it, differences are found, and all of it runs."""

import datetime
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from hearth.demo.check import difference
from hearth.demo.data import copy_texts
from hearth.model.errors import UserError
from hearth.model.processes import start_ticks
from support import Command

_PARENT = """
import signal, sys, time
from pathlib import Path
from hearth.launch.children import run_child, working_directory
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in background
with working_directory(False) as folder:
    (folder / "data").write_text("x")
    Path(sys.argv[1]).write_text(str(folder))
    run_child(["sh", "-c", "echo $$ > " + sys.argv[1] + ".pid; exec sleep 600"], {}, folder / "log")
"""


def wait_until(holds: Callable[[], bool], what: str, limit_s: float = 20) -> None:
    """Waits for a condition; fails, naming it, after the limit."""
    end = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < end, f"not within {limit_s} s: {what}"
        time.sleep(0.05)


@pytest.mark.spark
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_however_the_command_ends(tmp_path: Path, number: int) -> None:
    told = tmp_path / "folder"
    parent = subprocess.Popen([sys.executable, "-c", _PARENT, str(told)], stderr=subprocess.DEVNULL)
    pid_file = Path(f"{told}.pid")
    wait_until(lambda: pid_file.is_file() and pid_file.read_text().strip() != "", "child starts")
    child, folder = int(pid_file.read_text()), Path(told.read_text())
    assert (folder / "data").is_file()
    os.kill(parent.pid, number)
    parent.wait(30)
    wait_until(lambda: not folder.exists(), "the data are deleted")
    wait_until(lambda: start_ticks(child) is None, "the child is gone")


def test_equal_rows_have_no_difference() -> None:
    day = datetime.date(1995, 3, 8)
    theirs = [[1, Decimal("2.50"), day, 0.0500736, None, "a"]]
    assert difference([[1, "2.50", "1995-03-08", "0.050074", None, "a"]], theirs) is None


@pytest.mark.parametrize(
    ("mine", "sentence"),
    [
        ([], "0 rows, DuckDB has 1"),
        ([[1]], "row 0 has 1 columns, DuckDB's 2"),
        ([[1, "2.51"]], "row 0, column 1: 2.51, DuckDB has 2.50"),
        ([[None, "2.50"]], "row 0, column 0: None, DuckDB has 1"),
        ([["1x", "2.50"]], "row 0, column 0: 1x, DuckDB has 1"),
    ],
)
def test_the_first_difference_is_named(mine: list[list[object]], sentence: str) -> None:
    assert difference(mine, [[1, Decimal("2.50")]]) == sentence


def test_missing_texts_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no text in"):
        copy_texts(tmp_path / "texts", tmp_path)


@pytest.mark.parametrize("scale", ["0", "-1", "1000", "nan"])
def test_a_scale_out_of_range_is_refused(hearth: Command, scale: str) -> None:
    done = hearth("demo", "--scale", scale)
    assert done.returncode == 2
    assert done.stderr.startswith("hearth: --scale: ")


@pytest.mark.spark
def test_the_whole_demonstration_holds_and_leaves_nothing(hearth: Command, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    done = hearth("demo", "--scale", "0.01", environment={"TMPDIR": str(scratch)}, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All checks hold." in done.stdout
    assert done.stdout.count("equal in all 4 runs") == 6
    assert "as planned" in done.stdout
    assert "are not a benchmark" in done.stdout
    assert list(scratch.iterdir()) == []
