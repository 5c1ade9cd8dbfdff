"""Every program in examples/ runs and says what it should."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import ROOT, Command

EXAMPLES = ROOT / "examples"
SHAPE = ["--executors", "1", "--cores", "1", "--memory", "512m"]


def test_every_example_has_a_test() -> None:
    here = Path(__file__).read_text()
    assert all(f'"{file.name}"' in here for file in EXAMPLES.glob("*.py"))


@pytest.mark.spark
def test_the_word_count_counts(hearth: Command, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a b a\nc a b\n")
    done = hearth("submit", *SHAPE, str(EXAMPLES / "word_count.py"), "text")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["3", "a", "2", "b", "1", "c"]


@pytest.mark.spark
def test_the_notebook_runs_in_plain_python(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "notebook.py")]
    environment = {"PATH": "/usr/bin:/bin", "HEARTH_STATE": str(tmp_path / "state")}
    environment |= {name: os.environ[name] for name in ("JAVA_HOME", "HOME") if name in os.environ}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "|     0|49999500000|" in done.stdout
    assert len(list((tmp_path / "state" / "applications").iterdir())) == 1
