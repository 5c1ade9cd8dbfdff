"""Each SQL query's shuffles have as many partitions as the data that it reads call for."""

import os
import re

from local_numa.application import APPS, Site
from support import confs

#: Spark's own number (SQLConf.SHUFFLE_PARTITIONS).
SPARKS = 200

#: Generated queries, as of property tests (docs/development.md).
CASES = int(os.environ.get("HEARTH_PROPERTIES", "6"))
FIRST = int(os.environ.get("HEARTH_SEED", "1"))

#: Classes that a JVM keeps by Spark's default (spark.sql.codegen.cache.maxEntries).
SPARKS_CACHE = 100


def test_shuffles_of_a_query_are_sized_by_what_it_reads(site: Site) -> None:
    settings = {key: value for key, value in site.settings.items() if key != "spark.jars"}
    words = [*confs(settings), str(APPS / "partitions.py"), str(site.root / "data"), "all"]
    partitions = site.hearth("submit", *words).report
    least = 2 * partitions["slots"]
    assert set(partitions["little"]) == {least}
    assert set(partitions["ordered"]) == {least} and len(partitions["ordered"]) == 4
    _, *sides = partitions["by_size"]
    assert least < sides[0] < SPARKS
    assert len(set(sides)) == 1, "equal keys of a join meet"
    assert sides[0] % partitions["slots"] == 0, "no slot is idle at the end of a stage"
    assert partitions["ran_before"][0] < sides[0] / 4, (
        "of a stage that has run its real size counts"
    )
    assert set(partitions["grown"]) == {SPARKS}, (
        "where a row may become many, the size is not known"
    )
    assert set(partitions["multiplied"]) == {least}, "a join by key is guessed"
    assert set(partitions["texts"]) == {SPARKS}, "nor where a text is made"
    assert set(partitions["sketched"]) == {SPARKS}, "nor of a sketch"
    assert set(partitions["listed"]) == {least}, "a list has what it is made from"
    for rows_mb, wide in ((40, "widened"), (6, "texts_read"), (6, "texts_kept")):
        assert all(n >= rows_mb * 1e6 / 400e3 for n in partitions[wide]), (
            f"{wide}: {partitions[wide]}"
        )
    assert set(partitions["unmerged"]) == {SPARKS}, "what Spark may not merge has Spark's number"
    assert partitions["state"] == SPARKS, (
        "a stream's state is in as many partitions when it is larger"
    )
    assert set(partitions["users"]) == {7}, "the user's number stands"
    assert set(partitions["sparks"]) == {SPARKS}, "also where it is Spark's"
    assert set(partitions["asked"]) == {5}, "a number in the query stands"
    assert partitions["same"], "the answers are the same"


def test_so_they_are_on_bound_executors(site: Site) -> None:
    words = (str(site.root / "data"), "classes")
    # The first is the RDDs' number, which no slot follows.
    settings = {"spark__default__parallelism": "50", "spark__shuffle__readHostLocalDisk": "false"}
    partitions = site.run("partitions.py", *words, master="local-numa[2x1]", **settings).report
    assert (set(partitions["little"]), set(partitions["users"])) == ({4}, {7})
    assert partitions["same"]
    once, twice = partitions["generated"]
    assert once > 150, "each projection has a class of its own"
    assert twice == once, "which is there when the query is asked again"
    logs = [log.read_text() for log in (site.only_run() / "executors").glob("*/stderr")]
    classes = [log.count("Code generated in") for log in logs]
    assert len(classes) == 2
    sources = re.findall(r"(\d+) \([^)]*\) (host-local|remote)\b", "".join(logs))
    read = {source: sum(int(n) for n, s in sources if s == source) for _, source in sources}
    assert read == {"host-local": 0, "remote": read["remote"]} and read["remote"], "as was asked"
    assert all(SPARKS_CACHE < n < 200 for n in classes), f"on executors too: {classes}"


def test_little_data_take_no_more_than_sparks_number_where_a_plan_has_more(site: Site) -> None:
    """As on many slots: Spark takes so many for the tasks that run at once."""
    settings = {
        "spark__task__cpus": "2",
        "spark__driver__memory": "2g",
        "spark__hearth__sql__partitionsByQuery": "true",
        "spark__sql__shuffle__partitions": "500",
        "spark__hearth__internal__shufflePartitions": "500",
    }
    data = str(site.root / "data")
    partitions = site.run("partitions.py", data, master="local[220]", **settings).report
    assert set(partitions["little"]) == {SPARKS}
    assert partitions["busy"][1:] == [220, 220], (
        "two for each slot, where Spark would not merge them"
    )
    assert set(partitions["users"]) == {7}
    assert partitions["same"]


def test_a_job_that_plain_spark_completes_completes_with_the_same_answer(site: Site) -> None:
    """Of generated queries on skewed data, in one JVM of little memory."""
    outcome = site.run(
        "skewed.py",
        *(str(site.root / "skewed"), str(FIRST), str(CASES)),
        master="local[2]",
        spark__driver__memory="600m",
        spark__hearth__sql__partitionsByQuery="true",
    )
    completed = [case for case in outcome.report["cases"] if "rows" in case["sparks"]]
    for case in completed:
        assert case["sparks"]["rows"] == case["ours"].get("rows"), f"HEARTH_SEED={case['seed']}"
        assert set(case["sparks"]["partitions"]) <= {SPARKS}
    assert len(completed) > CASES / 2
    sized = [min(case["ours"]["partitions"], default=SPARKS) for case in completed]
    assert CASES == 1 or min(sized) < SPARKS
