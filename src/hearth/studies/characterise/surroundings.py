"""Read from this machine, once, all that the questions depend on."""

import functools
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hearth.base.errors import UserError
from hearth.machine.jvm import plans, topology
from hearth.machine.memory_bandwidth import sustained_bandwidth
from hearth.machine.plan import Plan
from hearth.record.probes import survey
from hearth.record.probes.base import Roots
from hearth.spark.submit_args import SubmitLine
from hearth.studies.characterise.questions import Size, Surroundings
from hearth.studies.engine import kernel_settings


def surroundings(
    line: SubmitLine,
    settings: Mapping[str, str],
    sweep: str | None,
    *,
    may_switch: bool,
    debug: bool,
    search_nodes: bool = False,
    smt_ladder: bool = False,
) -> Surroundings:
    """Read the live machine.

    line, settings: the user's, for the plans. sweep: see `sweep_cells`.
    """
    machine = topology(debug=debug)

    def request(size: Size) -> dict[str, Any]:
        heap = None if size.heap_mb is None else f"{size.heap_mb}m"
        options = replace(line.planning, executors=size.executors, cores=size.cores, memory=heap)
        python, occupied = line.is_python, size.occupied
        return options.plan_request(settings, python=python, occupied=occupied).document()

    @functools.cache  # the same for each subject
    def planned(sizes: tuple[Size, ...]) -> list[Plan | UserError]:
        return plans([request(size) for size in sizes], debug)

    lacks = {row.name: row.reason for row in survey(Roots()) if row.status != "on"}
    no_numactl = None if shutil.which("numactl") else "numactl is not installed: apt-get install it"
    return Surroundings(
        topology=machine,
        plans=planned,
        no_numactl=no_numactl,
        no_prefetchers=_no_prefetchers(may_switch, sorted(machine.usable_cpus)),
        no_bandwidth=lacks.get("bandwidth"),
        no_counters=lacks.get("counters"),
        sweep=sweep_cells(sweep),
        heap_fixed="spark.executor.memory" in settings,
        search_nodes=search_nodes,
        smt_ladder=smt_ladder,
    )


def _no_prefetchers(may_switch: bool, cpus: list[int]) -> str | None:
    """Return why prefetchers cannot be switched; it takes consent, as it affects all programs."""
    reason = kernel_settings.cannot_switch_prefetchers(cpus)
    if reason is None and not may_switch:
        return "it changes model-specific registers: allow it with --change-prefetchers"
    return reason


def sweep_cells(text: str | None) -> tuple[tuple[int, int], ...]:
    """Parse `2x4,4x2` to executors and cores of each; raise UserError for another form."""
    cells = []
    for part in [] if text is None else text.split(","):
        match = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)", part.strip())
        if match is None:
            raise UserError(f"--sweep: '{part}' is not executors x cores: write 2x4,4x2")
        cells.append((int(match[1]), int(match[2])))
    return tuple(dict.fromkeys(cells))


def sustained_gb_s() -> float:
    """Return the sustained bandwidth of all memory nodes together, measured once and kept."""
    return sum(node.best_gb_s for node in sustained_bandwidth().nodes.values())
