"""One of two guests that a cable joins: its device, soft-RoCE on it, and waiting for the other."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ADDRESSES = ("10.78.0.1", "10.78.0.2")
ADAPTER = "rxe0"
COUNTERS = Path("/sys/class/infiniband") / ADAPTER / "ports/1/hw_counters"
_PORT = 7000
_LIMIT_SECONDS = 600.0


def mac(end: int) -> str:
    """The address of the device at this end."""
    return f"52:54:00:00:00:{end:02x}"


def plug_in(end: int) -> None:
    """Gives the cable's device its address, and soft-RoCE."""
    addresses = {
        path.read_text().strip(): path for path in Path("/sys/class/net").glob("*/address")
    }
    device = addresses[mac(end)].parent.name
    _run("ip", "addr", "add", f"{ADDRESSES[end]}/24", "dev", device)
    _run("ip", "link", "set", device, "up")
    _run("rdma", "link", "add", ADAPTER, "type", "rxe", "netdev", device)


def counters() -> dict[str, int]:
    """What the adapter has counted so far: packets sent and received, among others."""
    return {path.name: int(path.read_text()) for path in COUNTERS.iterdir()}


@contextmanager
def both(end: int) -> Iterator[socket.socket]:
    """A connection to the other guest, once both are here; the second stays to the end."""
    if end == 0:
        with socket.create_server((ADDRESSES[0], _PORT)) as server:
            server.settimeout(_LIMIT_SECONDS)
            connection, _ = server.accept()
    else:
        connection = _connect()
    with connection:
        connection.settimeout(_LIMIT_SECONDS)
        yield connection
        if end == 1:
            connection.recv(1)


def _connect() -> socket.socket:
    deadline = time.monotonic() + _LIMIT_SECONDS
    while True:
        try:
            return socket.create_connection((ADDRESSES[0], _PORT), timeout=5.0)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def _run(*words: str) -> None:
    subprocess.run(words, check=True, timeout=60)
