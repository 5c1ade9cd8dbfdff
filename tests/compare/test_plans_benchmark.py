"""benchmarks/plans.py: what it compares and how it counts; nothing is timed here."""

import math
from pathlib import Path
from typing import Any

import pytest
from benchmarks import plans

from hearth.base.errors import UserError
from hearth.studies.engine.statistics import Ratio
from hearth.studies.engine.store import Journal
from hearth.workloads import cases
from hearth.workloads.runner import RunError
from planned_machines import a_machine

NODE = {"memory_bytes": 16 << 30, "cpus": "0-3"}
_DOCUMENT: dict[str, Any] = {"allowed": {"cpus": "0-3"}, "nodes": [NODE], "cores": []}
MACHINE = a_machine(_DOCUMENT)


def run(arm: str, repetition: int, wall_s: float, subject: str = "sort 1g") -> Any:
    row = {"subject": subject, "arm": arm, "repetition": repetition, "load": 0.1}
    return {**row, "wall_s": wall_s, "seconds": wall_s / 2, "answer": "checked"}


def test_two_executors_have_together_the_heap_of_the_tuned_arm() -> None:
    arms = plans.ways(MACHINE, "spark://x")
    assert arms["tuned"].conf["spark.driver.memory"] == "12288m"
    for name in ("standalone", "local-cluster", "unbound", "bound"):
        assert arms[name].conf["spark.executor.memory"] == "6144m"
    assert arms["bound"].master == "local-numa[2x2]" and not arms["submit"].hinted


def test_arms_of_nodes_come_by_themselves_where_there_are_several() -> None:
    assert "nodes-bound" not in plans.ways(MACHINE, "spark://x")
    nodes = [NODE, {**NODE, "cpus": "4-7"}]
    two = a_machine({"allowed": {"cpus": "0-7"}, "nodes": nodes, "cores": []})
    assert plans.ways(two, "spark://x")["nodes-bound"].master == "local-numa[2x4]"


def test_a_limit_on_memory_is_what_the_heap_is_taken_from() -> None:
    limit = {"cpus": "0-3", "memory_limit_bytes": 4 << 30}
    limited = a_machine({**_DOCUMENT, "allowed": limit})
    assert plans.heap_mb(limited) == 3072


def test_each_job_counts_once_and_first_runs_are_apart() -> None:
    runs = [run("submit", -1, 9.0), run("defaults", -1, 3.0)]
    runs += [run(arm, n, s) for n in range(3) for arm, s in (("submit", 1.0), ("defaults", 2.0))]
    runs += [run("submit", 0, 2.0, "tpch 1g"), run("defaults", 0, 1.0, "tpch 1g")]
    warm, pairs = plans.by_job(runs, "submit", "defaults", "wall_s", True)
    assert pairs == 4 and plans.over_jobs(warm).value == pytest.approx(1.0)
    first, _ = plans.by_job(runs, "submit", "defaults", "wall_s", False)
    assert first["sort 1g"].value == pytest.approx(3.0)
    shown = "\n".join(plans.page(runs))
    assert "| `submit` | `defaults` | start to end, warm | 2 | 4 | 1.00 |" in shown


def test_the_interval_is_over_jobs() -> None:
    alike = {str(n): Ratio(0.5, None) for n in range(5)}
    assert plans.over_jobs(alike).interval == pytest.approx((0.5, 0.5))
    apart = {str(n): Ratio(math.exp(n), None) for n in (-1, 0, 1)}
    low, high = plans.over_jobs(apart).interval or (1.0, 1.0)
    assert low < 0.5 and high > 2


def test_results_go_on_where_they_were_cut_and_of_another_machine_are_refused(
    tmp_path: Path,
) -> None:
    journal = Journal(tmp_path / "plans.jsonl")
    head = {"schema": plans.SCHEMA, "machine": plans.facts(MACHINE), "ways": {}}
    assert plans.begun(journal, head) == []
    journal.keep(run("submit", 0, 1.0))
    with journal.file.open("a") as file:
        file.write('{"subject": "to')
    assert plans.begun(journal, head) == [run("submit", 0, 1.0)]
    with pytest.raises(UserError, match="another machine: give another file"):
        plans.begun(journal, {**head, "machine": {"cpus": "0-99"}})


def test_a_failure_in_the_results_names_no_place_on_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reason = f"ended with 1: no space in {Path.home()}/data"

    def fails(*_: Any, **__: Any) -> None:
        raise RunError(reason, [], Path.home() / "logs" / "sort.log")

    monkeypatch.setattr(cases, "run", fails)
    nothing: Any = None
    found = cases.measured(nothing, nothing, "local[*]")
    assert found == {"failure": "ended with 1: no space in ~/data"}
