"""The data server of the streaming jobs, read by a plain socket."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hearth.base.errors import UserError
from hearth.base.processes import start_ticks
from hearth.workloads.source import DataServer
from support import PATIENCE_S, eventually

pytestmark = pytest.mark.command


def connect(server: DataServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S)


def read_lines(connection: socket.socket, count: int) -> list[str]:
    """That many lines; fails where the server leaves before."""
    with connection.makefile("r", encoding="utf-8", newline="\n") as lines:
        read = [lines.readline() for _ in range(count)]
    assert all(line.endswith("\n") for line in read)
    return [line[:-1] for line in read]


def is_all(received: bytearray, status: dict[str, Any]) -> bool:
    return received.count(b"\n") == status["sent"]


def serve(log: Path | None, stream: str, rate: int, events: int, seed: int) -> list[str]:
    with DataServer(stream, rate, events, seed, log) as server, connect(server) as connection:
        return read_lines(connection, events)


@pytest.mark.parametrize("stream", ["text", "clicks", "tags", "points", "labelled"])
def test_the_log_holds_exactly_what_a_reader_received(stream: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with DataServer(stream, 2000, 500, 7, log) as server, connect(server) as connection:
        received = read_lines(connection, 500)
        eventually("done", lambda: server.status()["done"])
        status = server.status()
    assert (status["sent"], status["unsent"], status["reader"]) == (500, 0, "connected")
    assert log.read_text(encoding="utf-8").splitlines() == received
    assert len(set(received)) > 400


def test_an_event_depends_on_seed_and_number_alone() -> None:
    slow = serve(None, "points", 200, 60, 3)
    fast = serve(None, "points", 20000, 600, 3)
    other = serve(None, "points", 20000, 600, 4)
    assert slow == fast[:60]
    assert not set(fast) & set(other)


def test_events_come_at_the_rate_that_was_asked_for() -> None:
    with DataServer("points", 1000, 2001, 1, None) as server, connect(server) as connection:
        start = time.monotonic()
        read_lines(connection, 2001)
        seconds = time.monotonic() - start
        late_s = server.status()["late_ms_max"] / 1000
    # The last of 2001 events is due after 2 s, never before; late only by what is reported, and by
    # what a busy machine keeps the reader waiting.
    assert 1.98 <= seconds <= 10 + late_s


def test_what_a_slow_reader_did_not_take_in_time_is_counted_as_unsent(tmp_path: Path) -> None:
    log, events = tmp_path / "log", 150_000
    with DataServer("text", 100_000, events, 1, log) as server, connect(server) as connection:
        eventually("unsent", lambda: server.status()["unsent"] > 0)
        connection.settimeout(0.1)
        received = bytearray()
        while not ((status := server.status())["done"] and is_all(received, status)):
            with contextlib.suppress(TimeoutError):
                received += connection.recv(1 << 20)
    assert status["sent"] + status["unsent"] == events
    assert bytes(received) == log.read_bytes()
    assert received.count(b"\n") == status["sent"] < events


def test_a_reader_that_leaves_is_told_and_ends_the_feed() -> None:
    with DataServer("text", 5000, 20_000, 1, None) as server:
        with connect(server) as connection:
            read_lines(connection, 10)
        eventually("done", lambda: server.status()["done"])
        status = server.status()
    assert status["reader"] == "gone"
    assert status["unsent"] > 0
    assert status["sent"] + status["unsent"] == 20_000


def test_a_second_reader_is_refused() -> None:
    with DataServer("text", 100, 10, 1, None) as server, connect(server) as connection:
        read_lines(connection, 1)
        with pytest.raises(ConnectionRefusedError):
            connect(server)


def test_a_port_that_is_taken_is_named_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=f"--port: {port}: Address already in use: ") as error:
            DataServer("text", 10, 10, 1, None, port=port).__enter__()
    assert "\n" not in str(error.value)


def test_an_unknown_stream_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UserError, match="'clocks' is not a stream: use one of text, clicks"):
        DataServer("clocks", 10, 10, 1, None).__enter__()


def test_the_server_ends_when_its_owner_is_killed() -> None:
    program = (
        "from hearth.workloads.source import DataServer\n"
        "with DataServer('text', 10, 10, 1, None) as s:\n"
        "    print(s.pid, flush=True); input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        assert start_ticks(pid) is not None
        os.kill(owner.pid, signal.SIGKILL)
        eventually("end of the server", lambda: start_ticks(pid) is None)
