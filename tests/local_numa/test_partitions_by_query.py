"""Each SQL query's shuffles have as many partitions as the data that it reads call for."""

from local_numa.application import APPS, Site
from support import confs

#: Spark's own number (SQLConf.SHUFFLE_PARTITIONS).
SPARKS = 200


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
    assert found["ran_before"][0] == least, "of a stage that has run its real size counts"
    assert set(found["grown"]) == {SPARKS}, "where a row may become many, the size is not known"
    assert set(found["users"]) == {7}, "the user's number stands"
    assert set(found["sparks"]) == {SPARKS}, "also where it is Spark's"
    assert set(found["asked"]) == {5}, "a number in the query stands"
    assert found["same"], "the answers are the same"


def test_so_they_are_on_bound_executors(site: Site) -> None:
    found = site.run("partitions.py", str(site.root / "data"), master="local-numa[2x1]").report
    assert (found["slots"], set(found["little"]), set(found["users"])) == (2, {4}, {7})
    assert found["same"]
