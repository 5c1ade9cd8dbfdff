"""No control character of a name, a setting, a log or a capture reaches the terminal."""

import os
import pty
import subprocess
import sys
from pathlib import Path

from hearth.base.private_files import private_directory
from hearth.base.terminal import escaped
from support import Command

HOSTILE = "a\x1b]0;owned\x07\x1b[2Jb\x9b31m\rc\u202ed\u2066e\x7f"
SHOWN = "a\\x1b]0;owned\\x07\\x1b[2Jb\\x9b31m\\x0dc\\u202ed\\u2066e\\x7f"


def test_control_characters_are_shown_and_text_stays() -> None:
    assert escaped(HOSTILE) == SHOWN
    plain = "Größe\t3 µs, 温度 ✓\nnext line"
    assert escaped(plain) == plain
    assert escaped("\udcff") == "\\udcff"  # of a file name that is no UTF-8


def test_an_error_about_what_was_typed_has_none_of_its_control_characters(hearth: Command) -> None:
    done = hearth("topology", "--machine", HOSTILE)
    assert done.returncode == 2
    assert "]0;owned" in done.stderr
    assert not any(c in done.stderr for c in "\x1b\x9b\x07\r\u202e")


def test_a_listing_shows_the_control_characters_of_names_on_a_terminal_too(
    hearth: Command, tmp_path: Path
) -> None:
    record = private_directory(tmp_path / "state" / "records" / "20260101-000000-app-0000")
    head = (
        '{"schema": "hearth/record/1", "id": "20260101-000000-app-0000",'
        ' "started": "2026-01-01T00:00:00+00:00", "master": "\\u001b[2J",'
        ' "application": "app\\u001b]0;owned\\u0007\\r\\u001b[K\\u202e", "arm": null,'
        ' "owner": {"pid": 1, "start_ticks": 0}, "clock": {"wall_ns": 0, "monotonic_ns": 0}}'
    )
    (record / "record.json").write_text(head)
    leader, follower = pty.openpty()
    environment = {**os.environ, "HEARTH_STATE": str(tmp_path / "state"), "TERM": "xterm"}
    environment["COLUMNS"] = "200"  # a narrow screen leaves the application's name out
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "hearth", "runs"]
    try:
        subprocess.run(command, env=environment, stdout=follower, check=True, timeout=240)
        shown = os.read(leader, 1 << 16).decode()
    finally:
        os.close(leader)
        os.close(follower)
    assert "app\\x1b]0;owned\\x07\\x0d\\x1b[K\\u202e" in shown
    assert "\x1b[2m  id" in shown  # hearth's own colours
    assert "\x1b]" not in shown
    assert "\x1b[2J" not in shown
