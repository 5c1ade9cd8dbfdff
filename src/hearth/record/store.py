"""The record of one run: a directory that is written as things happen and never rewritten.

`record.json` is there from the start, `machine.json` soon after, `end.json` at the end;
everything between is appended line by line. So a record is readable at any moment, also after
`kill -9` of whoever writes it: a line that was being written then is torn, and readers pass over
it.
"""

import contextlib
import errno
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hearth.base.absent import Absent, Measured
from hearth.base.codec import load_measured, load_typed, read_typed, reason, to_json
from hearth.base.errors import UserError
from hearth.base.private_files import (
    close_to_others,
    open_private,
    private_directory,
    write_private,
)
from hearth.base.processes import CpuSeconds, is_alive, start_ticks
from hearth.record.schema import (
    ClockReading,
    End,
    Launched,
    Owner,
    RecordedMachine,
    RecordHead,
    State,
)

MACHINE = "machine.json"
_SLUG_LENGTH = 40
#: Held free for the end of a record: an application may fill the disk meanwhile.
_RESERVE = ".reserve"
_RESERVE_BYTES = 32 << 10
_MAKE_ROOM = "make room, or set HEARTH_STATE to a writable directory"
_NO_RECORD = "no run is recorded: 'hearth profile APPLICATION' makes one"


@dataclass(frozen=True)
class Record:
    """One record: its directory, and its documents; no end while the run goes on, or was killed."""

    directory: Path
    head: RecordHead
    machine: Measured[RecordedMachine]
    end: End | None

    @property
    def id(self) -> str:
        return self.directory.name

    @property
    def running(self) -> bool:
        owner = self.head.owner
        if self.end is not None or owner.start_ticks is None:
            return False
        return is_alive(owner.pid, owner.start_ticks)

    @property
    def state(self) -> str:
        """`finished`, `failed` or `interrupted`; `running`; `killed` if the end was never
        written."""
        if self.end is not None:
            return self.end.state
        return "running" if self.running else "killed"

    @property
    def wall_s(self) -> float | None:
        """Seconds that the run took; None where it goes on or its end was not seen."""
        return None if self.end is None else float(self.end.wall_s)

    @property
    def size_bytes(self) -> int:
        files = [file for file in self.directory.rglob("*") if file.is_file()]
        return sum(file.lstat().st_size for file in files)


class RecordWriter:
    """Writes a new record; `t` of each row is seconds of CLOCK_MONOTONIC since its start.

    Once it has begun, what cannot be written is lost and counted, never an error: the application
    goes on. `problem` says why, where anything was lost.
    """

    def __init__(self, directory: Path, head: RecordHead) -> None:
        self.directory = directory
        self.head = head
        self.lost = 0
        self.problem: str | None = None
        self._torn: set[str] = set()
        self._start_ns = head.clock.monotonic_ns

    @classmethod
    def create(cls, directory: Path, application: str, launched: Launched) -> "RecordWriter":
        """Begin the record in its directory (see `new_directory`); this process owns it.

        Raises UserError where it cannot be written, or another process has begun it.
        """
        now, monotonic_ns = time.time_ns(), time.monotonic_ns()
        started = datetime.fromtimestamp(now / 1e9, UTC)
        head = RecordHead(
            schema="hearth/record/1",
            id=directory.name,
            started=started.isoformat(timespec="milliseconds"),
            clock=ClockReading(now, monotonic_ns),
            owner=Owner(os.getpid(), start_ticks(os.getpid())),
            application=application,
            **vars(launched),
        )
        try:
            private_directory(directory.parent)
            private_directory(directory)
            for folder in ("eventlog", "gc", "samples"):
                (directory / folder).mkdir(mode=0o700)
            write_document(directory / "record.json", to_json(head))
            _reserve(directory / _RESERVE)
        except FileExistsError as error:
            raise _there_already(directory) from error
        except OSError as error:
            raise _unwritable(directory, error) from error
        return cls(directory, head)

    @classmethod
    def open(cls, directory: Path) -> "RecordWriter":
        """Open a record for a helper process of its owner, which adds rows to it."""
        return cls(directory, load_typed(directory / "record.json", RecordHead))

    def now_s(self) -> float:
        return float((time.monotonic_ns() - self._start_ns) / 1e9)

    def append(self, file: str, row: Mapping[str, object], t: float | None = None) -> None:
        """Add a line to a `.jsonl` file by one write(2), so that lines do not mix."""
        stamped = {"t": round(self.now_s() if t is None else t, 3), **row}
        line = json.dumps(stamped, separators=(",", ":")).encode() + b"\n"
        try:
            self._write(file, b"\n" + line if file in self._torn else line)
        except OSError as error:
            self.lose(error)

    def _write(self, file: str, line: bytes) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        descriptor = open_private(str(self.directory / file), flags)
        try:
            written = os.write(descriptor, line)
        finally:
            os.close(descriptor)
        if written < len(line):
            self._torn.add(file)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._torn.discard(file)

    def lose(self, error: OSError) -> None:
        """Count something that could not be written; the first reason is kept."""
        self.lost += 1
        self.problem = self.problem or (error.strerror or str(error))

    def warn(self, what: str, remedy: str) -> None:
        self.append("warnings.jsonl", {"what": what, "remedy": remedy})

    def finish(
        self, state: State, exit_code: int, wall_s: float, cpu: CpuSeconds | None = None
    ) -> None:
        """Write `end.json`; a negative code is the signal that ended the application.

        wall_s: when the application had ended, on the record's axis. cpu: what it used.
        """
        (self.directory / _RESERVE).unlink(missing_ok=True)
        if self.problem is not None:
            self.warn(f"parts of the record could not be written: {self.problem}", _MAKE_ROOM)
        end = End(
            state=state,
            wall_s=round(wall_s, 3),
            cpu_user_s=None if cpu is None else round(cpu.user, 3),
            cpu_system_s=None if cpu is None else round(cpu.system, 3),
            exit_code=exit_code if exit_code >= 0 else None,
            signal=-exit_code if exit_code < 0 else None,
            ended=datetime.now(UTC).isoformat(timespec="milliseconds"),
        )
        try:
            write_document(self.directory / "end.json", to_json(end))
            close_to_others(self.directory)
        except OSError as error:
            self.lose(error)


