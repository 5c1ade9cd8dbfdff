"""--engine: which jar a Spark gets, what is refused, and what the user's own jars leave to do."""

import http.client
import os
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from hearth.base.errors import UserError
from hearth.cli.options import read_line
from hearth.spark.engines import PUBLISHED, check, with_jar
from support import Command, a_jar, require, says

MAVEN = os.environ.get("HEARTH_MAVEN", "https://repo1.maven.org/maven2")
PLUGIN = "org/apache/spark/CometPlugin.class"
COMET = PUBLISHED["comet"].coordinates["4.1"]
#: The lines that hearth supports, and the Scala of their jars.
LINES, SCALA = ("4.0", "4.1", "4.2", "4.3"), "2.13"

Spark = Callable[[str], Path]


@pytest.fixture
def spark(tmp_path: Path) -> Spark:
    """A Spark of a version."""

    def made(version: str) -> Path:
        home = tmp_path / f"spark-{version}"
        (home / "jars").mkdir(parents=True)
        (home / "bin").mkdir()
        (home / "bin" / "spark-submit").write_text("")
        (home / "jars" / f"spark-core_2.13-{version}.jar").write_bytes(b"")
        return home

    return made


@pytest.mark.parametrize(
    ("engine", "version", "said"),
    [
        ("comet", "4.3.0", "no Comet for Spark 4.3.0, only for Spark 4.1 … SPARK_HOME … --jars"),
        ("comet", "4.0.5", "no Comet for Spark 4.0.5"),
        ("gluten", "4.1.4", "Gluten is in no Maven repository … gluten.apache.org … --jars"),
        ("rapids", "4.1.4", "no RAPIDS for Spark 4.1.4, only for Spark 4.0.0 … 4.1.3"),
    ],
)
def test_an_engine_that_is_not_made_for_this_spark_is_refused_in_one_line(
    spark: Spark, engine: str, version: str, said: str
) -> None:
    with pytest.raises(UserError) as refused:
        check(engine, read_line(["job.py"]), {}, spark(version))
    assert says(str(refused.value), said)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("words", [["plan"], ["submit", "--dry-run", "job.py"],
                                   ["compare", "--dry-run", "job.py"]])  # fmt: skip
def test_each_command_refuses_it_before_anything_starts(
    hearth: Command, spark: Spark, tmp_path: Path, words: list[str]
) -> None:
    (tmp_path / "job.py").write_text("")
    given = [words[0], "--engine", "comet", *words[1:]]
    done = hearth(*given, environment={"SPARK_HOME": str(spark("4.2.1"))})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("hearth: --engine: no Comet for Spark 4.2.1, only for Spark 4.1")
    assert len(done.stderr.splitlines()) == 1


def test_a_plan_for_another_machine_says_nothing_of_the_spark_here(hearth: Command) -> None:
    machine = ["--machine", "2 sockets, 4 nodes of 128 GB, 6 cores x 8 threads"]
    done = hearth("plan", "--engine", "comet", *machine)
    assert done.returncode == 0, done.stderr
    assert "SQL over Parquet" not in done.stdout


@pytest.mark.parametrize(
    "where", ["--jars", "spark.jars", "--driver-class-path", "folder", "spark", "--packages", "url"]
)
def test_where_the_user_has_the_engine_nothing_is_resolved(
    spark: Spark, tmp_path: Path, where: str
) -> None:
    home = spark("4.3.0")
    mine = a_jar(tmp_path / "mine.jar", PLUGIN)
    if where == "spark":
        a_jar(home / "jars" / "my-comet.jar", PLUGIN)
    words, settings = {
        "--jars": (["--jars", f"other.jar,{mine}"], {}),
        "spark.jars": ([], {"spark.jars": mine.as_uri()}),
        "--driver-class-path": (["--driver-class-path", f"/nowhere:{mine}"], {}),
        "folder": ([], {"spark.driver.extraClassPath": f"{tmp_path}/*"}),
        "spark": ([], {}),
        "--packages": (["--packages", f"a:b:1,{COMET}-SNAPSHOT"], {}),
        "url": (["--jars", "hdfs://there/comet-4.3.jar"], {}),
    }[where]
    line = read_line(["--engine", "comet", *words, "job.py"])
    check("comet", line, settings, home)
    assert with_jar(line, settings, home, fetch=True) == (line, [])


