"""CPUs of idle executors that were lent to others, from the run's record to the report."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from made_record import make_record, process, write

from hearth.analysis.analysis import analyse
from hearth.analysis.document import HandOver, HandOvers
from hearth.base.absent import Absent
from hearth.report.html.run import run_view
from hearth.report.terminal.profile import show_profile
from hearth.report.terminal.screen import Screen
from support import ROOT


def record(directory: Path, loans: Any) -> Path:
    make_record(directory)
    document = {"schema": "hearth/hand-over/1", "app_id": "a", "number": 7, "cpu_seconds": 30.5}
    (directory / "hand-over.json").write_text(json.dumps({**document, "loans": loans}))
    return directory


SHORT = {"executor_id": "1", "place": 1, "cpus": "0-1", "from_places": [0],
         "since": "2026-11-21T09:22:28.250Z", "until": "2026-11-21T09:22:29Z"}  # fmt: skip
LONG = {"executor_id": "0", "place": 0, "cpus": "2-5", "from_places": [1, 2],
        "since": "2026-11-21T09:22:29.5Z", "until": "2026-11-21T09:22:34Z"}  # fmt: skip
OPEN = {"executor_id": "0", "place": 0, "cpus": "2-3", "from_places": [1],
        "since": "2026-11-21T09:22:35Z"}  # fmt: skip


def test_a_report_says_which_idle_cpus_worked_for_whom_from_when_to_when(tmp_path: Path) -> None:
    analysis = analyse(record(tmp_path / "r", [SHORT, LONG, OPEN]))
    assert analysis.hand_overs == HandOvers(
        number=7,
        cpu_s=30.5,
        listed=[
            HandOver("1", "0-1", [0], 1.25, 2.0),
            HandOver("0", "2-5", [1, 2], 2.5, 7.0),
            HandOver("0", "2-3", [1], 8.0, None),
        ],
        gained_cpu_s=Absent("the record holds no plan, which says how many CPUs an executor has"),
    )
    text = " ".join(" ".join(show_profile(analysis, Screen(200))).split())
    assert (
        "idle CPUs were open to executors 7 times, 30.5 CPU s in all; the gain is not "
        "known: the record holds no plan, which says how many CPUs an executor has; the longest "
        "was CPUs 2-5 of places 1, 2 for executor 0 from 2.5 s to 7.0 s" in text
    )
    lent = run_view(analysis, 0, ["0", "1"])["hand_overs"]
    assert lent["words"].startswith("Idle CPUs were open to executors 7 times, 30.5 CPU s in all; ")
    assert lent["rows"][1] == ["0", "2-5", "1, 2", "2.50 s", "7.00 s"]
    assert lent["rows"][2][-1] == "-"


def record_with_use(directory: Path, loans: Any, cpus: str, use: list[int]) -> Path:
    """CPU seconds of executor 0, which has one place with these CPUs, second by second."""
    plan = json.loads((ROOT / "contract" / "examples" / "plan.json").read_text())
    make_record(directory, plan={**plan, "executors": [{**plan["executors"][0], "cpus": cpus}]})
    document = {"schema": "hearth/hand-over/1", "app_id": "a", "number": 1, "cpu_seconds": 3.0}
    (directory / "hand-over.json").write_text(json.dumps({**document, "loans": loans}))
    sums = [0, *itertools.accumulate(use)]
    rows = [process(t, 100 * done) for t, done in enumerate(sums)]
    write(directory / "samples" / "process.jsonl", rows)
    return directory


def test_a_report_says_how_much_cpu_time_a_loan_gave(tmp_path: Path) -> None:
    # From 2 to 5 s; three CPUs are busy in that time, where two are its own.
    loan = {**LONG, "since": "2026-11-21T09:22:29Z", "until": "2026-11-21T09:22:32Z"}
    use = [2, 2, 3, 3, 3, 2, 2, 2, 2]
    analysis = analyse(record_with_use(tmp_path / "r", [loan], "2-3", use))
    assert isinstance(analysis.hand_overs, HandOvers)
    assert analysis.hand_overs.gained_cpu_s == pytest.approx(3.0, abs=0.15)
    text = " ".join(" ".join(show_profile(analysis, Screen(200))).split())
    assert "used at least" in text
    assert "CPU s more than their own CPUs give" in text


def test_a_loan_whose_cpus_were_not_needed_gained_nothing(tmp_path: Path) -> None:
    loan = {**LONG, "since": "2026-11-21T09:22:29Z", "until": "2026-11-21T09:22:32Z"}
    use = [2, 2, 1, 2, 1, 3, 3, 2, 2]  # what is beyond its own is not in the loan's time
    analysis = analyse(record_with_use(tmp_path / "r", [loan], "2-3", use))
    assert isinstance(analysis.hand_overs, HandOvers)
    assert analysis.hand_overs.gained_cpu_s == 0.0


def test_two_loans_in_one_moment_are_not_counted_twice(tmp_path: Path) -> None:
    times = {"since": "2026-11-21T09:22:29Z", "until": "2026-11-21T09:22:32Z"}
    use = [2, 2, 3, 3, 3, 2, 2, 2, 2]
    loans = [{**LONG, **times}, {**LONG, **times, "cpus": "0", "from_places": [3]}]
    analysis = analyse(record_with_use(tmp_path / "r", loans, "2-3", use))
    assert isinstance(analysis.hand_overs, HandOvers)
    assert analysis.hand_overs.gained_cpu_s == pytest.approx(3.0, abs=0.15)


def test_without_a_hand_over_a_report_says_nothing_of_it(tmp_path: Path) -> None:
    make_record(tmp_path / "r")
    analysis = analyse(tmp_path / "r")
    assert analysis.hand_overs == Absent("the record holds no hand-over of idle CPUs")
    assert not any("idle CPUs" in line for line in show_profile(analysis, Screen(200)))


def test_a_damaged_record_of_hand_overs_is_named_and_the_rest_is_shown(tmp_path: Path) -> None:
    analysis = analyse(record(tmp_path / "r", [{**SHORT, "since": "yesterday"}]))
    assert analysis.hand_overs == Absent("hand-over.json cannot be read")
    assert any("hand-over.json cannot be read: " in w.what for w in analysis.warnings)
    assert analysis.executors
