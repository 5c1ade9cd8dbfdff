"""The one jar on the other Sparks and Javas that it is for.

One query on the oldest Spark and on Java 25 in every test run; the rest with `make test-versions`.
tools/versions.sh fetches them; HEARTH_JAVAS names further JAVA_HOMEs, separated by colons.
"""

import os
import subprocess
from pathlib import Path

import pytest
from application import APPS, BIN, Outcome, Site, assert_shuffle_read_from_files, ui_rows

from hearth.machine.paths import hearth_jar, spark_home
from hearth.spark.cds import driver_flags
from support import ROOT, confs, require

pytestmark = pytest.mark.spark

SPARKS, JAVAS = ("4.0", "4.1", "4.2"), ("21", "25")
#: On this one the test of Comet runs a query, on Comet and on Spark alone.
COMETS = "4.1"
COMET = "org.apache.datafusion:comet-spark-spark4.1_2.13:1.2.0"
ALL = os.environ.get("HEARTH_VERSIONS") == "all"
OWN_JAVAS = tuple(filter(None, os.environ.get("HEARTH_JAVAS", "").split(":")))
DAYS = {str(day): [len(range(day, 1000, 7)), sum(range(day, 1000, 7))] for day in range(7)}


def fetched(kind: str, line: str) -> Path:
    """Where one of the other `sparks` or `javas` is; skips the test if it cannot be had."""
    words = [str(ROOT / "tools" / "versions.sh"), kind, line]
    done = subprocess.run(words, capture_output=True, text=True, timeout=1200, check=False)
    if done.returncode:
        require(kind, f"tools/versions.sh: {done.stderr.strip()[-300:]}")
    return Path(done.stdout.strip())


def on_spark(site: Site, line: str) -> Site:
    """A site whose Spark is another than the installed pyspark."""
    site.spark_home = fetched("sparks", line)
    return site


