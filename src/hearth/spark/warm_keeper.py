"""Keep a warm server: the server's parent, which ends it when nobody has used it for long.

It is run as a program, so that `ps` does not show it as the application. It holds the server's lock
until clients can connect, and looks every two seconds who is there. A client that was killed left
its file behind: its sessions are released, and with them what they still compute.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from hearth.base.processes import start_ticks
from hearth.spark import warm_client
from hearth.spark.warm import WarmServer, idle_since, locked, read, write

_LOOK_S = 2.0
_START_LIMIT_S = 200
_END_LIMIT_S = 30
_RELEASE_LIMIT_S = 60
_LISTENS = "0A"  # TCP_LISTEN (include/net/tcp_states.h)


class Keeper:
    """The keeper of one server, its child."""

    def __init__(self, folder: Path, pid: int, python: str) -> None:
        self._folder, self._pid, self._python = folder, pid, python
        self._told_to_end, self._was_held = False, True
        signal.signal(signal.SIGTERM, self._be_told)

    def _be_told(self, *_: object) -> None:
        self._told_to_end = True

    def _is_over(self) -> bool:
        return self._pid == 0 or self._reaped()

    def _reaped(self) -> bool:
        with contextlib.suppress(ChildProcessError):
            if os.waitpid(self._pid, os.WNOHANG)[0] == 0:
                return False
        self._pid = 0
        return True

    def await_start(self, port: int) -> str:
        """Return the empty text when clients can connect, or why they never will."""
        log = self._folder / "server.log"
        end = time.monotonic() + _START_LIMIT_S
        while time.monotonic() < end and not self._told_to_end:
            if self._is_over():
                return f"user: the warm server ended while it started: {_last_words(log)}"
            if port in listening(self._pid):
                return ""
            time.sleep(0.1)
        return f"user: the warm server was not ready within {_START_LIMIT_S} s: see '{log}'"

    def keep(self) -> None:
        """Return when the server is over, or has been idle for its time."""
        while not self._is_over():
            time.sleep(_LOOK_S)
            server = read(self._folder)
            if server is None:  # its record was removed: nobody can find it
                self.end()
                return
            held = self._look_at_clients(server)
            if self._was_held and not held:
                end_python_daemons(server)
            self._was_held = held > 0
            idle_s = time.time() - idle_since(self._folder)
            if self._told_to_end or (not held and idle_s > server.idle_s):
                self._end_unless_used()

    def _look_at_clients(self, server: WarmServer) -> int:
        """Release what killed clients left behind; return how many are there."""
        held = 0
        for file in (self._folder / "clients").glob("[!.]*"):
            if warm_client.is_held(file):
                held += 1
                continue
            with contextlib.suppress(FileNotFoundError):  # it has just left
                sessions = file.read_text(encoding="ascii").split()
                if sessions:
                    self._release(server, file, sessions)
                file.unlink()
        return held

    def _release(self, server: WarmServer, file: Path, sessions: list[str]) -> None:
        variables = {**server.environment, "HEARTH_WARM": f"-1,{file}"}
        words = [self._python, warm_client.__file__, "--release", *sessions]
        with contextlib.suppress(subprocess.TimeoutExpired, OSError):
            subprocess.run(
                words, env={**os.environ, **variables}, check=False, timeout=_RELEASE_LIMIT_S
            )

    def _end_unless_used(self) -> None:
        """End the server, unless a client has come meanwhile; one that comes now starts another."""
        with locked(self._folder):
            server = read(self._folder)
            if not self._told_to_end and server and self._look_at_clients(server):
                return
            self.end()

    def end(self) -> None:
        (self._folder / "server.json").unlink(missing_ok=True)
        for how in (signal.SIGTERM, signal.SIGKILL):
            if not self._is_over():
                os.kill(self._pid, how)
            end = time.monotonic() + _END_LIMIT_S
            while not self._is_over() and time.monotonic() < end:
                time.sleep(0.05)


def end_python_daemons(server: WarmServer, proc: Path = Path("/proc")) -> None:
    """End the parents of Python workers: Spark has one for each session, and keeps it behind that.

    All sessions are over. Should a new one have started its own, Spark starts another.
    """
    mark = f"SPARK_CONNECT_AUTHENTICATE_TOKEN={server.token}".encode()
    for process in proc.glob("[0-9]*"):
        with contextlib.suppress(OSError):  # another user's, or gone
            of_server = mark in (process / "environ").read_bytes().split(b"\0")
            if of_server and b"pyspark.daemon" in (process / "cmdline").read_bytes().split(b"\0"):
                os.kill(int(process.name), signal.SIGTERM)


def listening(pid: int, proc: Path = Path("/proc")) -> set[int]:
    """Return the ports at which a process itself takes connections from this machine."""
    sockets = set()
    with contextlib.suppress(OSError):
        for entry in (proc / str(pid) / "fd").iterdir():
            with contextlib.suppress(OSError):
                sockets.add(str(entry.readlink()))
    ports = set()
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for row in (proc / str(pid) / "net" / table).read_text().splitlines()[1:]:
                words = row.split()
                if words[3] == _LISTENS and f"socket:[{words[9]}]" in sockets:
                    ports.add(int(words[1].rpartition(":")[2], 16))
    return ports


def _last_words(log: Path) -> str:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return f"{lines[-1].strip() if lines else 'it said nothing'}; see '{log}'"


def main(python: str) -> None:
    """Keep the server that standard input describes."""
    task = json.load(sys.stdin)
    folder, pid = Path(task["folder"]), task["pid"]
    os.chdir("/")
    keeper = Keeper(folder, pid, python)
    problem = keeper.await_start(task["port"])
    if problem:
        with contextlib.suppress(BrokenPipeError):
            os.write(task["pipe"], problem.encode())
        keeper.end()
        return
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    me = os.getpid()
    server = WarmServer(
        "hearth/warm/1", folder.name, pid, start_ticks(pid) or 0, me, start_ticks(me) or 0,
        task["port"], task["token"], started_at, task["idle_s"], task["identity"],
    )  # fmt: skip
    write(folder, server)
    os.close(task["pipe"])
    os.close(task["lock"])
    keeper.keep()
    with contextlib.suppress(FileNotFoundError):
        if (found := read(folder)) is None or found.pid == pid:
            (folder / "server.json").unlink()


if __name__ == "__main__":
    main(sys.argv[1])
