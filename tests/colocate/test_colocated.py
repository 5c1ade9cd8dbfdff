"""What a colocation says of the rounds that ran: made up rounds, without Spark."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hearth.base.absent import Absent
from hearth.base.codec import to_json
from hearth.report.kinds import show_document
from hearth.report.terminal.screen import Screen
from hearth.studies.colocate.machine_counts import WORDS
from hearth.studies.colocate.result import Colocated, colocated, known_alone, predicted
from hearth.studies.colocate.study import (
    Colocation,
    ColocationHead,
    ColocationSettings,
    KnownCurve,
    Member,
    PriorCurves,
)
from hearth.studies.engine.trial import ConcurrentRun, Trial, Turn
from hearth.studies.models.colocation import Estimate, Shared
from support import validate

SETTINGS = ColocationSettings("throughput", ["split", "unbound", "serial"], 4, 0, 1, 3600.0, False)
HEAD = ColocationHead(
    "hearth/colocation-head/1", "20261123-120000-a-b-0000", "2026-11-23T12:00:00+00:00",
    [Member("a.py", ["a.py"]), Member("b.py", ["b.py", "--day", "1"])], "core", ["0", "1"],
    SETTINGS,
)  # fmt: skip


def ran(member: int, start: float, end: float, seconds: float | None, **more: Any) -> ConcurrentRun:
    trial = Trial(Turn("a", "b", 0), seconds, record=f"r{end}", **more)
    return ConcurrentRun(member, start, end, trial)


def a_round(
    subject: str, arm: str, repetition: int, split: str | None, runs: list[ConcurrentRun]
) -> Trial:
    seconds = max(run.end_s for run in runs)
    return Trial(Turn(subject, arm, repetition), seconds, runs=runs, split=split)


def line(arm: str, repetition: int, *seconds: float | None, serial: bool = False) -> Trial:
    """A round in which each took these seconds; None: it failed after two."""
    runs, start = [], 0.0
    for at, took in enumerate(seconds):
        end = start + (took or 2.0)
        failure = None if took else "ended with 1: boom"
        runs.append(ran(at, start, end, took, failure=failure, measures={"gc_share": 0.1}))
        start = end if serial else 0.0
    said = [f"{HEAD.members[at].name}: boom" for at, took in enumerate(seconds) if not took]
    whole = a_round(HEAD.title, arm, repetition, "1-1", runs)
    return replace(whole, seconds=None, failure="; ".join(said)) if said else whole


def said(*lines: Trial, head: ColocationHead = HEAD, known: PriorCurves | None = None) -> Colocated:
    place = Colocation(Path("/nowhere/x/y"), head)
    place.trials = list(lines)
    found = None if known is None else predicted(known, [(1, 1)], head.settings.objective)
    document = colocated(place, found, "1-1")
    validate("colocation", json.loads(json.dumps(to_json(document))))
    return document


def serial(repetition: int, *seconds: float | None) -> Trial:
    return line("serial", repetition, *seconds, serial=True)


def test_slowdown_and_throughput_are_against_the_same_repetition_alone() -> None:
    one = said(line("split", 0, 20, 30), serial(0, 10, 20), line("split", 1, 40, 45),
               serial(1, 20, 30))  # fmt: skip
    split, unbound, alone = one.arms
    a, b = split.members
    assert a.slowdown == Estimate(pytest.approx(2.0)) and b.slowdown == Estimate(pytest.approx(1.5))
    assert split.throughput and split.throughput.value == pytest.approx(1 / 2 + 1 / 1.5)
    assert split.worst and split.worst.value == pytest.approx(2)
    assert split.fairness and split.fairness.value == pytest.approx(0.75)
    assert (a.median_s, a.per_hour, a.runs) == (30, 120, 2)
    assert split.all_end_s == [30, 45] and alone.all_end_s == [30, 50]
    assert split.all_end and split.all_end.value == pytest.approx((30 / 30 * 45 / 50) ** 0.5)
    assert alone.throughput is None and unbound.members[0].slowdown is None
    assert "too few repetitions for an interval" in one.sentence


def test_the_last_repetition_of_each_way_is_shown_run_by_run() -> None:
    one = said(line("split", 0, 20, 30), line("split", 1, 40, None), line("unbound", -1, 9, 9),
               serial(0, 10, 20))  # fmt: skip
    shown = {found.arm: [(r.start_s, r.end_s, r.end) for r in found.runs] for found in one.rounds}
    assert shown == {
        "split": [(0, 40, "itself"), (0, 2, "failed")],
        "serial": [(0, 10, "itself"), (10, 30, "itself")],
    }


def test_where_a_way_failed_none_wins_by_walk_over() -> None:
    one = said(line("split", 0, None, 30), line("unbound", 0, 19, 38), serial(0, 10, 20))
    assert "Best by" not in one.sentence
    assert one.sentence.startswith("No best arm, because split failed; throughput of unbound 1.05")


def test_a_warm_up_and_a_round_in_which_one_failed_do_not_count() -> None:
    one = said(line("split", -1, 90, 90), line("split", 0, 20, 30), serial(0, 10, 20),
               line("split", 1, None, 25), serial(1, 10, 20))  # fmt: skip
    split = one.arms[0]
    assert [member.seconds for member in split.members] == [[20], [30]]
    assert split.members[0].failures == ["after 2.0 s: ended with 1: boom"]
    assert split.members[1].failures == [] and split.members[1].runs == 2, "it went on to its end"
    shown = "\n".join(show_document(one, Screen(200)))
    assert "a.py failed in split after 2.0 s: ended with 1: boom." in shown


def test_the_best_way_is_named_with_what_is_certain_of_it() -> None:
    rounds = [line("split", -1, 90, 90), line("unbound", -1, 10, 10), serial(-1, 10, 20)]
    for r, scatter in enumerate((1.0, 1.02, 0.98, 1.01)):
        rounds += [line("split", r, 12 * scatter, 24), line("unbound", r, 19, 38)]
        rounds.append(serial(r, 10, 20))
    gain = said(*rounds)
    split, unbound, _ = gain.arms
    assert split.throughput and split.throughput.ends and split.throughput.ends[0] > 1.6
    said_of_it = "Best by throughput: split 1-1 (1.66); all end in 0.80 of the time of running"
    assert gain.sentence.startswith(said_of_it), gain.sentence
    assert gain.sentence.endswith("so running them at the same time pays).")
    assert unbound.to_split and unbound.to_split.value == pytest.approx(0.63, abs=0.01)
    assert unbound.to_split.ends and unbound.to_split.ends[1] < 1
    loss = [line("split", r, 25 + r / 10, 50) for r in range(4)] + [
        serial(r, 10, 20) for r in range(4)
    ]
    assert said(*loss).sentence.endswith("so run them one after the other).")
    nothing = said(line("split", 0, 20, 30))
    assert nothing.sentence.startswith("No repetition ended both in an arm and alone")


def test_by_each_objective_another_way_may_be_best() -> None:
    rounds = [line("split", 0, 20, 40), line("unbound", 0, 11, 50), serial(0, 10, 20)]
    best = {}
    for objective in ("throughput", "slowdown", "fairness"):
        head = replace(HEAD, settings=replace(SETTINGS, objective=objective))
        best[objective] = said(*rounds, head=head).sentence.split(";")[0]
    assert best == {
        "throughput": "Best by throughput: unbound (1.31)",
        "slowdown": "Best by the worse slowdown: split 1-1 (2.00)",
        "fairness": "Best by fairness: split 1-1 (1.00)",
    }


def test_of_a_loop_the_runs_that_end_in_the_middle_count() -> None:
    head = replace(HEAD, settings=replace(SETTINGS, loop=[100.0, 20.0]))
    ends = [(10.0, 9.0), (30.0, 19.0), (52.0, 21.0), (90.0, 38.0)]
    runs = [ran(0, end - s, end, s) for end, s in ends]
    runs += [ran(1, 0, 50, 50.0), ran(1, 50, 100, None, stopped_s=100.0)]
    looped = a_round(HEAD.title, "split", 0, "1-1", runs)
    one = said(looped, serial(0, 10, 25), head=head)
    a, b = one.arms[0].members
    assert (a.seconds, a.per_hour, b.seconds) == ([20], 180, [50]), "19 and 21 of the middle"
    assert (a.completed, a.runs, b.completed) == (2, 4, 1)
    assert b.failures == [], "what was stopped at the end did not fail"
    assert one.arms[0].all_end_s == [] and one.arms[0].rounds == 1
    assert "; it does 1.00 times the work per hour of running one after the other" in one.sentence
    assert one.arms[0].throughput and one.arms[0].throughput.value == pytest.approx(1.0)
    shown = " ".join("\n".join(show_document(one, Screen())).split())
    assert "for 1.66667 minutes, of which the first and last 0.333333 are not measured" in shown


def test_each_way_tells_the_machines_context_switches_and_what_was_given_on_another_node() -> None:
    alone = Absent("one NUMA node: no memory is on another")
    split = replace(line("split", 0, 20, 30), machine={"switches_per_s": 1e4, "remote_per_s": 2.0})
    free = replace(
        line("unbound", 0, 20, 30), machine={"switches_per_s": 5e3, "remote_per_s": alone}
    )
    one = said(split, free, serial(0, 10, 20))
    assert one.arms[0].machine == {"switches_per_s": 1e4, "remote_per_s": 2.0}
    shown = [" ".join(text.split()) for text in show_document(one, Screen(200))]
    assert "split 10,000 2" in shown and "unbound 5,000 -" in shown
    assert any(alone.reason in text and WORDS["remote_per_s"] in text for text in shown)


def test_predicted_is_held_against_measured() -> None:
    curve = {"1": Estimate(1.8, 1.6, 2.0), "2": Estimate(1, 1, 1)}
    known = PriorCurves(
        "runs of each alone", [KnownCurve("a.py", curve, 10), KnownCurve("b.py", curve)]
    )
    one = said(line("split", 0, 20, 30), serial(0, 10, 20), known=known)
    assert [(c.name, round(c.error, 3)) for c in one.checks] == [("a.py", -0.1), ("b.py", 0.2)]
    shown = "\n".join(show_document(one, Screen(200)))
    assert "1-1 *  1.11 [1.00, 1.25]  1.80 [1.60, 2.00]" in shown, "and its interval"
    assert "a.py                   1.80 [1.60, 2.00]  2.00       -10%" in shown


def test_runs_of_each_alone_tell_what_a_share_costs_with_an_interval() -> None:
    def alone(name: str, units: int, repetition: int, seconds: float) -> Trial:
        return a_round(name, f"alone on {units}", repetition, None, [ran(0, 0, seconds, seconds)])

    lines = [alone("a.py", 2, -1, 99)]
    for r, base in enumerate((10.0, 11.0, 10.5)):
        lines += [alone("a.py", 1, r, 2 * base * (1 + r / 100)), alone("a.py", 2, r, base)]
        lines += [alone("b.py", 1, r, base), alone("b.py", 2, r, base)]
    found = known_alone(HEAD, lines, Shared(notes=("n",)))
    assert found is not None and found.notes == ["n"]
    a, b = (one.curve for one in found.curves)
    assert a.alone_s == 10.5 and a.slowdown[2] == Estimate(1, 1, 1)
    assert a.slowdown[1].value == pytest.approx(2.02, abs=0.01)
    low, high = a.slowdown[1].ends or (0, 0)
    assert 1.9 < low < 2.02 < high < 2.15
    assert b.slowdown[1].value == pytest.approx(1)
    assert known_alone(HEAD, lines[:3], Shared()) is None, "nothing is known of b.py yet"


def test_other_programs_are_warned_of_by_what_ran_alone() -> None:
    """While two run, each is among the other programs of the other's record."""

    def loaded(line: Trial, share: float) -> Trial:
        measures = {"other_load": share}
        runs = [replace(r, trial=replace(r.trial, measures=measures)) for r in line.runs or ()]
        return replace(line, runs=runs)

    quiet = said(loaded(line("split", 0, 20, 30), 0.5), loaded(serial(0, 10, 20), 0.05))
    assert quiet.warnings == []
    busy = said(loaded(line("split", 0, 20, 30), 0.5), loaded(serial(0, 10, 20), 0.4))
    assert "more than 10% of the machine's CPUs during 2 of 2 runs alone (40%" in busy.warnings[0]
    assert "warning: other programs" in "\n".join(show_document(busy, Screen(200)))