def on_java(site: Site, name: str, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A site of the installed pyspark, on another Java."""
    home = Path(name) if name in OWN_JAVAS else fetched("javas", name)
    monkeypatch.setenv("JAVA_HOME", str(home))
    return site


@pytest.fixture(params=SPARKS if ALL else SPARKS[:1], ids=lambda line: f"spark-{line}")
def other_spark(request: pytest.FixtureRequest, site: Site) -> Site:
    return on_spark(site, request.param)


@pytest.fixture(
    params=[*(JAVAS if ALL else JAVAS[1:]), *OWN_JAVAS], ids=lambda name: f"java-{name}"
)
def other_java(
    request: pytest.FixtureRequest,
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
    first_compiler: None,
) -> Site:
    return on_java(site, request.param, monkeypatch)


@pytest.fixture(
    params=[
        *(pytest.param(("spark", line), id=f"spark-{line}") for line in SPARKS),
        *(pytest.param(("java", name), id=f"java-{name}") for name in (*JAVAS, *OWN_JAVAS)),
    ]
)
def elsewhere(
    request: pytest.FixtureRequest,
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
    first_compiler: None,
) -> Site:
    """Each of them, where all of this file is asked for."""
    if not ALL:
        pytest.skip("make test-versions runs it")
    kind, name = request.param
    return on_spark(site, name) if kind == "spark" else on_java(site, name, monkeypatch)


@pytest.fixture
def comet(site: Site) -> list[str]:
    """The words with which a site's Spark has Comet, which Maven Central gives once."""
    home = on_spark(site, COMETS).spark_home
    assert home is not None
    ivy, mirror = str(ROOT / ".cache" / "engines"), os.environ.get("HEARTH_MAVEN")
    words = ["--packages", COMET, *confs({"spark.jars.ivy": ivy})]
    words += ["--repositories", mirror] if mirror else []
    nothing = ["--class", "org.apache.hadoop.util.VersionInfo", "spark-internal"]
    command = [str(home / "bin" / "spark-submit"), "--master", "local", *words, *nothing]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
    if done.returncode:
        require("sparks", f"Comet could not be fetched: {done.stderr.strip()[-300:]}")
    return [*words, *confs({"spark.plugins": "org.apache.spark.CometPlugin"})]


def version_of(home: Path) -> str:
    (core,) = (home / "jars").glob("spark-core_2.13-*.jar")
    return core.stem.removeprefix("spark-core_2.13-")


ALONE = ["--cores", "1", "--memory", "600m"]
ALONE += ["--conf", "spark.hearth.neighbours=ignore", "--conf", "spark.ui.enabled=false"]
FIXED = ["--executors", "2", *ALONE]


def submits_a_query(site: Site, executors: int) -> None:
    # Its archive of classes is worth its making only for a user.
    fixed = ["--executors", str(executors), *ALONE, "--conf", "spark.hearth.classDataArchive=false"]
    process = site.launch([str(BIN / "hearth"), "submit", *fixed, str(APPS / "sql.py")])
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, site.log[-4000:]
    expected = {"spark": version_of(site.spark_home or spark_home()), "days": DAYS}
    # By what the query reads: the least for one slot of each executor.
    expected["partitions"] = [2 * executors]
    assert expected == Outcome(process.returncode, output, site.log).report
    placement = site.document("placement.json")["executors"]
    assert [e["verdict"] for e in placement] == ["as planned"] * executors


def test_hearth_submit_runs_a_query_on_bound_executors_of_another_spark(other_spark: Site) -> None:
    submits_a_query(other_spark, executors=2)


def test_comet_runs_a_query_in_bound_executors_with_its_threads_and_its_memory(
    site: Site, comet: list[str]
) -> None:
    assert COMET in (ROOT / "docs" / "running.md").read_text(encoding="utf-8")
    words = [*comet, *FIXED, "--conf", "spark.hearth.classDataArchive=false"]
    words += ["--conf", "spark.sql.extensions=com.example.Users"]
    outcome = site.hearth("submit", *words, str(APPS / "comet.py"), str(site.root / "data"))
    report = outcome.report
    assert report["spark"] == version_of(site.spark_home or spark_home())
    ran = {"CometHashAggregate", "CometExchange", "CometSortMergeJoin"}
    assert ran <= set(report["operators"]), "Comet works and shuffles"
    assert not any(name.startswith("Comet") for name in report["sparks"])
    assert report["partitions"] == [2 * 2], "by what the query reads"
    ours, *others = report["extensions"]
    assert ours == "io.hearth.sql.QuerySizedShuffles"
    assert others == ["com.example.Users", "org.apache.comet.CometSparkSessionExtensions"]
    assert report["rows"] == 10 and report["same"], "its answers are Spark's"
    places = site.document("placement.json")["executors"]
    assert [place["verdict"] for place in places] == ["as planned"] * 2
    planned = sorted(place["planned_cpus"] for place in places)
    nodes = {place["planned_memory_nodes"] for place in places}
    for executor in report["executors"]:
        (cpus,) = {where for _, where in executor["threads"]}
        assert cpus in planned
        assert any(comets for comets, _ in executor["threads"]), "its threads are among them"
        bound = sum(n for policy, n in executor["memory"].items() if policy.startswith("bind:"))
        assert bound >= 0.99 * sum(executor["memory"].values())
        assert {p for p in executor["memory"] if ":" in p} == {f"bind:{n}" for n in nodes}
    assert sorted(next(iter(e["threads"]))[1] for e in report["executors"]) == planned


def test_hearth_submit_runs_a_query_on_a_bound_executor_on_another_java(other_java: Site) -> None:
    submits_a_query(other_java, executors=1)


def test_what_starts_from_archives_leaves_the_output_to_the_application(elsewhere: Site) -> None:
    home = elsewhere.spark_home or spark_home()
    flags = driver_flags(home, hearth_jar(), make=True, debug=True)
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
    executors = ui_rows(outcome.report["tab"])[:2]
    assert [row[0] for row in executors] == ["0", "1"]
    assert "2" in [row[1] for row in executors], "the one in the place of the killed"
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
