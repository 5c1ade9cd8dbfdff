"""The engine of all studies and its journal, with runs that are over at once."""

import json
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from hearth.base.codec import to_json
from hearth.base.errors import UserError
from hearth.base.redaction import Redaction
from hearth.record.store import new_directory
from hearth.studies.compare.study import Comparison
from hearth.studies.compare.verdict import compared
from hearth.studies.engine.schedule import Repetitions, StopRule, StudyDesign, conduct
from hearth.studies.engine.store import Journal
from hearth.studies.engine.trial import Trial, Turn

THREE = StudyDesign({"job": ["a", "b", "c"]}, repeat=4, warmup=1)


def made(
    design: StudyDesign,
    failing: Callable[[Turn], bool] = lambda _: False,
    earlier: Sequence[Trial] = (),
    enough: StopRule | None = None,
) -> list[Trial]:
    """What a study runs, in its order."""
    trials: list[Trial] = []

    def run(turn: Turn) -> Trial:
        return Trial(turn, failure="broken") if failing(turn) else Trial(turn, seconds=1.0)

    schedule = Repetitions(design, **({"enough": enough} if enough else {}))
    conduct(schedule, run, trials.append, earlier=earlier)
    return trials


def turns(trials: Sequence[Trial]) -> list[Turn]:
    return [trial.turn for trial in trials]


def test_each_repetition_runs_each_arm_once_after_the_warm_ups_in_an_order_of_the_seed() -> None:
    order = turns(made(THREE))
    assert [turn.repetition for turn in order] == [r for r in range(-1, 4) for _ in "abc"]
    each = [tuple(turn.arm for turn in order[at : at + 3]) for at in range(0, 15, 3)]
    assert all(sorted(arms) == ["a", "b", "c"] for arms in each)
    assert each[2] == each[1][::-1], "the second mirrors the first"
    assert len(set(each)) > 2, "the others are drawn anew"
    assert order == turns(made(THREE))
    other = StudyDesign({"job": ["a", "b", "c"]}, repeat=4, warmup=1, seed=2)
    assert order != turns(made(other))


@pytest.mark.parametrize("cut", range(len(THREE.turns()) + 1))
def test_a_study_cut_short_anywhere_goes_on_where_it_was_and_runs_nothing_twice(
    tmp_path: Path, cut: int
) -> None:
    journal = Journal(tmp_path / "trials.jsonl")
    for trial in made(THREE)[:cut]:
        journal.keep(trial)
    with journal.file.open("a") as file:
        file.write('{"arm": "a", "repet')
    journal.cut_torn_line()
    earlier = journal.read(Trial)
    for trial in made(THREE, earlier=earlier):
        journal.keep(trial)
    kept = journal.read(Trial)
    assert turns(kept) == THREE.turns()


def test_an_arm_that_failed_is_run_no_more_and_the_others_go_on() -> None:
    trials = made(THREE, lambda turn: turn.arm == "b" and turn.repetition == 1)
    assert sorted(turn.repetition for turn in turns(trials) if turn.arm == "b") == [-1, 0, 1]
    assert sum(turn.arm == "a" for turn in turns(trials)) == 5
    assert made(THREE, earlier=trials) == []


def test_where_failures_are_tried_again_an_arm_goes_on_and_a_resumed_one_runs_what_failed() -> None:
    again = StudyDesign({"job": ["a", "b"]}, repeat=3, failed_again=True)
    trials = made(again, lambda turn: turn.arm == "b")
    assert turns(trials) == again.turns()
    missing = made(again, earlier=trials)
    assert {turn.arm for turn in turns(missing)} == {"b"} and len(missing) == 3


@pytest.mark.parametrize("failing", ["a", "b"])
def test_without_the_baseline_or_with_it_alone_nothing_more_is_run(failing: str) -> None:
    pair = StudyDesign({"job": ["a", "b"]}, repeat=5, baseline="a")
    trials = made(pair, lambda turn: turn.arm == failing and turn.repetition == 1)
    assert [turn.repetition for turn in turns(trials)] == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("budget_s", "repetitions"), [(1.0, 1), (19.0, 1), (20.0, 2), (49.0, 4), (999.0, 9)]
)
def test_a_repetition_that_does_not_fit_into_the_budget_is_not_begun_but_one_always_runs(
    budget_s: float, repetitions: int
) -> None:
    trials: list[Trial] = []

    def run(turn: Turn) -> Trial:
        return Trial(turn, seconds=10.0)

    design = StudyDesign({"job": ["a"]}, repeat=9, budget_s=budget_s)
    schedule = Repetitions(design, clock=lambda: 10.0 * len(trials))
    conduct(schedule, run, trials.append)
    assert len(trials) == repetitions