def _reserve(file: Path) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, _RESERVE_BYTES)
    finally:
        os.close(descriptor)


def write_document(file: Path, document: Mapping[str, object]) -> None:
    """Write a JSON document completely or not at all."""
    write_private(file, json.dumps(document, indent=1))


def records_home(state_home: Path) -> Path:
    return state_home / "records"


def new_directory(state_home: Path, application: str, name: str | None = None) -> Path:
    """Return the directory of a new record: `records/20261121-134500-word-count-3fa9`, in UTC.

    It is made here, empty, so that no other process takes the same name. name: of the record, where
    one is chosen; raises UserError for what is not a name, or has a record.
    """
    if name is not None and not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,80}", name):
        raise UserError(f"--record: '{name}' is not an id: use small letters, digits and hyphens")
    home = records_home(state_home)
    try:
        if name is None:
            return named_directory(home, application)
        directory = private_directory(home) / name
        directory.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise _unwritable(home, error) from error
    if has_begun(directory):
        raise _there_already(directory)
    return directory


def named_directory(home: Path, application: str) -> Path:
    """Return a new directory whose name sorts by time: of a record, a comparison, and so on.

    Whoever makes it has its name: another of the same second gets another one.
    """
    private_directory(home)
    while True:
        directory = home / new_name(application)
        with contextlib.suppress(FileExistsError):
            directory.mkdir(mode=0o700)
            return directory


@contextlib.contextmanager
def claimed(state_home: Path, application: str, name: str | None = None) -> Iterator[Path]:
    """Yield a `new_directory`, and remove it again at the end if no record was begun in it."""
    directory = new_directory(state_home, application, name)
    try:
        yield directory
    finally:
        with contextlib.suppress(OSError):  # it is not empty
            directory.rmdir()


def has_begun(directory: Path) -> bool:
    """Return whether there is a record, or what is left of one, and not only its name."""
    try:
        return any(directory.iterdir())
    except FileNotFoundError:
        return False
    except OSError:  # no directory, or not to be read
        return True


def _there_already(directory: Path) -> UserError:
    where = f"--record: '{directory.name}' is there already"
    return UserError(f"{where}: give a new id, or leave it out")


def _unwritable(directory: Path, error: OSError) -> UserError:
    why = error.strerror or str(error)
    return UserError(f"the record cannot be written to '{directory}': {why}; {_MAKE_ROOM}")


