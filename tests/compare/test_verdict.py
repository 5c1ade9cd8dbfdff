"""What a comparison says, on runs whose answer is known by arithmetic."""

from typing import Any

import pytest

from hearth.base.codec import to_json, typed
from hearth.report.kinds import show_document
from hearth.report.terminal.screen import Screen
from hearth.studies.compare import verdict
from hearth.studies.compare.result import Compared, ComparisonHead
from hearth.studies.engine.statistics import LOOKS
from support import a_trial, check_golden, validate

_MEASURES = {"gc_share": 0.2, "remote_share": 0.5, "involuntary": 1000.0, "voluntary": 2000.0,
             "cpu_s": 50.0, "cpi": {"absent": "perf is not installed"}}  # fmt: skip


def head(*names: str, **skipped: str) -> dict[str, Any]:
    arms: list[dict[str, Any]] = [{"name": name} for name in names]
    arms += [{"name": name, "skipped": reason} for name, reason in skipped.items()]
    settings = {"warmup": 1, "seed": 1, "cold": False, "command": ["a.py"]}
    started = "2026-01-01T00:00:00+00:00"
    return {"id": "c", "application": "a", "started": started, "baseline": names[0],
            "arms": arms, "settings": settings}  # fmt: skip


def runs(arm: str, seconds: list[float], **measures: Any) -> list[dict[str, Any]]:
    return [
        {"arm": arm, "repetition": i, "seconds": s, "measures": {**_MEASURES, **measures}}
        for i, s in enumerate(seconds)
    ]


def compared(named: dict[str, Any], found: list[dict[str, Any]]) -> dict[str, Any]:
    trials = [a_trial(run) for run in found]
    return dict(to_json(verdict.compared(typed(named, ComparisonHead), trials)))


def certain(named: dict[str, Any], found: list[dict[str, Any]]) -> bool:
    return verdict.certain(typed(named, ComparisonHead), [a_trial(run) for run in found])


_NATIVE = [10.0, 10.2, 9.8, 10.1, 9.9]


_FASTER, _SLOWER = [8.0, 8.2, 7.9, 8.1, 8.0], [12.0, 12.2, 11.8, 12.1, 11.9]
_NOISY = [10.0, 16.0, 9.0]
#: What is said of some arms, the first of them the baseline: their seconds, and what was measured
#: in the runs of the last.
CASES: dict[str, tuple[dict[str, list[float]], dict[str, Any]]] = {
    "bound is faster, with less garbage collection": (
        {"native": _NATIVE, "bound": [8.0, 8.1, 7.9, 8.2, 7.8]}, {"gc_share": 0.05}),
    "bound is slower, with more context switches": (
        {"native": _NATIVE, "bound": _SLOWER}, {"involuntary": 9000.0}),
    "native is slower than a bound baseline": ({"bound": _NATIVE, "native": _SLOWER}, {}),
    "native is faster than a bound baseline": ({"bound": _NATIVE, "native": _FASTER}, {}),
    "the plan of one JVM is faster": ({"native": _NATIVE, "plan": _FASTER}, {}),
    "the plan of one JVM is not": ({"native": _NATIVE, "plan": [10.0, 10.2, 9.9, 10.1, 10.0]}, {}),
    "a fix is faster": ({"as-is": _NATIVE, "fixed:turbo": _FASTER}, {}),
    "a fix is slower": ({"as-is": _NATIVE, "fixed:turbo": _SLOWER}, {}),
    "containers win, also over unbound executors": (
        {"native": _NATIVE, "unbound": [9.0, 9.2, 8.9, 9.1, 9.0], "docker": _FASTER}, {}),
    "partitioning pays, binding is not shown to": (
        {"native": _NATIVE, "unbound": _FASTER, "bound": [7.9, 8.3, 7.9, 8.2, 7.9]}, {}),
    "binding pays beside partitioning": (
        {"native": _NATIVE, "unbound": [9.0, 9.2, 8.9, 9.1, 9.0],
         "bound": [7.9, 8.1, 8.0, 8.0, 8.1]}, {}),
    "a difference within the noise": (
        {"native": _NATIVE, "bound": [9.0, 11.2, 9.1, 10.9, 9.6]}, {}),
    "a large difference that is not shown": ({"native": _NOISY, "plan": [5.0, 6.0, 9.5]}, {}),
    "no reasonable number of runs decides": (
        {"native": [10.0, 16.0, 7.0], "plan": [9.0, 9.5, 15.0]}, {}),
    "too few runs for an interval": ({"native": [10.0, 10.0], "bound": [5.0, 5.0]}, {}),
}  # fmt: skip


