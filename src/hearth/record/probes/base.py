"""The base of all probes: tried before use, sampled by one thread, with its cost measured."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from hearth.record.schema import ProbeStatus

_PART_BYTES = 1 << 14

#: (file below the record, row): one line to append.
Row = tuple[str, Mapping[str, object]]


@dataclass(frozen=True)
class Roots:
    """The roots of the kernel's files: the live machine's, or a captured tree's."""

    proc: Path = Path("/proc")
    sys: Path = Path("/sys")


@dataclass(frozen=True)
class SampledProcess:
    """A process of the application; a process id alone may go to another process."""

    pid: int
    start_ticks: int
    role: str

    @property
    def identity(self) -> dict[str, int]:
        return {"pid": self.pid, "start_ticks": self.start_ticks}


class Probe(ABC):
    """Samples one kind of thing; `cost` says in words what a sample costs.

    least_period_s: how often at most. budget_share: of one CPU; a probe whose samples cost more is
    sampled less often. All budgets together are 2 % of one CPU.
    """

    name: ClassVar[str]
    cost: ClassVar[str]
    least_period_s: ClassVar[float] = 1.0
    budget_share: ClassVar[float] = 0.001

    def __init__(self, roots: Roots) -> None:
        self.roots = roots

    @abstractmethod
    def supported(self) -> str | None:
        """Return why it cannot measure here; None where it can."""

    def survey(self) -> ProbeStatus:
        """Return what it can do here, as recorded."""
        reason = self.supported()
        return ProbeStatus(
            name=self.name,
            status="on" if reason is None else "absent",
            reason=reason,
            period_s=self.least_period_s,
            more={"cost": self.cost, **self.tried()},
        )

    def tried(self) -> dict[str, Any]:
        """Return what the survey has tried, for the record."""
        return {}

    def resume(self, status: ProbeStatus) -> None:  # noqa: B027 - most probes try nothing
        """Take what the survey of this run has tried, so that it is not tried again."""

    @abstractmethod
    def sample(self, targets: Sequence[SampledProcess]) -> Iterator[Row]:
        """Yield what is to be appended; skip a process that has vanished meanwhile."""

    def close(self) -> None:  # noqa: B027 - most probes hold nothing
        """Give back what it holds."""


def read_if_alive(path: Path | str) -> str | None:
    """Return the text of a process's file; None where the process is gone.

    Quick, for there are thousands a minute: no file object, and a text does for a path.
    Raises PermissionError for a process that is not ours to read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except (FileNotFoundError, ProcessLookupError):
        return None
    parts = []
    try:
        while part := os.read(descriptor, _PART_BYTES):  # the kernel gives a page or so at once
            parts.append(part)
    except ProcessLookupError:
        return None
    finally:
        os.close(descriptor)
    return b"".join(parts).decode(errors="replace")


def thread_ids(process: Path | str) -> list[str]:
    """Return the thread ids in /proc/PID; none if the process has ended."""
    try:
        return os.listdir(f"{process}/task")  # noqa: PTH208 - names will do
    except (FileNotFoundError, ProcessLookupError):
        return []


def unreadable(path: Path) -> str | None:
    """Return why a file cannot be read; None where it can."""
    try:
        with path.open("rb") as file:
            file.read(1)
    except FileNotFoundError:
        return f"this kernel has no {path}"
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"
    return None
