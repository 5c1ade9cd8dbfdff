"""The plugin that binds executors which a standalone cluster has started."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from application import Site, ui_rows

from hearth.machine.paths import spark_home
from support import BOTH_CPUS, TWO_CPUS, hearth, require, validate

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("two_cpus")]
NODES = Path("/sys/devices/system/node")


@pytest.fixture(scope="module")
def report(two_cpus: tuple[int, ...], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What three applications say of two executors each; `log` is the driver's."""
    if len([*NODES.glob("node[0-9]*")]) > 1:
        require("one node", "two CPUs of one node of several are narrow already, and are left")
    site = Site(tmp_path_factory.mktemp("inside"))
    leases = site.root / "leases"
    leases.mkdir()
    strict = {
        "spark.hearth.binding": "required",
        "spark.executorEnv.HEARTH_LEASES": str(site.root / "nowhere"),
    }
    work = spark_home() / "work"
    before = {*work.glob("app-*")}
    watched = {"kill": "one", "spark.ui.enabled": "true", "spark.ui.port": "0"}
    contexts = [watched, {"spark.hearth.binding": "off"}, strict]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEARTH_LEASES", str(leases))
        outcome = site.run(
            "inside.py",
            *map(json.dumps, contexts),
            master="local-cluster[2,1,512]",
            spark__plugins="io.hearth.plugin.BindingPlugin",
            spark__executor__memory="512m",
            spark__executor__extraJavaOptions="-XX:TieredStopAtLevel=1",
            spark__scheduler__minRegisteredResourcesRatio="1",
            spark__scheduler__maxRegisteredResourcesWaitingTime="120s",
        )
    for app in {*work.glob("app-*")} - before:  # where local-cluster's Workers have theirs
        shutil.rmtree(app, ignore_errors=True)
    assert outcome.code == 0, outcome.log[-4000:]
    said = dict(zip(("bound", "off", "strict"), json.loads(outcome.output), strict=True))
    where = {"HEARTH_LEASES": str(leases)}
    held = hearth(site.root / "state", "status", "--leases", "--json", environment=where)
    kept = {f.stem: json.loads(f.read_text()) for f in (site.root / "state/bindings").iterdir()}
    return {**said, "log": outcome.log, "kept": kept, "held": json.loads(held.stdout)["leases"]}


def kept(report: dict[str, Any], of: str) -> dict[int, dict[str, Any]]:
    document = report["kept"][report[of]["app"]]
    validate("binding", document)
    return {each["pid"]: each for each in document["executors"]}


def test_two_executors_bind_themselves_to_different_cpus_as_the_kernel_has_it(
    report: dict[str, Any],
) -> None:
    said = kept(report, "bound")
    cpus = set()
    for pid, threads, python, policies in report["bound"]["seen"]:
        assert threads == python == said[pid]["cpus"] == said[pid]["kernel"]["cpus_allowed"]
        assert said[pid]["state"] == "bound"
        assert "bind:0" in policies
        cpus.add(threads)
    assert cpus == {str(cpu) for cpu in TWO_CPUS}
    assert "bound to CPUs" in report["log"]


def test_sparks_ui_has_a_tab_that_shows_how_they_are_bound(report: dict[str, Any]) -> None:
    shown = {row[2]: row for row in ui_rows(report["bound"]["tab"])}
    for pid, threads, *_ in report["bound"]["seen"]:
        assert shown[str(pid)][3:5] == ["bound", threads]


def test_the_successor_of_a_killed_executor_gets_its_cpus(report: dict[str, Any]) -> None:
    killed, other = report["bound"]["seen"]
    after = {each[0]: each[1] for each in report["bound"]["after"]}
    assert after.pop(other[0]) == other[1]
    assert list(after.values()) == [killed[1]]
    assert report["held"] == []


def test_observed_executors_are_reported_and_not_bound(report: dict[str, Any]) -> None:
    said = kept(report, "off")
    for pid, threads, _, policies in report["off"]["seen"]:
        assert (said[pid]["state"], threads, policies) == ("observed", BOTH_CPUS, "default")


def test_where_binding_is_required_an_executor_that_cannot_be_bound_ends_the_application(
    report: dict[str, Any],
) -> None:
    assert "stopped" in report["strict"]["failed"] or "shut down" in report["strict"]["failed"]
    assert "an executor cannot be bound: no lease can be kept: NoSuchFile" in report["log"]
