"""Files of a cluster for each class of machine of a fleet, and what suits all."""

from dataclasses import replace
from pathlib import Path

from hearth.base.errors import UserError
from hearth.base.sizes import counted
from hearth.fleet.classes import Sorted, captures_in, read_all
from hearth.fleet.common import PlannedClass, common_shape
from hearth.fleet.result import Unread
from hearth.machine.described import machine_source
from hearth.machine.plan import PlanRequest
from hearth.spark.clusters.files import plan_layout, text_of
from hearth.spark.clusters.kubernetes import whole_cpus
from hearth.spark.clusters.shape import properties


def fleet_text(request: PlanRequest, cluster: str, debug: bool = False) -> str:
    """Return the files for each class of machine in the folder that `request.machine` names.

    A class begins with a line `## class`, and what suits all with `## all`. Raises UserError where
    nothing can be planned.
    """
    found, unread = Sorted(), []
    for one in read_all(captures_in(Path(request.machine or ".")), request, debug):
        if isinstance(one, Unread):
            unread.append(f"## not read: {one.machine}: {one.reason}")
        else:
            found.add(one)
    kinds = found.kinds()
    if not kinds:
        raise UserError(f"--machine: no capture in '{request.machine}' can be planned for:"
                        f" {unread[0].partition(': ')[2]}")  # fmt: skip
    parts, members = [], []
    for number, kind in enumerate(kinds, 1):
        head = f"## class {number}: {len(kind.names)} of the machines: {', '.join(kind.names)}\n"
        example = replace(request, machine=machine_source(str(kind.example.capture)))
        try:
            layout, reserved = plan_layout(example, cluster, debug)
            parts.append(head + text_of(layout, reserved, cluster, request.settings))
            members.append(PlannedClass(len(kind.names), layout))
        except UserError as error:
            parts.append(f"{head}# none: {error}\n")
    for_all = (
        _for_all(members, cluster)
        if len(members) == len(kinds)
        else "## all: no spark-defaults.conf fits: a class has none\n"
    )
    return "\n".join([*parts, for_all, *unread])


def _for_all(members: list[PlannedClass], cluster: str) -> str:
    common = common_shape(members)
    if isinstance(common, str):
        return f"## all: no spark-defaults.conf fits: {common}\n"
    each = "; ".join(
        f"class {number}: {counted(fit.executors, 'executor')} on each machine"
        for number, fit in enumerate(common.fits, 1)
    )
    cpus = whole_cpus(common.shape) if cluster == "kubernetes" else {}
    return f"## all\n### spark-defaults.conf\n{properties({**common.settings, **cpus}, each)}"