@pytest.mark.parametrize("content", [b"", b"no archive"])
def test_a_jar_without_the_engine_does_not_stand_for_it(
    spark: Spark, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "comet.jar").write_bytes(content)
    line = read_line(["--jars", str(tmp_path / "comet.jar"), "job.py"])
    with pytest.raises(UserError, match=r"no Comet for Spark 4\.3\.0"):
        check("comet", line, {}, spark("4.3.0"))


def test_a_resolved_jar_stands_behind_the_users(spark: Spark, tmp_path: Path) -> None:
    group, artifact, version = COMET.split(":")
    jar = tmp_path / "ivy" / "jars" / f"{group}_{artifact}-{version}.jar"
    jar.parent.mkdir(parents=True)
    a_jar(jar, PLUGIN)
    settings = {"spark.jars.ivy": str(tmp_path / "ivy"), "spark.jars": "of-conf.jar"}
    of_conf = read_line(["--engine", "comet", "job.py"])
    line, notes = with_jar(of_conf, settings, spark("4.1.4"), fetch=True)
    assert (line.last("--jars"), notes) == (f"of-conf.jar,{jar}", [])
    typed = read_line(["--engine", "comet", "--jars", "mine.jar", "job.py"])
    line, _ = with_jar(typed, settings, spark("4.1.3"), fetch=True)
    assert [option.value for option in line.options] == [f"mine.jar,{jar}"]


def test_a_dry_run_names_the_package_that_the_run_would_fetch(spark: Spark, tmp_path: Path) -> None:
    settings = {"spark.jars.ivy": str(tmp_path / "none")}
    typed = read_line(["--engine", "comet", "--packages", "a:b:1", "job.py"])
    line, (note,) = with_jar(typed, settings, spark("4.1.4"), fetch=False)
    assert line.last("--packages") == f"a:b:1,{COMET}"
    assert says(note, f"Comet will be fetched first ({COMET}, 99 MB, once) into … none/jars")


def in_the_index(path: str) -> str | None:
    """A file of Maven Central, or of the mirror in HEARTH_MAVEN; None where it has none."""
    try:
        with urllib.request.urlopen(f"{MAVEN}/{path}", timeout=20) as answer:
            return answer.read(1 << 20).decode()
    except urllib.error.HTTPError as error:
        if error.code == http.client.NOT_FOUND:
            return None
        require("maven", f"{MAVEN} answers {error.code}")
    except OSError as error:
        require("maven", f"{MAVEN} cannot be reached: {error}")
    return None


def versions_in_the_index(group: str, artifact: str) -> list[str]:
    text = in_the_index(f"{group.replace('.', '/')}/{artifact}/maven-metadata.xml") or ""
    return re.findall(r"<version>(.+?)</version>", text)


def test_the_table_of_engines_is_what_the_index_has() -> None:
    """Each entry is there, newest last; where the table has no Comet, the index has none."""
    named = {c for engine in PUBLISHED.values() for c in engine.coordinates.values()}
    newest = {c: versions_in_the_index(*c.split(":")[:2])[-1:] for c in sorted(named)}
    assert newest == {c: [c.split(":")[2]] for c in newest}, "a newer one is out: try it"
    artifact = {line: f"comet-spark-spark{line}_{SCALA}" for line in LINES}
    found = {n for n in LINES if versions_in_the_index("org.apache.datafusion", artifact[n])}
    assert found == set(PUBLISHED["comet"].coordinates), "a Spark has one that the table lacks"
