"""Every preset from its file to its table, on a machine that has what it needs and is described.

Its steps are real commands that plan for that machine; only the runs themselves are made up, so
that no Spark starts.
"""

import json
from collections import defaultdict
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hearth.cli.commands import colocate as colocate_command
from hearth.cli.commands.lab import study as command
from hearth.cli.main import main
from hearth.machine import jvm
from hearth.studies.bench import study as bench
from hearth.studies.characterise import surroundings
from hearth.studies.colocate import applications
from hearth.studies.colocate import study as colocate
from hearth.studies.compare import study as compare
from hearth.studies.compare.verdict import COUNTED
from hearth.studies.engine import arms, kernel_settings
from hearth.studies.engine.trial import ConcurrentRun, Trial
from hearth.studies.published.needs import Capabilities, numbers_of
from hearth.studies.published.preset import Preset, names, preset
from hearth.workloads import catalogue
from support import ROOT

#: Four nodes in two sockets, as Baig's, with fewer threads; and the container study's.
FOUR = "2 packages, 4 nodes of 64 GB, 6 cores x 2 threads"
EIGHT = "8 packages, 8 nodes of 99 GB, 15 cores"
MEASURES = {"involuntary": 5.0, "remote_share": 0.2, "cpu_use": 0.8, "bandwidth_gb_s": 30.0,
            "memory_gb": 40.0, "user_share": 0.7, "system_share": 0.1, "idle_share": 0.2,
            "minor_faults": 9.0, "tlb_misses": 2.0, "remote_loads": 0.1, "gc_s": 3.0,
            **{measure.key: 0.3 for measure in COUNTED}, "front_end": 0.1}  # fmt: skip
MACHINE = {"switches_per_s": 9000.0, "remote_per_s": 3.0}
STREAM = {"processing_ms": {"median": 100.0}, "scheduling_delay_ms": {"max": 1.0},
          "events_processed": 10, "unsent": 0, "kept_up": True}  # fmt: skip
_call = jvm.call


@cache
def answered(verb: str, words: tuple[str, ...], request: str) -> Any:
    return _call(verb, *words, request=json.loads(request))


@pytest.fixture
def described(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """This machine is one of a description; every run takes a second, and no program starts."""

    def become(machine: str) -> None:
        def call(verb: str, *words: str, request: Any = None, **_: Any) -> Any:
            if verb == "topology":
                return answered(verb, ("--machine", machine), "null")
            for one in (request or {}).get("requests", [request] if request else []):
                one.setdefault("machine", machine)
                one["limits"].pop("environment", None)  # of this machine's user
            return answered(verb, words, json.dumps(request))

        monkeypatch.setattr(jvm, "call", call)
        met: Any = defaultdict(lambda: lambda: None)
        monkeypatch.setattr(
            command.Capabilities, "of", lambda of: Capabilities(numbers_of(of), met)
        )

    monkeypatch.setenv("HEARTH_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("HEARTH_DATA", str(tmp_path / "data"))
    able = SimpleNamespace(name="bandwidth", status="on", reason=None)
    monkeypatch.setattr(surroundings, "survey", lambda roots: [able])
    monkeypatch.setattr(surroundings, "shutil", SimpleNamespace(which=str))
    monkeypatch.setattr("hearth.cli.commands.lab.characterise.sustained_gb_s", lambda: 100.0)
    monkeypatch.setattr(kernel_settings, "cannot_switch_prefetchers", lambda cpus: None)
    monkeypatch.setattr(arms, "no_docker", lambda: None)
    monkeypatch.setattr(arms, "cannot_switch", lambda setting=None: None)
    monkeypatch.setattr(catalogue, "ask", checked(catalogue.ask))
    monkeypatch.setattr(compare, "run_arm", compared)
    monkeypatch.setattr(bench, "_trial", timed)
    monkeypatch.setattr(colocate, "_round", together)
    monkeypatch.setattr(colocate_command, "with_data", lambda applications: applications)
    monkeypatch.setattr(applications, "_allowed", lambda cpus: nullcontext())
    return become


def checked(ask: Any) -> Any:
    """All but the limits of parameters, which the jar knows and would be started for each."""
    return lambda verb, *words: None if verb == "check" else ask(verb, *words)


def compared(study: Any, target: Any, arm: Any, turn: Any, log: str, **_: Any) -> Trial:
    return Trial(turn, seconds=1.0, measures=MEASURES, streaming=STREAM)  # type: ignore[arg-type]


def timed(offer: Any, series: Any, entry: Any, turn: Any) -> Trial:
    result = json.loads((ROOT / "contract" / "examples" / "workload-result.json").read_text())
    return Trial(turn, seconds=1.0, result={**result, "seconds": 1.0})


def together(place: Any, turn: Any, members: Any, split: Any) -> Trial:
    begun, ended = 20 * 60.0, 30 * 60.0  # of a loop, between its ramps
    alone = Trial(turn, 600.0, record="r", measures=MEASURES)  # type: ignore[arg-type]
    runs = [ConcurrentRun(at, begun, ended, alone) for at, _, _ in members]
    return Trial(turn, ended, runs=runs, split=split, machine=MACHINE)  # type: ignore[arg-type]


def steps_of(found: Preset) -> str:
    """Those that published values are read from, and the first one."""
    read = [value.read for value in found.values if value.read is not None]
    needed = [step for one in read for of in (one.step, one.over_step) if of
              for step in of.split(",")]  # fmt: skip
    return ",".join(dict.fromkeys([found.steps[0].name, *needed]))


@pytest.mark.parametrize("name", [name for name in names() if preset(name).steps])
def test_each_preset_plans_its_arms_and_fills_its_table_where_a_machine_has_what_it_needs(
    name: str, described: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    described(EIGHT if name.startswith("partitions") else FOUR)
    words = ["--steps", steps_of(preset(name)), "--warm", "--repeat", "1", "--warmup", "0"]
    scale = [] if name == "baig-pairs" else ["--scale", "0.01"]  # minutes have a ramp
    code = main(["lab", "study", "run", name, *words, *scale, "--json"])
    captured = capsys.readouterr()
    assert code == 0, captured
    document = json.loads(captured.out)
    (study,) = document["studies"]
    assert {step["state"] for step in study["steps"]} == {"ran"}
    assert all(step["command"][0] == "plan" or "study" in step for step in study["steps"])
    values = {value.what: value for value in preset(name).values}
    for row in study["rows"]:
        if row["what"] in values and values[row["what"]].read is not None:
            assert "measured" in row, row["reason"]
