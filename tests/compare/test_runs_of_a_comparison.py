"""The order and the count of a comparison's runs, on subjects that end at once."""

import json
from pathlib import Path

import pytest

from hearth.experiments.arms import Arm
from hearth.experiments.comparison import Comparison, read_comparison, run
from hearth.experiments.subjects import Ended
from hearth.experiments.verdict import compared
from hearth.measure.record import Record, RecordWriter
from hearth.measure.shapes import Head
from hearth.model.documents import typed
from hearth.model.errors import UserError
from hearth.model.measured import Absent
from support import ROOT, Command

#: A class-data archive would be made first, which takes longer than all the rest.
FORCED = ("--executors", "2", "--cores", "1", "--memory", "512m",
          "--conf", "spark.hearth.classDataArchive=false")  # fmt: skip


def application(folder: Path, text: str) -> str:
    """A Python application that needs no Spark; it is run through spark-submit all the same."""
    file = folder / "quick.py"
    file.write_text(text)
    return str(file)


def only_comparison(state: Path) -> Comparison:
    (directory,) = (state / "comparisons").iterdir()
    return read_comparison(directory)


class Quick:
    """A subject whose runs are over at once, on record, each in a known time; `bound` may fail."""

    name, timed = "quick", "nothing"

    def __init__(self, state: Path, failing: str | None = None) -> None:
        self.state, self.failing, self.count = state, failing, 0

    def run(self, arm: Arm, log: Path) -> Ended:
        self.count += 1
        directory = self.state / "records" / f"r-{self.count}"
        head = {"probes": [], "master": "x", "machine_settings": {}, "versions": {},
                "cpus_of_node": {}, "machine": {"allowed": {"cpus": "0-1"}}}  # fmt: skip
        RecordWriter.create(directory, "quick", head).finish("finished", 0, 1.0)
        failed = arm.name == self.failing and self.count > 4
        failure = "ended with 1: out of memory" if failed else None
        return Ended(directory.name, failure=failure, seconds=float(self.count))


def quick_comparison(
    state: Path, subject: Quick, warmup: int, repeat: int, *, against_baseline: bool = True
) -> Comparison:
    arms = [Arm("native"), Arm("bound")]
    settings = {"warmup": warmup, "seed": 1, "cold": False, "command": ["quick"]}
    comparison = Comparison.begin(state, "quick", arms, settings)
    run(
        comparison,
        arms,
        subject,
        lambda _: None,
        lambda done: done >= repeat,
        against_baseline=against_baseline,
    )
    return read_comparison(comparison.directory)


def test_arms_run_in_turn_in_random_order_and_warm_ups_do_not_count(tmp_path: Path) -> None:
    kept = quick_comparison(tmp_path, Quick(tmp_path), warmup=2, repeat=6)
    order = [(run["repetition"], run["arm"]) for run in kept.runs]
    assert [repetition for repetition, _ in order] == [r for r in range(-2, 6) for _ in range(2)]
    turns = [tuple(arm for _, arm in order[at : at + 2]) for at in range(0, 16, 2)]
    assert set(turns) == {("native", "bound"), ("bound", "native")}, "drawn anew each time"
    arms = compared(kept.head, kept.runs)["arms"]
    assert {arm["name"]: arm["seconds"] for arm in arms} == {
        name: [r["seconds"] for r in kept.runs if r["arm"] == name and r["repetition"] >= 0]
        for name in ("native", "bound")
    }
    assert {len(arm["seconds"]) for arm in arms} == {6}


def test_an_arm_that_fails_is_run_no_more_and_its_failed_run_has_no_time(tmp_path: Path) -> None:
    kept = quick_comparison(tmp_path, Quick(tmp_path, failing="bound"), warmup=0, repeat=6)
    bound = [run for run in kept.runs if run["arm"] == "bound"]
    assert [("failure" in run, "seconds" in run) for run in bound] == [
        (False, True), (False, True), (True, False),
    ]  # fmt: skip
    assert len(kept.runs) == 6
    verdict = compared(kept.head, kept.runs)["verdict"]
    assert "bound failed, and was run no more: ended with 1: out of memory" in verdict["why"]


@pytest.mark.parametrize(("against_baseline", "later"), [(True, 0), (False, 2)])
def test_without_its_first_arm_a_verdict_ends_and_a_question_goes_on(
    tmp_path: Path, against_baseline: bool, later: int
) -> None:
    quick = Quick(tmp_path, failing="native")
    done = quick_comparison(tmp_path, quick, 0, 5, against_baseline=against_baseline)
    (failed,) = [r["repetition"] for r in done.runs if "failure" in r]
    assert failed == 2
    assert sum(r["repetition"] > failed for r in done.runs) == later


@pytest.mark.spark
def test_a_failing_application_gives_no_verdict_and_an_exit_code_that_tells(
    hearth: Command, tmp_path: Path
) -> None:
    words = ("--arms", "native,bound", "--repeat", "2", "--warmup", "0", "--keep", "--json")
    done = hearth("compare", *words, *FORCED, application(tmp_path, "import sys; sys.exit(3)\n"))
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert told["verdict"]["choice"] is None
    assert told["verdict"]["sentence"].startswith("No verdict: native never finished")
    assert any("native failed, and was run no more" in why for why in told["verdict"]["why"])
    runs = only_comparison(tmp_path / "state").runs
    assert [run["repetition"] for run in runs] == [0, 0]
    assert all(run["failure"].startswith("ended with 3") for run in runs)
    assert "there is no winner to keep" in done.stderr
    assert not (tmp_path / "state" / "choices").exists()


def record(name: str, balancing: str, huge_pages: str) -> Record:
    settings = {"numa_balancing": {"value": balancing}, "huge_pages": {"value": huge_pages}}
    example = json.loads((ROOT / "contract" / "examples" / "record.json").read_text())
    head = typed({**example, "machine_settings": settings}, Head)
    return Record(Path("/records") / name, head, Absent("not read"), None)


def test_a_run_under_other_settings_ends_the_comparison_by_name(tmp_path: Path) -> None:
    comparison = Comparison(tmp_path, {})
    comparison.check_alike(record("first", "0", "never"))
    comparison.check_alike(record("balanced", "1", "never"))
    with pytest.raises(UserError, match="huge_pages: never in first but always in third"):
        comparison.check_alike(record("third", "0", "always"))
