"""CPUs of idle executors that were open to others for a while, by the cluster manager's record."""

import os
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from hearth.analysis.document import HandOver, HandOvers, LentOut
from hearth.model.documents import load_typed, reason
from hearth.model.measured import Absent, Measured

if TYPE_CHECKING:
    from hearth.analysis.evidence import Evidence


def _moment(text: str) -> None:
    """Raises ValueError for what is no time with its zone."""
    if datetime.fromisoformat(text).tzinfo is None:
        raise ValueError(f"'{text}' has no time zone")


@dataclass(frozen=True)
class Lender:
    """Another application."""

    app_id: str
    user: str


@dataclass(frozen=True)
class Lent:
    """A row of CPUs that another application uses."""

    place: int
    cpus: str
    app_id: str
    user: str
    executor_id: str
    since: Annotated[str, _moment]
    until: Annotated[str, _moment] | None = None


@dataclass(frozen=True)
class Loan:
    """A row of hand-over.json; until: None while the CPUs are open."""

    executor_id: str
    cpus: str
    from_places: list[int]
    since: Annotated[str, _moment]
    until: Annotated[str, _moment] | None = None
    from_application: Lender | None = None


@dataclass(frozen=True)
class LoanFile:
    """hand-over.json (contract/hand-over.schema.json)."""

    number: int
    cpu_seconds: float
    loans: list[Loan]
    lent_out: list[Lent] = field(default_factory=list)


def read_hand_overs(evidence: "Evidence", file: Path) -> Measured[HandOvers]:
    """What the file says, on the record's time axis."""
    if not os.path.lexists(file):
        return Absent("the record holds no hand-over of idle CPUs")
    try:
        read = load_typed(file, LoanFile)
    except (OSError, ValueError) as error:
        evidence.warn(f"{file.name} cannot be read: {reason(error)}")
        return Absent(f"{file.name} cannot be read")
    listed = [
        HandOver(
            executor=loan.executor_id,
            cpus=loan.cpus,
            from_places=loan.from_places,
            start_s=evidence.seconds(_ms(loan.since)),
            end_s=None if loan.until is None else evidence.seconds(_ms(loan.until)),
            application=None if loan.from_application is None else loan.from_application.app_id,
        )
        for loan in read.loans
    ]
    lent_out = [
        LentOut(
            place=lent.place,
            cpus=lent.cpus,
            application=lent.app_id,
            executor=lent.executor_id,
            start_s=evidence.seconds(_ms(lent.since)),
            end_s=None if lent.until is None else evidence.seconds(_ms(lent.until)),
        )
        for lent in read.lent_out
    ]
    return HandOvers(read.number, read.cpu_seconds, listed, lent_out)


def _ms(text: str) -> float:
    return datetime.fromisoformat(text).timestamp() * 1000
