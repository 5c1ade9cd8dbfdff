"""Find the processes of an application: by descent from its driver, and by its record's tag.

Executors of a standalone worker, or in a container on this machine, are not children of the driver;
but `hearth profile` puts the record's id into their JVM options, so their command line has it.
Anybody can read that id and write it on a command line: it counts for processes of the driver's
user only.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from hearth.base.processes import start_ticks
from hearth.base.redaction import Redaction
from hearth.record import kernel
from hearth.record.probes.base import SampledProcess, read_if_alive

_EXECUTORS = ("CoarseGrainedExecutorBackend", "KubernetesExecutorBackend")
_DRIVER = "org.apache.spark.deploy.SparkSubmit"
# A process is another program between fork and exec: looked at again for this many scans, unless it
# was there before the driver: what the driver starts is younger.
_YOUNG_SCANS = 5
_COMMAND_LENGTH = 300


@dataclass(frozen=True)
class ObservedProcess:
    """A process of the application, as last seen."""

    target: SampledProcess
    parent: int
    executor_id: str | None
    command: str


class ProcessFinder:
    """Scans /proc; a process that was looked at and is not ours is not read again."""

    def __init__(
        self, proc: Path, driver: int, tag: str, redaction: Redaction | None = None
    ) -> None:
        self._proc = proc
        self._redaction = redaction or Redaction.of({})
        self._driver = driver
        self._tag = tag
        self._scans_of: dict[tuple[int, int], int] = {}
        self._driver_start = start_ticks(driver, proc) or 0
        self._user = _owner(proc, driver)
        #: Processes of other users that carry the tag; they are not looked at.
        self.strangers: set[int] = set()
        self.known: dict[int, ObservedProcess] = {}

    @property
    def targets(self) -> list[SampledProcess]:
        """The processes that the probes observe: JVMs and Python processes."""
        return [process.target for process in self.known.values() if process.target.role != "other"]

    def scan(self) -> Iterator[dict[str, object]]:
        """Yield the rows for `processes.jsonl` of what came and went since the last scan."""
        present = dict(self._entries())
        self._scans_of = present
        young = [
            entry for entry, n in present.items() if n <= _YOUNG_SCANS or self._may_become(entry[0])
        ]
        alive = {pid for pid, _ in present}
        for pid in list(self.known):
            if pid not in alive or self._another_process(pid):
                yield {**self.known.pop(pid).target.identity, "event": "gone", "exit": None}
        for entry in young:
            process = self._look(entry)
            if process is not None and self.known.get(process.target.pid) != process:
                self.known[process.target.pid] = process
                yield self._row(process)

    def _may_become(self, pid: int) -> bool:
        """Return whether a known shell may become a JVM: bin/spark-class first runs another."""
        return pid in self.known and self.known[pid].target.role == "other"

    def _entries(self) -> Iterator[tuple[tuple[int, int], int]]:
        # The inode of /proc/PID is another one for another process of the same id.
        with os.scandir(self._proc) as entries:
            pids = sorted((int(e.name), e.inode()) for e in entries if e.name.isdigit())
        for entry in pids:
            yield entry, self._scans_of.get(entry, 0) + 1

    def _another_process(self, pid: int) -> bool:
        stat = read_if_alive(self._proc / str(pid) / "stat")
        if stat is None:
            return True
        now = kernel.parse_stat(stat)
        return now.state == "Z" or now.start_ticks != self.known[pid].target.start_ticks

    def _look(self, entry: tuple[int, int]) -> ObservedProcess | None:
        pid = entry[0]
        folder = f"{self._proc}/{pid}"
        try:
            stat_text = read_if_alive(f"{folder}/stat")
            if stat_text is None:
                return None  # gone
            stat = kernel.parse_stat(stat_text)
            if stat.start_ticks < self._driver_start:
                self._scans_of[entry] = _YOUNG_SCANS
                return None
            command = read_if_alive(f"{folder}/cmdline")
        except PermissionError:
            return None  # hidden from us, so no process of ours
        if not command:
            return None  # gone, a zombie, or a thread of the kernel
        words = command.rstrip("\0").split("\0")
        is_ours = pid == self._driver or pid in self.known or stat.parent in self.known
        if not is_ours and not self._is_tagged(pid, command, words):
            return None
        role = self._role(pid, words)
        parent = self.known.get(stat.parent)
        if role == "executor" and parent is not None and parent.target.role == "executor":
            role = "other"  # a child of it between fork and exec, which still has its command line
        target = SampledProcess(pid, stat.start_ticks, role)
        brief = " ".join(self._redaction.words(words))[:_COMMAND_LENGTH]
        process = ObservedProcess(target, stat.parent, None, brief)
        return replace(process, executor_id=self._executor_id(process, words))

    def _is_tagged(self, pid: int, command: str, words: list[str]) -> bool:
        if self._tag not in command or not _is_executor(words):
            return False
        if self._user is not None and _owner(self._proc, pid) == self._user:
            return True
        self.strangers.add(pid)
        return False

    def _role(self, pid: int, words: list[str]) -> str:
        if pid == self._driver and _is_java(words) and _DRIVER in words:
            return "driver"
        if _is_executor(words):
            return "executor"
        return "python" if Path(words[0]).name.startswith(("python", "pypy")) else "other"

    def _executor_id(self, process: ObservedProcess, words: list[str]) -> str | None:
        """Return the id of an executor, or of the JVM that started a Python process."""
        if process.target.role == "driver":
            return "driver"
        if process.target.role == "executor":
            at = words.index("--executor-id") if "--executor-id" in words[:-1] else None
            return None if at is None else words[at + 1]
        parent = self.known.get(process.parent) or self.known.get(process.target.pid)
        return None if parent is None else parent.executor_id  # kept when the parent has gone

    def _row(self, process: ObservedProcess) -> dict[str, object]:
        folder = self._proc / str(process.target.pid)
        status = kernel.parse_status(read_if_alive(folder / "status") or "")
        return {
            **process.target.identity,
            "parent": process.parent,
            "role": process.target.role,
            "executor_id": process.executor_id,
            "event": "seen",
            "cpus_allowed": status.get("Cpus_allowed_list"),
            "mems_allowed": status.get("Mems_allowed_list"),
            "policy": _policy(folder),
            "cmdline": process.command,
        }


def _owner(proc: Path, pid: int) -> int | None:
    """Return the user id of a process; None if it is gone."""
    try:
        return (proc / str(pid)).stat().st_uid
    except OSError:
        return None


def _is_executor(words: list[str]) -> bool:
    """Return a JVM of an executor, and not a shell or container client that starts one."""
    return _is_java(words) and any(word.endswith(_EXECUTORS) for word in words)


def _is_java(words: list[str]) -> bool:
    """Return whether it is java, not the shell that becomes java by exec (bin/spark-class)."""
    return Path(words[0]).name.startswith("java")


def _policy(folder: Path) -> str | None:
    """Return the first mapping's memory policy, which a process inherits (set_mempolicy(2))."""
    try:
        with (folder / "numa_maps").open(encoding="utf-8", errors="replace") as maps:
            words = maps.readline().split()
    except OSError:
        return None  # gone, or not ours to read: unknown
    return words[1] if len(words) > 1 else None