def new_name(application: str) -> str:
    """Return a name that sorts by time; another of the same second may have the same."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{slug(application)}-{os.urandom(2).hex()}"


def slug(name: str) -> str:
    """Return a name as a part of a file's name: `SparkPi 2.jar` is `sparkpi-2-jar`."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return plain[:_SLUG_LENGTH].strip("-") or "application"


def read_record(directory: Path) -> Record:
    """Return one record; raise UserError, with the file's name, where it cannot be read."""
    remedy = "'hearth runs' lists those that can be read; delete the directory to remove it"
    head = read_typed(directory / "record.json", RecordHead, remedy)
    end_file = directory / "end.json"
    end = read_typed(end_file, End, remedy) if os.path.lexists(end_file) else None
    return Record(directory, head, _machine(directory / MACHINE), end)


def _machine(file: Path) -> Measured[RecordedMachine]:
    if not os.path.lexists(file):
        return Absent("the machine was not read before the run ended")
    try:
        return load_measured(file, RecordedMachine)
    except (OSError, ValueError) as error:
        return Absent(f"{file.name} cannot be read: {reason(error)}")


def analysis_file(directory: Path) -> Path:
    """Return the file of a record's analysis: beside the record, which itself never changes."""
    return directory.with_name(f".{directory.name}.analysis")


def list_records(state_home: Path) -> tuple[list[Record], list[str]]:
    """Return the records, the oldest first, and a line for each that cannot be read."""
    records, problems = [], []
    for directory in _directories(state_home):
        try:
            records.append(read_record(directory))
        except UserError as problem:
            problems.append(str(problem))
    return sorted(records, key=lambda record: record.head.started), problems


def _directories(state_home: Path) -> list[Path]:
    home = records_home(state_home)
    paths = sorted(home.iterdir()) if home.is_dir() else []
    shown = [path for path in paths if not path.name.startswith(".")]
    return [path for path in shown if has_begun(path)]


#: Records that are looked through for an earlier run of an application.
_MOST_LOOKED_AT = 100


def last_wall_s(state_home: Path, application: str) -> float | None:
    """Return how long the latest finished run of an application took; None without one."""
    for directory in _directories(state_home)[: -_MOST_LOOKED_AT - 1 : -1]:
        with contextlib.suppress(UserError):  # one that cannot be read says nothing
            record = read_record(directory)
            if record.state == "finished" and record.head.application == application:
                return record.wall_s
    return None


#: Names the latest record, wherever one stands: never a file of that name.
LAST = "last"


def find_record(state_home: Path, name: str) -> Record:
    """Find a record by its id, the beginning or end of one, or `last` for the latest."""
    if name == LAST:
        return _last(state_home)
    record_id = the_only(name, "records", record_ids(state_home))
    if record_id is None:
        raise UserError(f"no run '{name}' is recorded: 'hearth runs' lists them")
    return read_record(records_home(state_home) / record_id)


def record_ids(state_home: Path) -> list[str]:
    """Return the ids of all records, also of those that cannot be read."""
    return [path.name for path in _directories(state_home)]


def the_only(name: str, what: str, ids: Sequence[str]) -> str | None:
    """Return the id that a name stands for: the id itself, else one that begins or ends with it.

    None where none does; raises UserError for several. what: they are, for the error.
    """
    matches = [name] if name in ids else []
    matches = matches or [i for i in ids if name and (i.startswith(name) or i.endswith(f"-{name}"))]
    if len(matches) > 1:
        some = ", ".join(matches[:5])
        raise UserError(f"'{name}' matches {len(matches)} {what}: choose from {some}")
    return next(iter(matches), None)


def _last(state_home: Path) -> Record:
    """Return the latest record that can be read; warn if a later one cannot."""
    records, problems = list_records(state_home)
    if not records:
        raise UserError(problems[-1] if problems else _NO_RECORD)
    for problem in problems:
        print(f"hearth: {problem}", file=sys.stderr)
    return records[-1]


def delete_record(record: Record) -> None:
    """Delete a record; raise UserError for one whose run goes on."""
    if record.running:
        pid = record.head.owner.pid
        raise UserError(f"'{record.id}' is running (process {pid}): stop it first, then delete")
    # Out of the listing first, so that a deletion cut short leaves nothing half there.
    gone = record.directory.with_name(f".deleted-{record.id}")
    record.directory.rename(gone)
    analysis_file(record.directory).unlink(missing_ok=True)
    shutil.rmtree(gone)