def test_each_case_has_its_verdict_and_its_reasons() -> None:
    shown = []
    for what, (arms, measured) in CASES.items():
        *others, last = arms
        found = [run for name in others for run in runs(name, arms[name])]
        said = compared(head(*arms), [*found, *runs(last, arms[last], **measured)])["verdict"]
        shown += [f"{what}:", f"  {said['choice']}: {said['sentence']}"]
        shown += [f"  - {why}" for why in said["why"]]
    check_golden("verdicts.txt", "\n".join([*shown, ""]))


def test_runs_beside_other_programs_are_warned_of_and_quiet_ones_are_not() -> None:
    quiet = runs("native", _NATIVE, other_load=0.02)
    said = compared(head("native", "bound"), [*quiet, *runs("bound", _NATIVE, other_load=0.4)])
    (warning,) = [w for w in said["warnings"] if w["kind"] == "other-load"]
    assert (
        "more than 10% of the machine's CPUs during 5 of 10 runs (40% in one of them)"
        in (warning["sentence"])
    )
    hedge = "; other programs used the CPUs meanwhile: compare again."
    assert said["verdict"]["sentence"].endswith(f", five pairs){hedge}")
    for others in (0.02, {"absent": "the machine was not sampled"}):
        bound = runs("bound", _NATIVE, other_load=others)
        said = compared(head("native", "bound"), [*quiet, *bound])
        assert "other-load" not in [w["kind"] for w in said["warnings"]]
        assert "other programs" not in said["verdict"]["sentence"]


def _using(arm: str, seconds: list[float], cpu: list[float]) -> list[dict[str, Any]]:
    found = runs(arm, seconds)
    for run, used in zip(found, cpu, strict=True):
        run["measures"] |= {"cpu_user_s": used - 1.0, "cpu_system_s": 1.0}
    return found


def test_cpu_seconds_are_quoted_where_the_clock_does_not_decide():
    native = _using("native", [10.0, 16.0, 9.0], [40.0, 41.0, 39.0])
    plan = _using("plan", [5.0, 6.0, 9.5], [22.0, 23.0, 22.0])
    said = compared(head("native", "plan"), [*native, *plan])
    cpu = said["arms"][1]["cpu"]
    assert (cpu["median_s"], cpu["user_s"], cpu["system_s"]) == (22.0, 21.0, 1.0)
    assert cpu["ratio"]["value"] == pytest.approx(0.56, abs=0.01)
    assert cpu["against"] == "faster"
    assert "; plan uses 0.56 of native's CPU seconds (95% interval" in said["verdict"]["sentence"]
    noisy = _using("plan", [5.0, 6.0, 9.5], [22.0, 63.0, 42.0])
    said = compared(head("native", "plan"), [*native, *noisy])
    assert "CPU seconds" not in said["verdict"]["sentence"]
    shown = "\n".join(show_document(_document(said), Screen(100), explain=True))
    assert "CPU seconds  median   user  system" in shown


def test_cpu_seconds_are_not_quoted_where_the_clock_decides_and_not_invented():
    native = _using("native", _NATIVE, [40.0] * 5)
    bound = _using("bound", [8.0, 8.1, 7.9, 8.2, 7.8], [22.0, 23.0, 22.0, 22.5, 22.4])
    said = compared(head("native", "bound"), [*native, *bound])
    assert "CPU seconds" not in said["verdict"]["sentence"]
    old = compared(head("native", "bound"), [*runs("native", _NATIVE), *runs("bound", _NATIVE)])
    assert "cpu" not in old["arms"][0]
    assert "CPU seconds" not in "\n".join(show_document(_document(old), Screen(100)))


def _document(said: dict[str, Any]) -> Compared:
    return typed(said, Compared)


