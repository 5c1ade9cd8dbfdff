"""The order and the count of a comparison's runs, on targets that end at once."""

import json
from pathlib import Path

import pytest

from hearth.base.absent import Absent
from hearth.base.codec import typed
from hearth.base.errors import UserError
from hearth.record.schema import Launched, RecordHead
from hearth.record.store import Record, RecordWriter
from hearth.report.kinds import show_document
from hearth.report.terminal.screen import Screen
from hearth.studies.compare import result as documents
from hearth.studies.compare.result import ComparisonSettings, ListedArm
from hearth.studies.compare.study import Comparison, compare, run
from hearth.studies.compare.verdict import compared
from hearth.studies.engine.arms import Arm
from hearth.studies.engine.store import Opening
from hearth.studies.engine.trial import Trial, Turn
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
    (directory,) = (state / "studies" / "compare").iterdir()
    return Comparison.read(directory)


class Quick:
    """A target whose runs are over at once, on record, each in a known time; `bound` may fail."""

    name, timed = "quick", "nothing"

    def __init__(self, failing: str | None = None) -> None:
        self.failing, self.count = failing, 0

    def run(self, turn: Turn, arm: Arm, record: Path, log: Path) -> Trial:
        self.count += 1
        RecordWriter.create(record, "quick", Launched(master="x")).finish("finished", 0, 1.0)
        failed = arm.name == self.failing and self.count > 4
        if failed:
            return Trial(turn, failure="ended with 1: out of memory", record=record.name)
        return Trial(turn, seconds=float(self.count), record=record.name)


def quick_comparison(
    state: Path, target: Quick, warmup: int, repeat: int, *, independent: bool = False
) -> Comparison:
    arms = [Arm("native"), Arm("bound")]
    settings = ComparisonSettings(warmup, seed=1, command=["quick"], repeat=repeat)
    comparison = Comparison.begin(state, "quick", arms, settings)
    compare(comparison, comparison.head, "quick", arms, target, independent=independent)
    return Comparison.read(comparison.directory)


@pytest.mark.parametrize(("independent", "later"), [(False, 0), (True, 2)])
def test_without_its_first_arm_a_verdict_ends_and_a_question_goes_on(
    tmp_path: Path, independent: bool, later: int
) -> None:
    quick = Quick(failing="native")
    done = quick_comparison(tmp_path, quick, 0, 5, independent=independent)
    (failed,) = [t.repetition for t in done.trials if t.failure]
    assert failed == 2
    assert sum(t.repetition > failed for t in done.trials) == later


@pytest.mark.spark
def test_a_failing_application_gives_no_verdict_and_an_exit_code_that_tells(
    hearth: Command, tmp_path: Path
) -> None:
    words = ("--arms", "native,bound", "--repeat", "2", "--warmup", "0", "--keep", "--json")
    done = hearth("compare", *words, *FORCED, application(tmp_path, "import sys; sys.exit(3)\n"))
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert document["verdict"]["choice"] is None
    assert document["verdict"]["sentence"].startswith("No verdict: native never finished")
    assert any("native failed and was not run again" in why for why in document["verdict"]["why"])
    trials = only_comparison(tmp_path / "state").trials
    assert [t.repetition for t in trials] == [0, 0]
    assert all(str(t.failure).startswith("ended with 3") for t in trials)
    assert "there is no winner to save" in done.stderr
    assert not (tmp_path / "state" / "saved").exists()


def record(name: str, balancing: str, huge_pages: str) -> Record:
    values = {"numa_balancing": balancing, "huge_pages": huge_pages}
    settings = {setting: {"value": value, "source": "/proc"} for setting, value in values.items()}
    example = json.loads((ROOT / "fixtures" / "documents" / "record.json").read_text())
    head = typed({**example, "machine_settings": settings}, RecordHead)
    return Record(Path("/records") / name, head, Absent("not read"), None)


def test_a_run_under_other_settings_ends_the_comparison_by_name(tmp_path: Path) -> None:
    head = documents.ComparisonHead(
        "c", "a", "2026-01-01", "native", [ListedArm("native")], ComparisonSettings(0, 1)
    )
    comparison = Comparison(tmp_path, head)
    comparison.check_alike(record("first", "0", "never"))
    comparison.check_alike(record("balanced", "1", "never"))
    with pytest.raises(UserError, match="huge_pages: never in first but always in third"):
        comparison.check_alike(record("third", "0", "always"))


class Interrupted(Quick):
    """As Quick, but for Ctrl-C in the fourth run."""

    def run(self, turn: Turn, arm: Arm, record: Path, log: Path) -> Trial:
        if self.count == 3:
            raise KeyboardInterrupt
        return super().run(turn, arm, record, log)


ARMS = [Arm("native"), Arm("bound")]
TWICE = ComparisonSettings(warmup=1, seed=1, command=["quick"], repeat=2)


@pytest.fixture
def cut_short(tmp_path: Path) -> Comparison:
    comparison = Comparison.begin(tmp_path, "quick", ARMS, TWICE)
    with pytest.raises(KeyboardInterrupt):
        run(comparison, ARMS, Interrupted())
    with comparison.journal.file.open("a") as journal:
        journal.write('{"turn": {"arm": "nat')
    return comparison


def test_an_interrupted_comparison_is_resumed_by_its_id(
    tmp_path: Path, cut_short: Comparison
) -> None:
    resumed = Comparison.begin(tmp_path, "quick", ARMS, TWICE, Opening(resume=cut_short.head.id))
    later = Quick()
    run(resumed, ARMS, later)
    assert later.count == 3
    kept = Comparison.read(cut_short.directory)
    assert sorted((t.repetition, t.arm) for t in kept.trials) == [
        (repetition, arm) for repetition in (-1, 0, 1) for arm in ("bound", "native")
    ]


def test_one_that_was_killed_in_its_first_run_says_so_and_is_resumed(tmp_path: Path) -> None:
    begun = Comparison.begin(tmp_path, "quick", ARMS, TWICE)
    said = compared(begun.head, Comparison.read(begun.directory).trials)
    shown = "\n".join(show_document(said, Screen(200)))
    assert "no run has ended" in shown and "see the verdict" not in shown
    goes_on = f"'hearth compare --resume {begun.head.id}' goes on with it"
    assert f"no run of native has ended; {goes_on}" in " ".join(shown.split())
    resumed = Comparison.begin(tmp_path, "quick", ARMS, TWICE, Opening(resume=begun.head.id))
    run(resumed, ARMS, Quick())
    assert len(Comparison.read(begun.directory).trials) == 6


def test_it_goes_on_only_as_it_was_and_on_the_machine_as_it_was(
    tmp_path: Path, cut_short: Comparison
) -> None:
    number = cut_short.head.id
    more = ComparisonSettings(warmup=1, seed=1, command=["quick"], repeat=9)
    with pytest.raises(UserError, match=f"--resume: {number} has repeat 2, not 9: repeat its"):
        Comparison.begin(tmp_path, "quick", ARMS, more, Opening(resume=number))
    with pytest.raises(UserError, match="has arms 'native bound', not 'bound native'"):
        Comparison.begin(tmp_path, "quick", ARMS[::-1], TWICE, Opening(resume=number))
    with pytest.raises(UserError, match=r"no comparison has the id '\.\./x'"):
        Comparison.begin(tmp_path, "quick", ARMS, TWICE, Opening(resume="../x"))
    resumed = Comparison.begin(tmp_path, "quick", ARMS, TWICE, Opening(resume=number))
    with pytest.raises(UserError, match=r"huge_pages: None in .* but always in third"):
        resumed.check_alike(record("third", "0", "always"))
