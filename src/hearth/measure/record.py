"""The record of one run: a directory that is written as things happen and never rewritten.

`record.json` stands from the start, `machine.json` from soon after it, `end.json` from the end;
everything between is appended line by line. So a record is readable at any moment, also after
`kill -9` of whoever writes it: a line that was being written then is torn, and readers pass over
it.
"""

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hearth.model.errors import UserError
from hearth.model.processes import is_alive, start_ticks

SCHEMA = "hearth/record/1"
MACHINE = "machine.json"
_SLUG_LENGTH = 40


@dataclass(frozen=True)
class Record:
    """One record: its directory, its `record.json`, and its `end.json` where it has ended.

    head["machine"] is `machine.json`, or `{"absent": reason}`.
    """

    directory: Path
    head: dict[str, Any]
    end: dict[str, Any] | None

    @property
    def id(self) -> str:
        return self.directory.name

    @property
    def running(self) -> bool:
        owner = self.head["owner"]
        return self.end is None and is_alive(owner["pid"], owner["start_ticks"])

    @property
    def state(self) -> str:
        """`finished`, `failed` or `interrupted`; `running`; `killed` where nobody wrote the end."""
        if self.end is not None:
            return str(self.end["state"])
        return "running" if self.running else "killed"

    @property
    def wall_s(self) -> float | None:
        """Seconds that the run took; None where it goes on or its end was not seen."""
        return None if self.end is None else float(self.end["wall_s"])

    @property
    def size_bytes(self) -> int:
        return sum(file.stat().st_size for file in self.directory.rglob("*") if file.is_file())


class RecordWriter:
    """Writes a new record; `t` of each row is seconds of CLOCK_MONOTONIC since its start."""

    def __init__(self, directory: Path, head: dict[str, Any]) -> None:
        self.directory = directory
        self.head = head
        self._start_ns = head["clock"]["monotonic_ns"]

    @classmethod
    def create(cls, directory: Path, application: str, head: dict[str, Any]) -> "RecordWriter":
        """Makes the directory (see `new_directory`) and its `record.json`; this process owns it.

        Raises UserError where it cannot be written.
        """
        now, monotonic_ns = time.time_ns(), time.monotonic_ns()
        started = datetime.fromtimestamp(now / 1e9, UTC)
        document = {
            "schema": SCHEMA,
            "id": directory.name,
            "started": started.isoformat(timespec="milliseconds"),
            "clock": {"wall_ns": now, "monotonic_ns": monotonic_ns},
            "owner": {"pid": os.getpid(), "start_ticks": start_ticks(os.getpid())},
            "application": application,
            **head,
        }
        try:
            for folder in ("eventlog", "gc", "samples"):
                (directory / folder).mkdir(mode=0o700, parents=True)
            write_document(directory / "record.json", document)
        except OSError as error:
            raise UserError(
                f"the record cannot be written to '{directory}': {error.strerror}; "
                "make room, or set HEARTH_STATE to a directory that can be written"
            ) from error
        return cls(directory, document)

    @classmethod
    def open(cls, directory: Path) -> "RecordWriter":
        """For a helper of the owner, which adds rows to the same record."""
        head = json.loads((directory / "record.json").read_text(encoding="utf-8"))
        return cls(directory, head)

    def now_s(self) -> float:
        return float((time.monotonic_ns() - self._start_ns) / 1e9)

    def append(self, file: str, row: dict[str, Any], t: float | None = None) -> None:
        """Adds a line to a `.jsonl` file by one write(2), so that lines do not mix."""
        stamped = {"t": round(self.now_s() if t is None else t, 3), **row}
        line = json.dumps(stamped, separators=(",", ":")) + "\n"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(self.directory / file, flags, 0o600)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)

    def warn(self, what: str, remedy: str) -> None:
        self.append("warnings.jsonl", {"what": what, "remedy": remedy})

    def finish(self, state: str, exit_code: int, wall_s: float) -> None:
        """Writes `end.json`; a negative code is the signal that ended the application.

        wall_s: when the application had ended, on the record's axis.
        """
        end = {"ended": datetime.now(UTC).isoformat(timespec="milliseconds")}
        told = {"signal": -exit_code} if exit_code < 0 else {"exit_code": exit_code}
        wall = {"wall_s": round(wall_s, 3), "state": state}
        write_document(self.directory / "end.json", {**end, **told, **wall})


