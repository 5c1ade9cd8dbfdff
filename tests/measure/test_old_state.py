"""A state directory of the last release: its studies are listed, reported and gone on with."""

import json
from pathlib import Path

import pytest

from hearth.cli.main import main
from hearth.studies.compare.result import ComparisonSettings
from hearth.studies.compare.study import Comparison
from hearth.studies.engine.arms import Arm
from hearth.studies.engine.store import BENCH, KINDS, STUDY
from hearth.studies.engine.trial import TrialLine
from hearth.studies.listing import list_studies

_STARTED = "2026-11-01T00:00:00+00:00"
_WAY = {"master": "local[2]", "executors": 0, "cores": 2, "heap_mb": 1024, "binding": "none",
        "collector": "G1GC", "varied": {}, "java": ""}  # fmt: skip
_HEADS = {
    "comparisons": ("comparison.json", {
        "id": "c", "application": "a.py", "started": _STARTED, "baseline": "native",
        "arms": [{"name": "native"}, {"name": "bound"}],
        "settings": {"warmup": 0, "seed": 1, "cold": False, "command": ["a.py"], "repeat": 3}}),
    "characterisations": ("characterisation.json", {
        "id": "q", "started": _STARTED, "subjects": ["a.py"],
        "settings": {"repeat": 1, "warmup": 0, "seed": 1}}),
    "tunes": ("tune.json", {
        "schema": "hearth/tune-head/1", "id": "t", "application": "a.py", "timed": "all of it",
        "started": _STARTED, "command": ["a.py"], "machine": {"threads": 2, "cores": 2,
        "memory_gb": 8.0}, "machine_key": "k", "configurations": [_WAY], "proposal": 0,
        "current": 0, "refused": [], "fixed": [], "offered": [], "settings": {"objective": "time",
        "budget": 8, "limit_s": 60.0, "runs": 100}}),
    "colocations": ("colocation.json", {
        "schema": "hearth/colocation-head/1", "id": "l", "started": _STARTED, "kind": "core",
        "members": [{"name": "a.py", "command": ["a.py"]}, {"name": "b.py", "command": ["b.py"]}],
        "units": ["0", "1"], "known": None, "settings": {"objective": "throughput",
        "arms": ["split", "serial"], "repeat": 1, "warmup": 0, "seed": 1, "limit_s": 60.0,
        "profile_first": False, "split": "1-1", "loop": None}}),
}  # fmt: skip
_RUNS = [
    {"arm": arm, "repetition": n, "record": None, "seconds": seconds + n / 100, "measures": {}}
    for n in range(2) for arm, seconds in (("native", 10.0), ("bound", 8.0))
]  # fmt: skip


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state directory, as the last release left it."""
    for folder, (name, head) in _HEADS.items():
        place = tmp_path / folder / str(head["id"])
        place.mkdir(parents=True)
        (place / name).write_text(json.dumps(head))
    runs = "".join(json.dumps(run) + "\n" for run in _RUNS)
    (tmp_path / "comparisons" / "c" / "runs.jsonl").write_text(runs)
    monkeypatch.setenv("HEARTH_STATE", str(tmp_path))
    return tmp_path


def test_its_studies_are_listed(old: Path) -> None:
    studies, problems = list_studies(old)
    assert not problems
    kinds = [
        kind.name for kind in KINDS if kind not in (BENCH, STUDY)
    ]  # which that release had not
    assert sorted(one.kind for one in studies) == sorted(kinds)
    assert {one.runs for one in studies if one.kind == "comparison"} == {4}


@pytest.mark.parametrize(
    ("number", "kind"),
    [("q", "characterisation"), ("t", "tune"), ("l", "colocation")],
)
def test_its_studies_are_reported_by_their_ids(
    old: Path, number: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", number, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[kind]["id"] == number


def test_its_comparison_goes_on_beside_new_ones(old: Path) -> None:
    arms = [Arm("native"), Arm("bound")]
    settings = ComparisonSettings(0, 1, command=["a.py"], repeat=3)
    resumed = Comparison.resume(old, "c", "a.py", arms, settings)
    assert len(resumed.trials) == 4 and resumed.state_home == old
    resumed.keep(TrialLine("native", 2, seconds=10.0))
    assert len(Comparison.read(old / "comparisons" / "c").lines) == 5
    new = Comparison.begin(old, "a.py", arms, settings)
    assert new.directory.parent == old / "studies" / "compare" and new.state_home == old
    assert {one.id for one in list_studies(old)[0]} >= {"c", new.head.id}
