"""Record what the JVMs of a run execute: by async-profiler where the user has it, else by a flight
recording (JEP 328). The JDK's jcmd asks for either.

It is asked for from outside once a JVM is up, not by an option: a JVM whose recording cannot
start would end. And a JVM ends when it cannot write a recording's parts, and complains on the
application's output when it cannot write the whole: so both lie in memory (/dev/shm) within a
limit, and the whole is copied to the record in the end. No shared memory, or too little, means no
recording. async-profiler (github.com/async-profiler/async-profiler) counts equal stacks in the JVM
and leaves them when that ends.
"""

import contextlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hearth.base.java import own_directory, own_environment
from hearth.base.private_files import open_private, private_directory, write_private
from hearth.base.processes import is_alive, start_ticks
from hearth.record import kernel
from hearth.record.discovery import ObservedProcess
from hearth.record.probes.base import SampledProcess, read_if_alive
from hearth.record.store import RecordWriter

#: Where what a JVM left stands in the record: `PID.jfr`, or `PID.collapsed` of async-profiler.
FOLDER = "jfr"
RECORDING, STACKS = ".jfr", ".collapsed"
#: The rows that say which JVM is recorded, and why another one is not.
FILE = "jfr.jsonl"
PERIOD_MS = 20
_SETTINGS = f"""<?xml version="1.0" encoding="UTF-8"?>
<configuration version="2.0" label="hearth" provider="hearth">
  <event name="jdk.ExecutionSample">
    <setting name="enabled">true</setting><setting name="period">{PERIOD_MS} ms</setting>
  </event>
</configuration>
"""
_SHARED = Path("/dev/shm")
#: Of one recording in shared memory: then its oldest part goes.
_MOST_MB = 32
#: Below this nothing is recorded.
_LEAST_FREE_MB = 4 * _MOST_MB
_SIGQUIT = 1 << 2
#: A JVM that does not take the request within this time has none.
_PATIENCE_S = 30.0
#: How long JVMs whose driver is over may take to leave theirs.
_LAST_S = 5.0
#: By which a recording or a profile of the user's is known.
_OWN = {"StartFlightRecording": "a recording", "libasyncProfiler": "an async-profiler"}


@dataclass
class _Request:
    """A request that is under way."""

    process: subprocess.Popen[bytes]
    until: float