def write_document(file: Path, document: dict[str, Any]) -> None:
    """Writes a JSON document that is there as a whole or not at all."""
    part = file.with_name(f".{file.name}.{os.getpid()}")
    part.write_text(json.dumps(document, indent=1), encoding="utf-8")
    part.replace(file)


def records_home(state_home: Path) -> Path:
    return state_home / "records"


def new_directory(state_home: Path, application: str) -> Path:
    """The path of a new record: `records/20261121-134500-word-count-3fa9`, in UTC; not yet made."""
    return records_home(state_home) / new_name(application)


def new_name(application: str) -> str:
    """A name that sorts by time and that no other has: of a record, a comparison, and so on."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{slug(application)}-{os.urandom(2).hex()}"


def slug(name: str) -> str:
    """A name as a part of a file's name: `SparkPi 2.jar` is `sparkpi-2-jar`."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return plain[:_SLUG_LENGTH].strip("-") or "application"


def read_record(directory: Path) -> Record:
    """One record; raises UserError where the directory holds none that can be read."""
    try:
        head = json.loads((directory / "record.json").read_text(encoding="utf-8"))
        machine = directory / MACHINE
        if machine.is_file():
            head["machine"] = json.loads(machine.read_text(encoding="utf-8"))
        head.setdefault("machine", {"absent": "the machine was not read before the run ended"})
        end_file = directory / "end.json"
        end = json.loads(end_file.read_text(encoding="utf-8")) if end_file.is_file() else None
        record = Record(directory, head, end)
        _ = record.state  # what the listing needs is there
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"'{directory}' is no readable record: {error}; name one that 'hearth runs' lists"
        ) from error
    return record


def analysis_file(directory: Path) -> Path:
    """Where the analysis of a record is kept: beside it, for the record itself never changes."""
    return directory.with_name(f".{directory.name}.analysis")


def list_records(state_home: Path) -> tuple[list[Record], list[str]]:
    """The records, the oldest first, and a line for each directory that cannot be read."""
    records, problems = [], []
    for file in sorted(records_home(state_home).glob("*/record.json")):
        try:
            records.append(read_record(file.parent))
        except UserError as problem:
            problems.append(str(problem))
    return sorted(records, key=lambda record: str(record.head["started"])), problems


def find_record(state_home: Path, name: str) -> Record:
    """The record with this id, the beginning or end of an id, or `last` for the latest one."""
    records, _ = list_records(state_home)
    if name == "last" and records:
        return records[-1]
    matches = [record for record in records if record.id == name]
    matches = matches or [r for r in records if r.id.startswith(name) or r.id.endswith(f"-{name}")]
    if len(matches) == 1:
        return matches[0]
    if matches:
        ids = ", ".join(record.id for record in matches[:5])
        raise UserError(f"'{name}' means {len(matches)} records: choose from {ids}")
    raise UserError(f"no run '{name}' is on record: 'hearth runs' lists them")


def delete_record(record: Record) -> None:
    """Deletes a record; raises UserError for one whose run goes on."""
    if record.running:
        pid = record.head["owner"]["pid"]
        raise UserError(f"'{record.id}' is running (process {pid}): end it first, then delete")
    # Out of the listing first, so that a deletion cut short leaves nothing half there.
    gone = record.directory.with_name(f".deleted-{record.id}")
    record.directory.rename(gone)
    analysis_file(record.directory).unlink(missing_ok=True)
    shutil.rmtree(gone)


def read_rows(file: Path) -> Iterator[dict[str, Any]]:
    """The rows of a `.jsonl` file; a torn line, which `kill -9` leaves, is passed over."""
    if not file.is_file():
        return
    with file.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                row = json.loads(line)
            except ValueError:
                continue  # torn; the reader's caller counts rows, not lines
            if isinstance(row, dict):
                yield row
