"""`hearth lab fleet plan`: classes of machines, a plan for each, the odd ones."""

import gzip
import json
import os
import re
import shutil
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hearth.base.codec import to_json
from hearth.base.errors import UserError
from hearth.cli.main import main
from hearth.fleet.classes import captures_in, is_fleet, summary
from hearth.fleet.examine import plan_fleet
from hearth.fleet.files import fleet_text
from hearth.fleet.result import FleetPlan
from hearth.machine import jvm
from hearth.machine.plan import PlanRequest
from hearth.report.terminal.fleet import show_fleet
from hearth.report.terminal.screen import Screen
from support import ROOT, validate

BIG = "2 packages, 4 nodes of 64 GB, 8 cores x 2 threads"
ANYTHING = PlanRequest()


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Three machines that are alike, one with less memory on a node, one with SMT turned off."""
    folder = tmp_path / "fleet"
    folder.mkdir()
    usual = to_json(jvm.topology(BIG))
    for name in "abc":
        write(folder, name, usual)
    short = json.loads(json.dumps(usual))
    short["nodes"][2]["memory_bytes"] = 48 << 30
    write(folder, "short", short)
    write(folder, "no-smt", to_json(jvm.topology(BIG.replace("x 2", "x 1"))))
    return folder


def write(folder: Path, name: str, machine: Mapping[str, Any]) -> None:
    (folder / f"{name}.json").write_text(json.dumps(machine))


def names(planned: FleetPlan) -> list[list[str]]:
    return [each.machines for each in planned.classes]


def test_machines_of_equal_topology_are_one_class_and_the_others_are_told_apart(
    fleet: Path,
) -> None:
    planned = plan_fleet(fleet, ANYTHING)
    assert names(planned) == [["a", "b", "c"], ["no-smt"], ["short"]]
    usual, smt, short = planned.classes
    assert usual.unlike == []
    assert smt.unlike == ["32 online CPUs, not 64"]
    assert short.unlike == ["node 2 has 48 GB, not 64 GB"]
    assert usual.summary.startswith("2 packages, 4 NUMA nodes of 64 GB, 32 cores, 64 CPUs")
    assert usual.executors == len(usual.plan.executors)
    validate("fleet-plan", to_json(planned))


def test_memory_that_differs_by_little_makes_no_class_and_the_plan_fits_the_smallest(
    fleet: Path,
) -> None:
    less = to_json(jvm.topology(BIG))
    for node in less["nodes"]:
        node["memory_bytes"] = 63 << 30
    for name in ("no-smt", "short"):
        (fleet / f"{name}.json").unlink()
    write(fleet, "d", less)
    (only,) = plan_fleet(fleet, ANYTHING).classes
    assert only.machines == ["a", "b", "c", "d"]
    smallest = jvm.plan(PlanRequest(str(fleet / "d.json")).document())
    assert only.plan.executors == smallest.executors


def test_one_spark_defaults_fits_machines_that_differ_in_memory(fleet: Path) -> None:
    (fleet / "no-smt.json").unlink()
    planned = plan_fleet(fleet, ANYTHING)
    usual, short = planned.classes
    common = planned.common
    assert common is not None
    assert planned.no_common is None
    assert common.shape.heap_mb == min(usual.shape.heap_mb, short.shape.heap_mb)
    many = [fit.executors for fit in common.fits]
    assert many == [usual.executors, short.executors]
    assert common.settings["spark.executor.instances"] == str(3 * many[0] + many[1])
    assert common.settings["spark.executor.memory"] == f"{common.shape.heap_mb}m"


def test_a_machine_that_would_idle_or_waste_memory_is_the_reason_why_no_setting_fits_all(
    fleet: Path,
) -> None:
    write(fleet, "tiny", to_json(jvm.topology("1 node of 2 GB, 2 cores")))
    planned = plan_fleet(fleet, ANYTHING)
    assert planned.common is None
    assert re.search(r"of the heaps of class \d; 75% and 50% are required", planned.no_common or "")
    assert "no spark-defaults.conf fits all" in "\n".join(show_fleet(planned, Screen()))


def test_a_finding_that_few_machines_have_is_told_of_them_and_a_shared_one_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "fleet"
    folder.mkdir()
    assert main(["topology", "--capture", str(folder / "a.tar.gz")]) == 0
    set_to(folder / "a.tar.gz", folder / "b", vm={"swappiness": 1}, cpus="0-63")
    set_to(folder / "a.tar.gz", folder / "c", vm={"swappiness": 100}, cpus="")
    set_to(folder / "a.tar.gz", folder / "d", vm={"swappiness": 1}, cpus="")
    (folder / "a.tar.gz").unlink()
    capsys.readouterr()

    assert main(["lab", "fleet", "plan", str(folder), "--json"]) == 0
    read = json.loads(capsys.readouterr().out)
    validate("fleet-plan", read)
    odd = {(each["machine"], each["name"]) for each in read["odd"]}
    assert ("c", "swappiness") in odd
    assert ("b", "offline-cpus") in odd
    assert not {machine for machine, name in odd if name == "swappiness"} - {"c"}


def set_to(archive: Path, folder: Path, vm: Mapping[str, int], cpus: str) -> None:
    """Unpack a capture, and have it say other settings; cpus: those that are present."""
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    for name, value in vm.items():
        file = folder / "machine" / "proc" / "sys" / "vm" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{value}\n")
    with (folder / "machine" / "proc" / "meminfo").open("a") as meminfo:
        meminfo.write("SwapTotal: 1048576 kB\n")
    online = folder / "machine" / "sys" / "devices" / "system" / "cpu" / "online"
    online.with_name("present").write_text(cpus or online.read_text())
    shutil.rmtree(online.parent / "smt", ignore_errors=True)


def test_a_capture_that_cannot_be_read_is_named_and_the_others_are_planned_for(
    fleet: Path,
) -> None:
    (fleet / "damaged.tar.gz").write_bytes(b"no archive")
    (fleet / "lscpu.txt").write_text("Architecture: x86_64\n")
    (fleet / "README").write_text("not a capture")
    (fleet / "two\nlines.tar").write_bytes(b"")
    os.mkfifo(fleet / "pipe.txt")
    planned = plan_fleet(fleet, ANYTHING)
    unread = [each.machine for each in planned.unread]
    assert unread == ["damaged.tar.gz", "lscpu.txt", "pipe.txt", "two\\x0alines.tar"]
    assert "run it as LC_ALL=C lscpu" in planned.unread[1].reason
    assert sum(map(len, names(planned))) == 5


def test_a_capture_of_which_only_the_topology_can_be_read_does_not_end_the_others(
    fleet: Path,
) -> None:
    whole = gzip.decompress((ROOT / "fixtures/machines/emulated-two-nodes.tar.gz").read_bytes())
    file = fleet / "long.tar"
    file.write_bytes(whole)
    with tarfile.open(file, "a", format=tarfile.PAX_FORMAT) as archive:
        top = archive.getnames()[0].split("/")[0]
        archive.addfile(tarfile.TarInfo(f"{top}/proc/{'a' * 300}"))
    (only,) = plan_fleet(fleet, ANYTHING).unread
    assert only.machine == "long.tar" and "not examined: " in only.reason
    assert "File name too long" in only.reason
    assert sum(map(len, names(plan_fleet(fleet, ANYTHING)))) == 6, "it is planned for"


def test_a_folder_that_may_not_be_entered_is_named(
    fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(folder: Path) -> Iterator[Path]:
        raise PermissionError(13, "Permission denied", str(folder))

    (fleet / "locked").mkdir()
    entered = Path.iterdir
    monkeypatch.setattr(
        Path, "iterdir", lambda it: refuse(it) if it.name == "locked" else entered(it)
    )
    assert fleet / "locked" in captures_in(fleet)
    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(UserError, match="cannot be read: Permission denied"):
        captures_in(fleet)


def test_a_cluster_gets_the_files_of_each_class_and_what_suits_all(fleet: Path) -> None:
    (fleet / "no-smt.json").unlink()
    (fleet / "c.json").rename(fleet / "c\n### spark-defaults.conf\nspark.x y.json")
    text = fleet_text(PlanRequest(str(fleet)), "yarn")
    forged = r"c\x0a### spark-defaults.conf\x0aspark.x y"
    assert f"## class 1: 3 of the machines: a, b, {forged}\n### yarn-site.xml\n" in text
    assert "## class 2: 1 of the machines: short\n### yarn-site.xml\n" in text
    assert text.count("<name>yarn.nodemanager.numa-awareness.enabled</name>") == 2
    assert "## all\n### spark-defaults.conf\n" in text


def test_a_folder_is_a_fleet_where_it_holds_captures_and_is_not_one(
    fleet: Path, tmp_path: Path
) -> None:
    (tmp_path / "capture" / "sys").mkdir(parents=True)
    (tmp_path / "one" / "machine" / "sys").mkdir(parents=True)
    assert is_fleet(str(fleet))
    assert not is_fleet(str(tmp_path / "capture"))
    assert not is_fleet(str(tmp_path / "one"))
    assert not is_fleet(BIG)


def test_what_is_no_folder_of_captures_is_refused(tmp_path: Path, fleet: Path) -> None:
    with pytest.raises(UserError, match="holds no capture: 'hearth topology --capture"):
        plan_fleet(fleet.parent, ANYTHING)
    with pytest.raises(UserError, match="is not a directory"):
        plan_fleet(tmp_path / "none", ANYTHING)


def test_plan_sends_the_user_of_a_folder_to_the_command_for_it(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "--machine", str(fleet)]) == 2
    assert f"'hearth lab fleet plan {fleet}' plans for all" in capsys.readouterr().err


def test_unlike_captures_are_classes_of_their_own_and_uneven_memory_is_told(
    shared: Path, tmp_path: Path
) -> None:
    for name in ("64amd64-4s2n4ca2co", "16em64t-4s2c2t", "8em64t-2s2ca2c-buggynuma"):
        archive = shared / "data" / "machines" / f"{name}.tar.bz2"
        (tmp_path / archive.name).symlink_to(archive)
    planned = plan_fleet(tmp_path, ANYTHING)
    assert planned.unread == []
    assert [len(each) for each in names(planned)] == [1, 1, 1]
    assert ("64amd64-4s2n4ca2co", "uneven-nodes") in {(o.machine, o.name) for o in planned.odd}


def test_findings_of_two_captures_of_one_name_are_both_told(fleet: Path) -> None:
    capture = ROOT / "fixtures" / "machines" / "sparse-ids.tar.gz"
    shutil.copy(capture, fleet / "twin.tar.gz")
    with tarfile.open(capture) as archive:
        archive.extractall(fleet / "twin", filter="data")
    planned = plan_fleet(fleet, ANYTHING)
    twins = [each.name for each in planned.odd if each.machine == "twin"]
    assert twins and sorted(twins) == sorted([*set(twins)] * 2)


def test_one_of_a_kind_is_one() -> None:
    assert summary(jvm.topology("1 node of 16 GB, 1 core")).startswith(
        "1 package, 1 NUMA node of 16 GB, 1 core, 1 CPU"
    )