def test_page_faults_and_tlb_misses_stand_beside_the_times_with_a_ratio_and_an_interval():
    slow = runs("unbound", _NATIVE, minor_faults=4000.0, major_faults=0.0, tlb_misses=3.0)
    fast = runs("bound", [8.0, 8.1, 7.9, 8.2, 7.8], minor_faults=1000.0, major_faults=2.0)
    for run, faults in zip(fast, (990.0, 1000.0, 1010.0, 1005.0, 995.0), strict=True):
        run["measures"]["minor_faults"] = faults
    said = compared(head("unbound", "bound"), [*slow, *fast])
    unbound, bound = (arm["counts"] for arm in said["arms"])
    assert bound["minor_faults"]["ratio"]["value"] == pytest.approx(0.25, abs=0.001)
    assert bound["minor_faults"]["ratio"]["low"] < 0.25 < bound["minor_faults"]["ratio"]["high"]
    assert bound["major_faults"] == {"median": 2.0}, "nothing is a multiple of none"
    assert unbound["tlb_misses"] == {"median": 3.0} and "tlb_misses" not in bound
    moved = "page faults without reading a disk fell from 4,000 to 1,000 (unbound to bound)"
    assert moved in said["verdict"]["why"]
    document = _document(said)
    *_, last = show_document(document, Screen(200))
    assert last.strip() == said["verdict"]["sentence"], "the last line is the answer"
    lines = show_document(document, Screen(200), explain=True)
    shown = [" ".join(line.split()) for line in lines]
    assert "page faults without reading a disk bound 1,000 0.25 [0.25, 0.25]" in shown


def test_warm_ups_and_failures_do_not_count_and_a_failure_is_told():
    warm = [{"arm": "bound", "repetition": -1, "seconds": 99.0, "measures": _MEASURES}]
    failed = [{"arm": "bound", "repetition": 5, "failure": "ended with 1: out of memory"}]
    bound = runs("bound", [8.0, 8.1, 7.9, 8.2, 7.8])
    said = compared(head("native", "bound"), [*runs("native", _NATIVE), *warm, *bound, *failed])
    assert said["arms"][1]["seconds"] == [8.0, 8.1, 7.9, 8.2, 7.8]
    assert (
        "bound failed and was not run again: ended with 1: out of memory" in said["verdict"]["why"]
    )


def test_a_baseline_that_never_finished_gives_no_verdict():
    failed = [{"arm": "native", "repetition": 0, "failure": "ended with 1: full"}]
    said = compared(head("native", "bound"), [*failed, *runs("bound", [8.0])])
    assert said["verdict"]["choice"] is None
    assert said["verdict"]["sentence"].startswith("No verdict: native never finished")


def test_that_every_warm_up_failed_is_said():
    failed = [
        {"arm": arm, "repetition": -1, "failure": "ended with 1: full"}
        for arm in ("native", "bound")
    ]
    said = compared(head("native", "bound"), failed)
    assert said["verdict"]["sentence"] == (
        "No verdict: every warm-up failed, so nothing was measured."
    )
    assert "native failed and was not run again: ended with 1: full" in said["verdict"]["why"]


def test_too_few_runs_give_a_ratio_without_an_interval():
    said = compared(
        head("native", "bound"), [*runs("native", [10.0, 10.0]), *runs("bound", [5.0, 5.0])]
    )
    assert said["arms"][1]["ratio"] == {"value": pytest.approx(0.5), "pairs": 2}
    assert said["arms"][1]["against"] == "undecided"


def test_a_skipped_arm_stays_in_the_table_with_its_reason():
    said = compared(
        head("native", "bound", balanced="this kernel has none"),
        [*runs("native", _NATIVE), *runs("bound", _NATIVE)],
    )
    assert said["arms"][2] == {
        "name": "balanced", "seconds": [], "skipped": "this kernel has none",
    }  # fmt: skip


def test_until_certain_goes_on_while_any_arm_is_undecided():
    named = head("native", "unbound", "bound")
    native = runs("native", _NATIVE)
    clear = runs("bound", [8.0, 8.1, 7.9, 8.2, 7.8])
    noisy = runs("unbound", [9.0, 11.2, 9.1, 10.9, 9.6])
    named["settings"]["looks"] = list(LOOKS)
    assert not certain(named, [*native, *clear, *noisy])
    assert certain(named, [*native, *clear, *runs("unbound", _NATIVE)])


def test_what_it_says_holds_to_its_contract() -> None:
    failed = [{"arm": "bound", "repetition": 5, "failure": "ended with 1: out of memory"}]
    for slow in ([12.0, 12.2, 11.8, 12.1, 11.9], [8.0, 8.0], []):
        found = [*runs("native", _NATIVE), *runs("bound", slow), *failed]
        said = compared(head("native", "bound", balanced="none here"), found)
        validate("comparison", said)
