"""Stages whose tasks wait run more of them at once, under a real Spark, and lose no slot."""

from pathlib import Path
from typing import Any

import pytest
from application import Outcome, Site

from hearth.analysis.analysis import analyse_event_log
from hearth.base.codec import to_json

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("two_cpus")]


def run(site: Site, *words: str, master: str) -> tuple[Outcome, dict[str, Any]]:
    logs = site.root / "events"
    logs.mkdir()
    outcome = site.run(
        "waits.py",
        *words,
        master=master,
        spark__hearth__width="adaptive",
        spark__eventLog__enabled="true",
        spark__eventLog__dir=str(logs),
    )
    assert outcome.code == 0, outcome.log[-3000:]
    assert all(job["right"] for job in outcome.report.values()), outcome.report
    (log,) = Path(logs).iterdir()
    return outcome, to_json(analyse_event_log(log))


def assert_wider(outcome: Outcome, slots: int) -> None:
    first, again = outcome.report["calls"]["at_once"], outcome.report["calls again"]["at_once"]
    assert slots < first <= 4 * slots
    assert slots < again <= 4 * slots


def widths(found: dict[str, Any], stage: int) -> list[int]:
    """Of one of its stages, one after another, as the event log has them."""
    return [width["tasks"] for width in found["stages"][stage]["widths"]]


def test_one_jvm_runs_more_tasks_that_wait_than_it_has_slots_and_has_them_all_at_its_end(
    site: Site,
) -> None:
    outcome, found = run(site, "one", master="local-numa")
    assert_wider(outcome, slots=2)
    assert widths(found, 0)[-1] > 2
    assert found["warnings"] == []
    assert widths(found, -1)[0] > 2  # what was learned of the same call before
    assert max(found["timeline"]["running_tasks"]) > 2
    assert max(found["tasks_sample"]["slot"]) >= 2


def test_bound_executors_do_though_a_task_fails_and_one_of_them_is_killed(site: Site) -> None:
    outcome, found = run(site, master="local-numa[2x1]")
    assert_wider(outcome, slots=1)
    for job in ("a failed task", "a killed executor"):
        assert 1 < outcome.report[job]["at_once"] <= 4
    assert widths(found, 0)[-1] > 1
