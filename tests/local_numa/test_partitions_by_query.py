"""Each SQL query's shuffles have as many partitions as the data that it reads call for."""

from local_numa.application import APPS, Site
from support import confs

#: Spark's own number (SQLConf.SHUFFLE_PARTITIONS).
SPARKS = 200

#: Classes that a JVM keeps by Spark's default (spark.sql.codegen.cache.maxEntries).
SPARKS_CACHE = 100


def test_shuffles_of_a_query_are_sized_by_what_it_reads(site: Site) -> None:
    settings = {key: value for key, value in site.settings.items() if key != "spark.jars"}
    words = [*confs(settings), str(APPS / "partitions.py"), str(site.root / "data"), "all"]
    found = site.hearth("submit", *words).report
    least = 2 * found["slots"]
    assert set(found["little"]) == {least}
    assert set(found["ordered"]) == {least} and len(found["ordered"]) == 4
    upper, *sides = found["by_size"]
    assert least <= upper < sides[0] < SPARKS
    assert len(set(sides)) == 1, "equal keys of a join meet"
    assert sides[0] % found["slots"] == 0, "no slot is idle at the end of a stage"
    assert found["ran_before"][0] == least, "of a stage that has run its real size counts"
    assert set(found["grown"]) == {SPARKS}, "where a row may become many, the size is not known"
    assert found["state"] == SPARKS, "a stream's state is in as many partitions when it is larger"
    assert set(found["users"]) == {7}, "the user's number stands"
    assert set(found["sparks"]) == {SPARKS}, "also where it is Spark's"
    assert set(found["asked"]) == {5}, "a number in the query stands"
    assert found["same"], "the answers are the same"


def test_so_they_are_on_bound_executors(site: Site) -> None:
    words = (str(site.root / "data"), "classes")
    found = site.run("partitions.py", *words, master="local-numa[2x1]").report
    assert (found["slots"], set(found["little"]), set(found["users"])) == (2, {4}, {7})
    assert found["same"]
    once, twice = found["generated"]
    assert once > 150, "each projection has a class of its own"
    assert twice == once, "which is there when the query is asked again"
    logs = [log.read_text() for log in (site.only_run() / "executors").glob("*/stderr")]
    classes = [log.count("Code generated in") for log in logs]
    assert len(classes) == 2
    assert all(SPARKS_CACHE < n < 200 for n in classes), f"on executors too: {classes}"


def test_little_data_take_no_more_than_sparks_number_where_a_plan_has_more(site: Site) -> None:
    """As on many slots: Spark takes so many for the tasks that run at once."""
    settings = {
        "spark__default__parallelism": "150",
        "spark__hearth__sql__partitionsByQuery": "true",
        "spark__sql__shuffle__partitions": "300",
        "spark__hearth__internal__shufflePartitions": "300",
    }
    data = str(site.root / "data")
    found = site.run("partitions.py", data, master="local[2]", **settings).report
    assert set(found["little"]) == {SPARKS}
    assert found["busy"][1:] == [300, 300], "two for each slot, where Spark would not merge them"
    assert set(found["users"]) == {7}
    assert found["same"]
