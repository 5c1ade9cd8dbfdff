"""`hearth topology --capture` replaces no file unasked; one that is ended leaves nothing behind."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from hearth.machine import jvm
from support import PATIENCE_S, Command, command, environment, eventually


def runs(group: int) -> bool:
    """Whether a process of a group is there."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("after_s", [0.05, 0.3, 0.6])
def test_a_gather_that_is_ended_leaves_no_part_and_no_process(
    tmp_path: Path, number: signal.Signals, after_s: float
) -> None:
    scratch, target = tmp_path / "scratch", tmp_path / "target"
    scratch.mkdir()
    target.mkdir()
    running = subprocess.Popen(
        command("topology", "--capture", str(target / "m.tar.gz")),
        env=environment(tmp_path / "state", TMPDIR=str(scratch)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    time.sleep(after_s)
    os.killpg(running.pid, number)
    running.communicate(timeout=PATIENCE_S)
    eventually("nothing of it runs", lambda: not runs(running.pid))
    # By a process that outlives it, which a busy machine may keep waiting.
    eventually("no part is left", lambda: (
        list(scratch.iterdir()) == []
        and {file.name for file in target.iterdir()} <= {"m.tar.gz"}  # where it was quicker
    ))  # fmt: skip


def test_java_removes_what_it_has_begun_when_the_command_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = tmp_path / "part"
    # Not before its parent has taken note of it; a Ctrl-C then reaches both.
    wait = "sleep 0.5; kill -INT $PPID; while :; do sleep 1; done"
    script = f"trap 'rm {part}; exit 1' TERM; touch {part}; {wait}"
    monkeypatch.setattr(jvm, "command", lambda *_, **__: ["sh", "-c", script])
    with pytest.raises(KeyboardInterrupt):
        jvm.call("gather")
    eventually("no part is left", lambda: not part.exists(), 10)


def test_a_capture_compressed_with_zstd_is_refused_with_what_to_do(
    hearth: Command, tmp_path: Path
) -> None:
    zstandard = pytest.importorskip("zstandard")
    file = tmp_path / "machine.tar.zst"
    file.write_bytes(zstandard.ZstdCompressor().compress(b"0" * 10240))
    refused = hearth("topology", "--machine", str(file))
    assert refused.returncode == 2
    assert len(refused.stderr.splitlines()) == 1
    assert "machine.tar.zst" in refused.stderr and "zstd" in refused.stderr
