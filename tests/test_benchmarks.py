"""The benchmarks: their harness, how they count, and that each can be started; nothing is timed."""

import math
import runpy
import sys
from pathlib import Path
from typing import Any

import harness
import plans
import pytest
import results
from harness import Benchmark, Turn

from hearth.studies.engine.statistics import Ratio
from planned_machines import a_machine
from support import ROOT

PROGRAMS = sorted(
    file.name
    for file in (ROOT / "benchmarks").glob("*.py")
    if "def main(" in file.read_text(encoding="utf-8")
)
NODE = {"memory_bytes": 16 << 30, "cpus": "0-3"}
_DOCUMENT: dict[str, Any] = {"allowed": {"cpus": "0-3"}, "nodes": [NODE], "cores": []}
MACHINE = a_machine(_DOCUMENT)


@pytest.mark.parametrize("program", PROGRAMS)
def test_each_program_says_what_it_asks_and_how_it_is_run(
    program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [f"benchmarks/{program}", "--help"])
    with pytest.raises(SystemExit, match="0"):
        runpy.run_path(str(ROOT / "benchmarks" / program), run_name="__main__")
    shown = capsys.readouterr().out
    assert f"usage: {program}" in shown
    assert f".venv/bin/python benchmarks/{program}" in shown


def a_benchmark(monkeypatch: pytest.MonkeyPatch, *words: str, **more: Any) -> Benchmark:
    monkeypatch.setattr(sys, "argv", ["benchmarks/made_up.py", *words])
    bench = Benchmark("Is it?", lambda rows: [f"{len(rows)} rows"], arms=("a", "b"), **more)
    bench.parse()
    return bench


def seconds(turn: Turn) -> dict[str, Any]:
    return {"seconds": {"a": 1.0, "b": 2.0}[turn.arm]}


def test_every_repetition_runs_each_arm_of_each_case_once_in_an_order_that_the_seed_gives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def turns(*words: str) -> list[Turn]:
        of = ("--repeat", "20", *words)
        return list(a_benchmark(monkeypatch, *of, cases=("x", "y"), warm_ups=1).turns())

    made = turns()
    assert len(made) == len(set(made)) == 21 * 4
    assert [turn.repetition for turn in made] == [at for at in range(-1, 20) for _ in range(4)]
    assert all(one.case == other.case for one, other in zip(made[::2], made[1::2], strict=True))
    assert {made[at].arm for at in range(0, len(made), 2)} == {"a", "b"}
    assert made == turns() != turns("--seed", "2")
    assert {turn.arm for turn in turns("--arms", "b")} == {"b"}
    cluster = a_benchmark(monkeypatch, "--cases", "x[2,1],y", any_case=True, cases=("x", "y"))
    assert cluster.cases == ["x[2,1]", "y"]


def test_after_a_kill_a_series_goes_on_in_its_file_without_the_torn_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "raw.jsonl"
    first = a_benchmark(monkeypatch, "--output", str(file), "--repeat", "1")
    first.begin()
    first.measure(seconds)
    whole = file.read_text()
    file.write_text(whole + '{"repetition": 1, "ar')
    again = a_benchmark(monkeypatch, "--resume", str(file), "--pairs", "2")
    again.begin()
    again.measure(seconds)
    again.report()
    assert file.read_text().startswith(whole)
    head, *rows = results.read(file)
    assert head["benchmark"] == "made-up" and set(head["machine"]) >= {"cpus", "kernel"}
    assert [row["repetition"] for row in rows] == [0, 0, 1, 1]
    assert all(isinstance(row["load"], float) for row in rows)
    shown = capsys.readouterr()
    assert shown.out == f"4 rows\n\nRaw results: {file}\n"
    assert shown.err.count("made-up: ") == 4


@pytest.mark.parametrize("what", ["machine", "options"])
def test_results_of_another_machine_or_of_other_options_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, what: str
) -> None:
    file = tmp_path / "raw.jsonl"
    a_benchmark(monkeypatch, "--output", str(file)).begin()
    if what == "machine":
        monkeypatch.setattr(harness, "machine", lambda: {"cpus": 99})
    other = ("--seed", "2") if what == "options" else ()
    with pytest.raises(SystemExit, match="is there: go on with --resume"):
        a_benchmark(monkeypatch, "--output", str(file), *other).begin()
    again = a_benchmark(monkeypatch, "--resume", str(file), *other)
    with pytest.raises(SystemExit, match=f"has another {what}: begin another file"):
        again.begin()


def test_what_has_failed_is_kept_and_not_run_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = a_benchmark(monkeypatch, "--output", str(tmp_path / "raw.jsonl"), "--repeat", "3")
    bench.begin()
    bench.measure(lambda turn: {"failure": "lost"} if turn.arm == "a" else seconds(turn))
    assert [row["arm"] for row in bench.rows].count("a") == 1
    assert len(results.runs(bench.rows)) == 3
    bench.report()
    assert "a failed: lost" in capsys.readouterr().out


def test_starts_are_told_apart_and_those_that_are_whole_are_not_made_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    words = ("--starts", "2", "--repeat", "2")
    bench = a_benchmark(monkeypatch, *words, "--output", str(tmp_path / "raw"), starts=6)
    bench.begin()
    assert list(bench.starts()) == [0, 1]
    bench.measure(seconds, 0)
    assert list(bench.starts()) == [1]
    bench.measure(seconds, 1)
    assert results.ratio(bench.rows, "b", "a", "seconds", "start") == Ratio(2.0, None)


def run(arm: str, repetition: int, wall_s: float, case: str = "sort 1g") -> Any:
    row = {"case": case, "arm": arm, "repetition": repetition, "load": 0.1}
    return {**row, "wall_s": wall_s, "seconds": wall_s / 2, "answer": "checked"}


def test_two_executors_have_together_the_heap_of_the_tuned_arm() -> None:
    arms = plans.ways(MACHINE, "spark://x")
    assert arms["tuned"].conf["spark.driver.memory"] == "12288m"
    for name in ("standalone", "local-cluster", "unbound", "bound"):
        assert arms[name].conf["spark.executor.memory"] == "6144m"
    assert arms["bound"].master == "local-numa[2x2]" and not arms["submit"].hinted


def test_each_job_counts_once_and_first_runs_are_apart() -> None:
    rows = [run("submit", -1, 9.0), run("defaults", -1, 3.0)]
    rows += [run(arm, n, s) for n in range(3) for arm, s in (("submit", 1.0), ("defaults", 2.0))]
    rows += [run("submit", 0, 2.0, "tpch 1g"), run("defaults", 0, 1.0, "tpch 1g")]
    warm = plans.over_jobs(results.runs(rows), "submit", "defaults", "wall_s")
    assert warm is not None and warm.value == pytest.approx(1.0)
    shown = "\n".join(plans.page(rows))
    assert "| `submit` | `defaults` | 2 (5) | 1.00 | 3.00 | 1.00 | 3.00 |" in shown
    assert "| sort 1g | 0.50 (0.50) |" in shown


def test_the_interval_is_over_jobs() -> None:
    alike = results.overall([0.5] * 5)
    assert alike.interval == pytest.approx((0.5, 0.5))
    low, high = results.overall(math.exp(n) for n in (-1, 0, 1)).interval or (1.0, 1.0)
    assert low < 0.5 and high > 2 and results.overall([0.5, 0.6]).interval is None
