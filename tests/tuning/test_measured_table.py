"""`benchmarks/measured_table.py`: tables measured here are what `benchmarks/replay.py` reads."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.measured_table import SCHEMA, Place, begun, medians, shares_of, spec
from tables import COLUMNS, read_tables

from hearth.base.errors import UserError
from hearth.studies.engine.store import Journal
from hearth.studies.models.space import Cell
from planned_machines import a_machine

MACHINE = {"kernel": "6.1", "cpus": "0-1"}
ASKED = {"jobs": "sort", "size": "1m", "seed": 1, "heaps": "1", "cells": ["1x2 2048m", "2x1 1024m"]}
TOPOLOGY: dict[str, Any] = {
    "allowed": {"cpus": "0-7", "nodes": "0-1"},
    "cores": [{"cpus": f"{2 * at}-{2 * at + 1}"} for at in range(4)],
    "nodes": [
        {"id": at, "memory_bytes": 8 << 30, "cpus": f"{4 * at}-{4 * at + 3}"} for at in (0, 1)
    ],
    "packages": [{"cpus": "0-7"}],
}


def run(cell: str, repetition: int, seconds: float | None) -> dict[str, Any]:
    place = {"subject": "sort", "arm": cell, "repetition": repetition, "busy": 0.1}
    return {**place, "failure": "lost"} if seconds is None else {**place, "seconds": seconds}


def test_the_table_holds_medians_of_counted_runs_and_no_cell_that_failed(tmp_path: Path) -> None:
    names = ["1x2 2048m", "2x1 1024m", "1x1 2048m"]
    runs = [run(names[0], at, s) for at, s in ((-1, 99.0), (0, 3.0), (1, 1.0), (2, 2.0))]
    runs += [run(names[1], 0, 5.0), run(names[2], 0, 4.0), run(names[2], 1, None)]
    rows = medians(runs, {name: Place.named(name) for name in names})  # type: ignore[arg-type]
    file = tmp_path / "table.csv"
    lines = [",".join(str(row[name]) for name in COLUMNS) for row in rows]
    file.write_text("\n".join([",".join(COLUMNS), *lines]))
    (table,) = read_tables(file)
    assert table.cells == (Cell(1, 2, 2.0), Cell(2, 1, 1.0))
    assert table.seconds == (2.0, 5.0)


def test_after_a_kill_the_file_alone_says_what_is_measured_and_nothing_else_is_added(
    tmp_path: Path,
) -> None:
    journal = Journal(tmp_path / "measured.jsonl")
    journal.begin({"schema": SCHEMA, "machine": MACHINE, "asked": ASKED})
    journal.keep(run("1x2 2048m", 0, 3.0))
    with journal.file.open("a") as stream:
        stream.write('{"subject": "sort", "arm": "2x')

    def again(machine: dict[str, Any] = MACHINE, **given: object) -> Any:
        said = {**dict.fromkeys(("jobs", "size", "seed", "heaps")), **given}
        return begun(journal, Namespace(**said), a_machine(TOPOLOGY), machine)

    asked, runs = again()
    assert asked == ASKED and [one["seconds"] for one in runs] == [3.0]
    with pytest.raises(UserError, match="has another --size \\(1m, not 2m\\): give another file"):
        again(size="2m")
    with pytest.raises(UserError, match="has another machine"):
        again({**MACHINE, "cpus": "0-3"})


def test_the_machine_of_the_replay_is_described_or_asked_for() -> None:
    assert spec(a_machine(TOPOLOGY)) == "1 package, 2 nodes of 8 GB, 2 cores x 2 threads"
    uneven = {**TOPOLOGY, "cores": TOPOLOGY["cores"][:3]}
    with pytest.raises(UserError, match="--machine: nodes or cores of this machine differ"):
        spec(a_machine(uneven))
    with pytest.raises(UserError, match="--heaps: '1,2' is not shares between 0 and 1"):
        shares_of("1,2")
