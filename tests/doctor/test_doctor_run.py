"""What the doctor says of one run: its plan, its settings, and what of it a finding acts on."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.made_record import make_record
from doctor.made_machine import EXAMPLES, PLAN, TOPOLOGY, Given
from hearth.base.absent import Absent
from hearth.base.codec import load_document, to_json
from hearth.base.errors import UserError
from hearth.doctor.examine import Examined, InRun, JudgedRun, examine
from hearth.doctor.machine import Machine
from hearth.doctor.rule import Rule
from hearth.doctor.rules import RULES
from hearth.doctor.run import changed_since, concerns, machine_of
from hearth.record.schema import Setting
from hearth.record.store import Record, read_record
from hearth.report.doctor import doctor_blocks
from hearth.report.terminal.blocks import show_blocks
from hearth.report.terminal.screen import Screen
from pages import constructed
from support import validate

HERE = {str(one.id): one.cpus for one in TOPOLOGY.nodes}
NOTHING = InRun("it wrote no shuffle files, spilled nothing, and put 9 KB on disks", False)
RUN = JudgedRun("a-run", "job", [], {"files": NOTHING, "queries": InRun("3 queries", True)})


def record(tmp_path: Path, **changes: Any) -> Record:
    make_record(tmp_path / "20261121-090000-app-3fa9", **{"cpus_of_node": HERE, **changes})
    return read_record(tmp_path / "20261121-090000-app-3fa9")


def of(check: Rule, machine: Machine, run: JudgedRun | None = None) -> Examined:
    return examine(machine, None, {}, [check], run=run)


def test_a_run_is_judged_by_its_own_plan_and_settings(tmp_path: Path) -> None:
    plan = load_document(EXAMPLES / "plan.json", dict[str, Any])
    kept = record(
        tmp_path,
        plan=plan,
        configuration={**plan["conf"], "spark.eventLog.compress": "false",
                       "spark.sql.adaptive.enabled": "false"},
        versions={"spark": "3.5.1"},
    )  # fmt: skip
    elsewhere = replace(PLAN, mode="native")
    machine = replace(Given().machine(tmp_path), plan=elsewhere)
    judged = machine_of(machine, kept)
    assert judged.require_plan().mode == plan["mode"]
    assert judged.user_settings().settings == {"spark.sql.adaptive.enabled": "false"}
    assert judged.user_settings().spark_version == "3.5.1"
    (found,) = of(RULES["adaptive-execution"], judged, RUN).findings
    assert found.evidence == "the settings of the run"
    assert found.in_run == InRun("3 queries", True)


def test_java_options_that_hearth_gave_are_not_held_against_the_user(tmp_path: Path) -> None:
    plan = load_document(EXAMPLES / "plan.json", dict[str, Any])
    own = " ".join(plan["executors"][0]["java_options"])
    given = f"{own} -XX:ParallelGCThreads=900 '-Xlog:gc*,safepoint:file=x:time'"
    kept = record(tmp_path, plan=plan, configuration={"spark.executor.extraJavaOptions": given})
    conf = machine_of(Given().machine(tmp_path), kept).user_settings().settings
    assert conf == {"spark.executor.extraJavaOptions": "-XX:ParallelGCThreads=900"}


def test_a_run_without_a_plan_of_hearths_is_judged_without_one(tmp_path: Path) -> None:
    judged = machine_of(Given().machine(tmp_path), record(tmp_path, plan=None))
    assert judged.plan == Absent("the run under local[2] had no plan of hearth's")


def test_a_run_of_another_machine_is_refused(tmp_path: Path) -> None:
    kept = record(tmp_path, cpus_of_node={"0": "0-63"})
    with pytest.raises(UserError, match=r"ran on another machine .*give a capture of it"):
        machine_of(Given().machine(tmp_path), kept)


def test_what_was_set_otherwise_during_the_run_is_told(tmp_path: Path) -> None:
    was = {"swappiness": {"value": "60", "source": "/proc/sys/vm/swappiness"}}
    head = record(tmp_path, machine_settings=was, versions={"java": "17"}).head
    now = {"swappiness": Setting("1", "/proc/sys/vm/swappiness"), "smt": Absent("none")}
    assert changed_since(head, now, {"java": "17"}) == ["swappiness: 60 then, 1 now"]
    assert changed_since(head, {"swappiness": Absent("gone")}, {"java": "21"}) == [
        "java: 17 then, 21 now"
    ]


def test_advice_about_what_the_run_had_none_of_comes_last_and_does_not_count(
    tmp_path: Path,
) -> None:
    files = {"proc/self/mountinfo": "2 1 8:1 / / rw - overlay s rw\n"}
    machine = Given(files, user={"conf": {"spark.sql.adaptive.enabled": "false"}}).machine(tmp_path)
    checks = [RULES["local-dirs-kind"], RULES["adaptive-execution"]]
    found = examine(machine, None, {}, checks, run=replace(RUN, changed=["smt: on then, off now"]))
    assert [one.name for one in found.findings] == ["adaptive-execution", "local-dirs-kind"]
    assert [one.name for one in found.telling] == ["adaptive-execution"]
    blocks = doctor_blocks(found, everything=False)
    shown = " ".join("\n".join(show_blocks(blocks, Screen(200))).split())
    assert ": 1 piece of advice, 1 without effect on it; " in shown
    assert "changed since: smt: on then, off now" in shown
    assert "in this run: 3 queries" in shown
    assert f"overlay: does not affect this run: {NOTHING.text}" in shown
    validate("doctor", to_json(found))


def test_what_a_run_had_is_read_from_its_record() -> None:
    found = concerns(constructed.analysis(), [2048, 1024])
    assert found["heaps"].text.endswith("% of its tasks' time; 2 x 1 GB of heap")
    assert found["files"].matters and "of shuffle files and spills" in found["files"].text
    assert found["cpus"].text.startswith("it used ")


def test_of_a_run_without_an_event_log_little_is_claimed() -> None:
    whole = constructed.analysis()
    bare = replace(whole, totals=Absent("none"), stages=Absent("none"), executors=[])
    assert concerns(bare, []) == {}


def test_files_do_not_matter_only_where_the_processes_are_known_to_have_written_none() -> None:
    whole = constructed.analysis()
    assert not isinstance(whole.totals, Absent)
    none = replace(
        whole.totals,
        bytes=replace(whole.totals.bytes, shuffle_write=0),
        spill=replace(whole.totals.spill, disk=0),
    )
    without = replace(whole, totals=none, executors=[])
    assert "files" not in concerns(without, [])
    use = whole.executors[0].use
    assert not isinstance(use, Absent)
    for written, matters in ((5000.0, False), (float(1 << 30), None)):
        one = replace(whole.executors[0], use=replace(use, written_bytes=written))
        found = concerns(replace(without, executors=[one]), []).get("files")
        assert (found.matters if found else None) == matters
