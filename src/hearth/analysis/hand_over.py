"""CPUs of idle executors that were open to others for a while, by the cluster manager's record."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from hearth.analysis.document import HandOver, HandOvers
from hearth.base.absent import Absent, Measured
from hearth.base.codec import LEFT_OUT, load_typed, reason
from hearth.base.ids import parse_ids
from hearth.base.limits import Amount, Count, SomeIds, Time

if TYPE_CHECKING:
    from hearth.analysis.evidence import Evidence


def _moment(text: str) -> None:
    """Raise ValueError for what is not a time with its zone."""
    if datetime.fromisoformat(text).tzinfo is None:
        raise ValueError(f"'{text}' has no time zone")


@dataclass(frozen=True)
class Loan:
    """CPUs of idle places, open to an executor of this application."""

    executor_id: str  #: who may use the CPUs besides its own
    place: Count  #: its place in the plan
    cpus: SomeIds
    from_places: list[Count]  #: the idle places whose CPUs they are
    since: Annotated[Time, _moment]
    #: absent while they are open, and where the driver was killed meanwhile
    until: Annotated[Time, _moment] | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class LoanFile:
    """CPUs of idle executors, opened to others: hand-over.json, which the driver writes."""

    number: Count  #: of all loans; the latest 200 of them are listed
    cpu_seconds: Amount  #: CPUs times seconds, of all loans that have ended
    loans: list[Loan]
    app_id: str = ""
    schema: Literal["hearth/hand-over/1"] = "hearth/hand-over/1"


def read_hand_overs(evidence: "Evidence", file: Path) -> Measured[HandOvers]:
    """Read the loans in the file, on the record's time axis."""
    if not os.path.lexists(file):
        return Absent("the record holds no hand-over of idle CPUs")
    try:
        read = load_typed(file, LoanFile)
    except (OSError, ValueError) as error:
        evidence.warn(f"{file.name} cannot be read: {reason(error)}")
        return Absent(f"{file.name} cannot be read")
    listed = [
        HandOver(
            executor=one.executor_id,
            cpus=one.cpus,
            from_places=one.from_places,
            start_s=evidence.seconds(_ms(one.since)),
            end_s=None if one.until is None else evidence.seconds(_ms(one.until)),
        )
        for one in read.loans
    ]
    places = {loan.executor_id: loan.place for loan in read.loans}
    gained = _gained_cpu_s(evidence, listed, places)
    return HandOvers(read.number, read.cpu_seconds, listed, gained)


def _gained_cpu_s(
    evidence: "Evidence", listed: list[HandOver], places: dict[str, int]
) -> Measured[float]:
    """Return CPU seconds that executors used beyond what their own CPUs give, while others were
    lent.

    At least so many: a step of the axis in which only a part was lent counts with its mean.
    """
    if isinstance(evidence.use, Absent):
        return evidence.use
    plan = evidence.record.head.plan if evidence.record else None
    if plan is None:
        return Absent("the record holds no plan, which says how many CPUs an executor has")
    cpus_of_place = {place: len(parse_ids(each.cpus)) for place, each in enumerate(plan.executors)}
    gained = 0.0
    for executor, place in places.items():
        keys = [one.key for one in evidence.processes if one.executor_id == executor]
        sampled = [evidence.use[key].cpu_ticks_over_time for key in keys if key in evidence.use]
        if not sampled or place not in cpus_of_place:
            return Absent(f"executor {executor} was not sampled")
        step_ms = max(series.step_ms for series in sampled)
        step_s = step_ms / 1000
        used = [0.0] * int(evidence.span_s / step_s + 1)
        for series in sampled:
            for at, mean in enumerate(series.means()):
                step = min(at * series.step_ms // step_ms, len(used) - 1)
                used[step] += mean * series.step_ms / evidence.ticks_per_s
        loans = [(loan.start_s, loan.end_s) for loan in listed if loan.executor == executor]
        gained += sum(
            max(sum(used[first:last]) - cpus_of_place[place] * step_s * (last - first), 0.0)
            for first, last in _windows(loans, step_s, len(used))
        )
    return round(gained, 1)


def _windows(
    loans: list[tuple[float, float | None]], step_s: float, count: int
) -> Iterator[tuple[int, int]]:
    """Yield steps of the axis in which there was a loan, those that follow each other together."""
    begin = 0
    spans = sorted(
        (max(int(start / step_s), 0), count if end is None else min(int(end / step_s) + 1, count))
        for start, end in loans
    )
    for first, last in spans:
        if max(first, begin) < last:
            yield max(first, begin), last
            begin = last


def _ms(text: str) -> float:
    return datetime.fromisoformat(text).timestamp() * 1000