def test_the_stop_rule_is_asked_before_each_repetition_that_counts_but_the_first() -> None:
    asked: list[tuple[int, int]] = []

    def enough(done: int, trials: Sequence[Trial]) -> bool:
        asked.append((done, len(trials)))
        return done == 2

    trials = made(THREE, enough=enough)
    assert asked == [(1, 6), (2, 9)]
    assert max(turn.repetition for turn in turns(trials)) == 1


def test_jobs_are_drawn_and_the_arms_of_a_job_stay_together() -> None:
    two = StudyDesign({"j": ["a", "b"], "k": ["a", "b"]}, repeat=12)
    order = turns(made(two))
    assert all(
        one.subject == other.subject for one, other in zip(order[::2], order[1::2], strict=True)
    )
    assert {turn.subject for turn in order[::4]} == {"j", "k"}


def test_a_journal_is_its_owners_alone_and_holds_no_secret(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "trials.jsonl", Redaction.of({}))
    why = "ended with 1: no login with spark.my.password=hush42"
    journal.keep(Trial(Turn("job", "a", 0), failure=why))
    assert stat.S_IMODE(journal.file.stat().st_mode) == 0o600
    assert "hush42" not in journal.file.read_text()
    assert "no login with" in journal.file.read_text()


def test_damaged_lines_of_a_journal_are_named_by_number_and_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = [json.dumps(to_json(trial)) for trial in made(THREE)[:3]]
    file = tmp_path / "trials.jsonl"
    file.write_text("\n".join([whole[0], whole[1][:9], '{"arm": 7}', whole[2], whole[0][:5]]))
    lines = Journal(file).read(Trial)
    assert [line.arm for line in lines] == [json.loads(whole[n])["turn"]["arm"] for n in (0, 2)]
    said = capsys.readouterr().err.splitlines()
    assert [line.partition(": line ")[2][:16] for line in said] == [
        "2 is left out: i",
        "3 is left out: '",
    ]
    file.unlink()
    file.mkdir()
    with pytest.raises(UserError, match="cannot be read: it is not a file"):
        Journal(file).read(Trial)


def test_executors_that_change_between_the_runs_of_an_arm_are_a_reason_to_doubt(
    tmp_path: Path,
) -> None:
    head = {"id": "c", "application": "a.py", "started": "2026-11-01T00:00:00+00:00",
            "baseline": "native", "arms": [{"name": "native"}, {"name": "bound"}],
            "settings": {"warmup": 0, "seed": 1, "cold": False, "repeat": 3}}  # fmt: skip
    (tmp_path / "comparison.json").write_text(json.dumps(head))
    comparison = Comparison.read(tmp_path)
    for n in range(3):
        plan = f"partitioned; 2 on CPUs {'0-1' if n < 2 else '2-3'}, 512 MiB"
        comparison.keep(Trial(Turn("a.py", "native", n), 1.0, plan="native"))
        comparison.keep(Trial(Turn("a.py", "bound", n), 1.0, plan=plan))
    found = Comparison.read(tmp_path)
    (warning,) = to_json(compared(found.head, found.trials))["warnings"]
    assert warning["kind"] == "other-plan"
    assert "bound did not run with the same executors each time" in warning["sentence"]
    assert "CPUs 0-1" in warning["sentence"] and "CPUs 2-3" in warning["sentence"]


@pytest.mark.parametrize("name", ["../r", "a/b", ".hidden", "Upper", "", "x" * 99])
def test_the_id_of_a_record_that_is_passed_in_is_a_plain_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match=r"--record: .* is not an id: use small letters"):
        new_directory(tmp_path, "job", name)


def test_the_id_of_a_record_that_is_passed_in_is_the_records_and_must_be_new(
    tmp_path: Path,
) -> None:
    directory = new_directory(tmp_path, "job", "20261122-job-1a2b")
    assert directory == tmp_path / "records" / "20261122-job-1a2b"
    (directory / "eventlog").mkdir()
    with pytest.raises(UserError, match="--record: '20261122-job-1a2b' is there already"):
        new_directory(tmp_path, "job", directory.name)
