"""Plan for a fleet, and find what its odd machines have wrong."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from hearth.base.errors import UserError
from hearth.base.terminal import one_line
from hearth.doctor.examine import CheckFinding, examine
from hearth.doctor.reading import captured_machine
from hearth.fleet.classes import Sorted, captures_in, classes_of, layout_of, read_all
from hearth.fleet.common import PlannedClass, common_shape
from hearth.fleet.result import Common, CommonFinding, FleetPlan, RareFinding, Unread
from hearth.machine.plan import PlanRequest


def plan_fleet(folder: Path, request: PlanRequest, debug: bool = False) -> FleetPlan:
    """Return the classes of the machines that were captured in a folder, and what is odd."""
    found, unread = Sorted(), []
    findings: list[tuple[str, list[CheckFinding]]] = []
    for one in read_all(captures_in(folder), request, debug):
        if isinstance(one, Unread):
            unread.append(one)
            continue
        found.add(one)
        try:
            with captured_machine(
                one.capture, one.topology, one.plan, request.workload, of_fleet=True
            ) as machine:
                findings.append((one.name, examine(machine, one.name, {}).findings))
        except UserError as error:  # its topology could be read, and nothing behind it
            unread.append(
                Unread(one_line(one.capture.name), f"not examined: {one_line(str(error))}")
            )
    kinds = found.kinds()
    if not kinds:
        first = f"{unread[0].machine}: {unread[0].reason}"
        raise UserError(f"no capture in '{folder}' can be planned for: {first}")
    common = common_shape([PlannedClass(len(kind.names), layout_of(kind)) for kind in kinds])
    return FleetPlan(
        classes=classes_of(kinds),
        usual=_usual(findings),
        odd=_odd(findings),
        unread=unread,
        common=common if isinstance(common, Common) else None,
        no_common=common if isinstance(common, str) else None,
    )


def _shared(findings: Sequence[tuple[str, list[CheckFinding]]]) -> dict[str, int]:
    """Return how many machines have each finding that more than half of them have."""
    counts = Counter(each.name for _, found in findings for each in found)
    return {name: many for name, many in counts.most_common() if 2 * many > len(findings)}


def _usual(findings: Sequence[tuple[str, list[CheckFinding]]]) -> list[CommonFinding]:
    better = {each.name: each.better for _, found in findings for each in found}
    return [CommonFinding(name, many, better[name]) for name, many in _shared(findings).items()]


def _odd(findings: Sequence[tuple[str, list[CheckFinding]]]) -> list[RareFinding]:
    shared = _shared(findings)
    return [
        RareFinding(machine, each.name, each.severity, each.seen, each.better, each.command)
        for machine, found in findings
        for each in _unshared(found, shared)
    ]


def _unshared(found: Iterable[CheckFinding], shared: dict[str, int]) -> list[CheckFinding]:
    return [each for each in found if each.name not in shared]
