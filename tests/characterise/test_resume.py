"""A characterisation that was interrupted goes on where it was, on targets that end at once."""

from pathlib import Path

import pytest

from hearth.base.codec import to_json
from hearth.record.schema import Launched
from hearth.record.store import RecordWriter
from hearth.studies.characterise.questions import Question
from hearth.studies.characterise.result import CharacterisationSettings
from hearth.studies.characterise.study import Characterisation, TargetQuestion
from hearth.studies.engine.arms import Arm
from hearth.studies.engine.store import Opening
from hearth.studies.engine.trial import Trial, Turn


class Quick:
    """A target whose runs are over at once; Ctrl-C comes instead of the run of this number."""

    name, timed = "quick", "nothing"

    def __init__(self, interrupted: int | None = None) -> None:
        self.interrupted = interrupted
        self.runs: list[Turn] = []

    def run(self, turn: Turn, arm: Arm, record: Path, log: Path) -> Trial:
        if len(self.runs) == self.interrupted:
            raise KeyboardInterrupt
        self.runs.append(turn)
        RecordWriter.create(record, "quick", Launched(master="x")).finish("finished", 0, 1.0)
        return Trial(turn, seconds=1.0, record=record.name)


def asked(target: Quick) -> list[TargetQuestion]:
    arms = (Arm("1x2"), Arm("2x1"))
    return [TargetQuestion(target, Question(key, key, "a paper", arms)) for key in ("cores", "smt")]


ONCE = CharacterisationSettings(repeat=2, warmup=0, seed=1)


def test_it_runs_what_is_missing_and_nothing_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = Quick(interrupted=6)
    begun = Characterisation.begin(tmp_path, "quick", asked(first), ONCE)
    with pytest.raises(KeyboardInterrupt):
        begun.run(asked(first))
    then = Quick()
    opening = Opening(resume=begun.head.id)
    resumed = Characterisation.begin(tmp_path, "quick", asked(then), ONCE, opening)
    assert not resumed.run(asked(then))
    assert len(first.runs) == 6 and len(then.runs) == 2
    assert "hearth: 8/8  quick, smt: " in capsys.readouterr().err
    questions = to_json(resumed.characterised())["questions"]
    seconds = [[arm["seconds"] for arm in q["comparison"]["arms"]] for q in questions]
    assert seconds == [[[1.0, 1.0], [1.0, 1.0]]] * 2
    assert len(Characterisation.read(begun.directory).trials) == 8