class Recordings:
    """Asks each driver and executor for a recording, once; what cannot be is noted in the record.

    agent: async-profiler's library, which is then asked instead. problem: why there can be none.
    """

    def __init__(
        self, writer: RecordWriter, proc: Path, jcmd: str, agent: str | None = None
    ) -> None:
        self._writer, self._proc, self._jcmd, self._agent = writer, proc, jcmd, agent
        self._requests: dict[SampledProcess, _Request] = {}
        self._first_seen: dict[SampledProcess, float] = {}
        self._done: set[SampledProcess] = set()
        self._ids: dict[SampledProcess, str | None] = {}
        me = os.getpid()
        self._memory = _SHARED / f"hearth-jfr-{me}-{start_ticks(me)}"
        self._folder = writer.directory / FOLDER
        self.problem = self._prepare()

    def follow(self, processes: Iterable[ObservedProcess]) -> None:
        """Ask those that are new and ready, and hear what the others answered."""
        for process in processes:
            if process.target.role in ("driver", "executor") and process.target not in self._done:
                self._ids[process.target] = process.executor_id
                self._look(process.target)

    def close(self) -> None:
        """End what is under way, keeps what the JVMs have left, and clears the shared memory."""
        for target in list(self._requests):
            self._requests[target].until = 0.0
            self._hear(target)
        until = time.monotonic() + _LAST_S
        while any(is_alive(t.pid, t.start_ticks) for t in self._done) and time.monotonic() < until:
            time.sleep(0.1)
        leftovers = (file for file in self._memory.glob("*") if file.suffix in (RECORDING, STACKS))
        for file in leftovers:
            try:
                with (
                    file.open("rb") as recording,
                    open(self._folder / file.name, "wb", opener=open_private) as copy,
                ):
                    shutil.copyfileobj(recording, copy)
            except OSError as error:
                self._writer.lose(error)
        shutil.rmtree(self._memory, ignore_errors=True)

    def _prepare(self) -> str | None:
        """Make the folders; why there can be no recording."""
        _remove_orphans()
        for path in (str(self._folder), self._agent or ""):
            if re.search(r'["\s\\]', path):
                return f"jcmd takes no path with blanks or quotes: '{path}'"
        try:
            private_directory(self._folder)
            write_private(self._folder / "hearth.jfc", _SETTINGS)
            private_directory(self._memory)
            free_mb = shutil.disk_usage(self._memory).free >> 20
        except OSError as error:
            return f"'{error.filename}' cannot be written: {error.strerror}"
        if free_mb < _LEAST_FREE_MB:
            return f"{_SHARED} has {free_mb} MB free: a recording needs {_LEAST_FREE_MB}"
        return None

    def _look(self, target: SampledProcess) -> None:
        if target in self._requests:
            self._hear(target)
        elif why := self.problem or self._users_own(target.pid):
            self._end(target, why)
        elif self._ready(target.pid):
            self._ask(target)
        elif time.monotonic() > self._first_seen.setdefault(target, time.monotonic()) + _PATIENCE_S:
            self._end(target, "it does not take requests (-Xrs, or it never came up)")

    def _users_own(self, pid: int) -> str | None:
        """Return which recording the user has begun: it is left as it is; ours would change it."""
        with contextlib.suppress(OSError):
            for name in ("cmdline", "environ"):
                words = read_if_alive(self._proc / str(pid) / name) or ""
                for mark, what in _OWN.items():
                    if mark in words:
                        return f"it has {what} of yours ({mark}), which is left alone"
        return None

    def _ready(self, pid: int) -> bool:
        """Return whether a JVM catches jcmd's SIGQUIT yet; one that does not would end."""
        status = kernel.parse_status(read_if_alive(self._proc / str(pid) / "status") or "")
        return bool(int(status.get("SigCgt", "0"), 16) & _SIGQUIT)

    def _ask(self, target: SampledProcess) -> None:
        script = self._folder / f"{target.pid}.jcmd"
        try:
            write_private(script, "\n".join(self._request(target.pid)) + "\n")
            process = subprocess.Popen(
                [self._jcmd, "-J-Xmx32m", "-J-XX:TieredStopAtLevel=1", f"{target.pid}",
                 "-f", str(script)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                env=own_environment(), cwd=own_directory(),
            )  # fmt: skip
        except OSError as error:
            self._end(target, f"jcmd cannot be started: {error.strerror}")
            return
        self._requests[target] = _Request(process, time.monotonic() + _PATIENCE_S)

    def _request(self, pid: int) -> tuple[str, ...]:
        """Return the request in jcmd's words."""
        if self._agent is not None:
            file = f"{self._memory}/{pid}{STACKS}"
            # What it says would else be on the application's standard output.
            log = f"{self._memory}/{pid}.log"
            options = f"start,event=cpu,interval={PERIOD_MS}ms,collapsed,file={file},log={log}"
            return (f'JVMTI.agent_load {self._agent} "{options}"',)
        return (
            f"JFR.configure repositorypath={self._memory} maxchunksize=4M",
            f'JFR.start name=hearth settings="{self._folder}/hearth.jfc" '
            f'filename="{self._memory}/{pid}{RECORDING}" maxsize={_MOST_MB}M dumponexit=true',
        )

    def _hear(self, target: SampledProcess) -> None:
        request = self._requests[target]
        if request.process.poll() is None:
            if time.monotonic() < request.until:
                return
            request.process.kill()
        output = request.process.communicate()[0].decode(errors="replace")
        del self._requests[target]
        started = re.search(r"^(Started recording|return code: 0$)", output, re.MULTILINE)
        if not started and self._agent is not None:
            output += read_if_alive(self._memory / f"{target.pid}.log") or ""
        last = " ".join(output.split())[-200:]
        self._end(target, None if started else f"jcmd said: {last or 'nothing'}")

    def _end(self, target: SampledProcess, why: str | None) -> None:
        """Say what became of it; it is not looked at again."""
        self._done.add(target)
        row = {"pid": target.pid, "role": target.role, "executor_id": self._ids.get(target)}
        self._writer.append(FILE, {**row, "reason": why})


def _remove_orphans() -> None:
    """Remove what samplers that have ended left in shared memory."""
    with contextlib.suppress(OSError):
        for path in _SHARED.glob("hearth-jfr-*-*"):
            pid, _, ticks = path.name.removeprefix("hearth-jfr-").partition("-")
            mine = path.lstat().st_uid == os.getuid()
            if mine and pid.isdigit() and ticks.isdigit() and not is_alive(int(pid), int(ticks)):
                shutil.rmtree(path, ignore_errors=True)
