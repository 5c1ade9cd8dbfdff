"""The one jar on each Spark of HEARTH_SPARKS, a list of SPARK_HOMEs separated by colons.

`make test-versions` brings the newest of each supported line and sets the variable.
"""

import os
from pathlib import Path

import pytest
from application import APPS, BIN, Outcome, Site, assert_shuffle_read_from_files

from hearth.launch.driver_archive import driver_flags
from hearth.planner.places import hearth_jar
from support import require

pytestmark = pytest.mark.spark

SPARKS = [Path(home) for home in os.environ.get("HEARTH_SPARKS", "").split(":") if home]
DAYS = {str(day): [len(range(day, 1000, 7)), sum(range(day, 1000, 7))] for day in range(7)}


@pytest.fixture(params=SPARKS or [None], ids=lambda home: home.parent.name if home else "none")
def elsewhere(request: pytest.FixtureRequest, site: Site) -> Site:
    """A site whose Spark is another than the installed pyspark."""
    if request.param is None:
        require("sparks", "HEARTH_SPARKS names no other Spark: make test-versions")
    site.spark_home = request.param
    return site


def version_of(home: Path) -> str:
    (core,) = (home / "jars").glob("spark-core_2.13-*.jar")
    return core.stem.removeprefix("spark-core_2.13-")


FIXED = ["--executors", "2", "--cores", "1", "--memory", "600m"]
FIXED += ["--conf", "spark.hearth.neighbours=ignore", "--conf", "spark.ui.enabled=false"]


def test_hearth_submit_runs_a_query_on_bound_executors(elsewhere: Site) -> None:
    assert elsewhere.spark_home is not None
    # Its archive of classes is worth its making only for a user.
    fixed = [*FIXED, "--conf", "spark.hearth.classDataArchive=false"]
    process = elsewhere.launch([str(BIN / "hearth"), "submit", *fixed, str(APPS / "sql.py")])
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, elsewhere.log[-4000:]
    expected = {"spark": version_of(elsewhere.spark_home), "days": DAYS}
    assert expected == Outcome(process.returncode, output, elsewhere.log).report
    placement = elsewhere.document("placement.json")["executors"]
    assert [e["verdict"] for e in placement] == ["as planned"] * 2


def test_what_starts_from_archives_leaves_the_output_to_the_application(elsewhere: Site) -> None:
    assert elsewhere.spark_home is not None
    flags = driver_flags(elsewhere.spark_home, hearth_jar(), make=True, debug=True)
    assert flags, "an archive fits this Java and this Spark"
    submit = [str(BIN / "hearth"), "submit", *FIXED, str(APPS / "sql.py")]
    process = elsewhere.launch(submit)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, elsewhere.log[-4000:]
    assert Outcome(process.returncode, output, elsewhere.log).report["days"] == DAYS
    # Java 25 calls module options errors there; Spark's own warnings of them are not ours.
    said = [file.read_text() for file in elsewhere.only_run().glob("executors/*/stdout")]
    assert said == ["", ""]
    assert "[cds" not in output + elsewhere.log


def test_a_killed_executor_is_replaced_and_its_shuffle_is_read_from_files(elsewhere: Site) -> None:
    outcome = elsewhere.run(
        "shuffle.py",
        spark__ui__enabled="true",
        spark__ui__port="0",
        spark__hearth__classDataArchive="false",
    )
    assert_shuffle_read_from_files(outcome.report)
    started = list((elsewhere.only_run() / "executors").iterdir())
    assert len(started) == 3  # two, and one in the place of the killed
    assert elsewhere.leftovers() == []


def test_dynamic_allocation_gives_executors_back_and_gets_them_again(elsewhere: Site) -> None:
    outcome = elsewhere.run(
        "elastic.py",
        spark__dynamicAllocation__enabled="true",
        spark__dynamicAllocation__minExecutors="0",
        spark__dynamicAllocation__executorIdleTimeout="2s",
        spark__hearth__classDataArchive="false",
        timeout=480,
    )
    report = outcome.report
    # On a busy machine one may be idle for 2 s while the other works.
    assert (report["idle"], report["counts"]) == (0, [12, 12, 12])
    assert 1 <= report["most"] <= 2 and 1 <= report["again"] <= 2
    assert len(list((elsewhere.only_run() / "executors").iterdir())) > report["most"]
    assert elsewhere.leftovers() == []
