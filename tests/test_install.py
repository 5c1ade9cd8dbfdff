"""hearth in a Spark and in a notebook: `hearth install`, `hearth.session`, `hearth.builder`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hearth.base.errors import UserError
from hearth.machine.paths import hearth_jar, spark_home, wire_jar
from hearth.spark import jar_link
from support import ROOT, Command, driver_settings, environment

SQL = ROOT / "tests" / "local_numa" / "apps" / "sql.py"


@pytest.fixture
def spark(tmp_path: Path) -> Path:
    """A Spark of one's own: the installed one's programs and jars behind links."""
    home = tmp_path / "spark"
    (home / "jars").mkdir(parents=True)
    for name in ("bin", "python"):
        (home / name).symlink_to(spark_home() / name)
    for jar in (spark_home() / "jars").glob("*.jar"):
        (home / "jars" / jar.name).symlink_to(jar)
    return home


def links(home: Path) -> dict[str, str]:
    return {link.name: str(link.readlink()) for link in (home / "jars").glob("hearth-*")}


def test_install_links_the_jars_once_and_uninstall_takes_them_away(
    hearth: Command, spark: Path
) -> None:
    jars = [hearth_jar(), wire_jar()]
    first, second = (spark / "jars" / jar.name for jar in jars)
    done = hearth("install", "--spark-home", str(spark))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"linked {first} and {second}: --master local-numa now works")
    assert links(spark) == {jar.name: str(jar) for jar in jars}
    assert "are already there" in hearth("install", "--spark-home", str(spark)).stdout
    assert hearth("install", "--undo", "--spark-home", str(spark)).stdout == (
        f"removed {first}, {second}\n"
    )
    assert links(spark) == {}
    again = hearth("install", "--undo", "--spark-home", str(spark))
    assert (again.returncode, "nothing to remove" in again.stdout) == (0, True)


def test_an_older_link_is_replaced_and_named(spark: Path) -> None:
    (spark / "jars" / "hearth-spark_2.13-0.0.9.jar").symlink_to("/gone/hearth-spark_2.13-0.0.9.jar")
    said = jar_link.install(spark, [hearth_jar()])
    assert "instead of the link to /gone/hearth-spark_2.13-0.0.9.jar" in said
    assert list(links(spark)) == [hearth_jar().name]


def test_a_jar_that_somebody_put_there_is_left_to_him(spark: Path) -> None:
    own = spark / "jars" / "hearth-spark_2.13-0.0.9.jar"
    own.write_text("a jar")
    for act in (lambda: jar_link.install(spark, [hearth_jar()]), lambda: jar_link.uninstall(spark)):
        with pytest.raises(UserError, match=r"0\.0\.9\.jar' is not a link, so 'hearth install'"):
            act()
    assert own.read_text() == "a jar"


def test_another_users_link_stays_and_its_owner_is_named(
    spark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar_link.install(spark, [hearth_jar()])
    newer = hearth_jar().with_name("hearth-spark_2.13-9.9.9.jar")
    monkeypatch.setattr(os, "geteuid", lambda: 4321)
    for act in (lambda: jar_link.install(spark, [newer]), lambda: jar_link.uninstall(spark)):
        with pytest.raises(
            UserError, match=r"is a link to .* that belongs to root: keep using it, or ask root"
        ):
            act()
    assert "is already there" in jar_link.install(spark, [hearth_jar()])


def test_a_spark_that_cannot_be_written_is_said_with_what_to_do(
    spark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may write anywhere: what the kernel answers to others is given here."""

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    with pytest.raises(
        UserError, match=r"you cannot change .*/jars' .Permission denied.: ask root"
    ):
        jar_link.install(spark, [hearth_jar()])


def test_a_folder_without_spark_is_refused(hearth: Command, tmp_path: Path) -> None:
    done = hearth("install", "--spark-home", str(tmp_path))
    assert (done.returncode, "no bin/spark-submit in" in done.stderr) == (2, True)


@pytest.mark.spark
def test_where_hearth_is_installed_the_master_alone_is_enough(spark: Path, tmp_path: Path) -> None:
    jar_link.install(spark, [hearth_jar()])
    words = ["--master", "local-numa[1x1]", "--conf", "spark.hearth.neighbours=ignore"]
    words += ["--conf", "spark.hearth.classDataArchive=false", str(SQL)]
    done = subprocess.run(
        [str(spark / "bin" / "spark-submit"), *words],
        env=environment(tmp_path / "state", SPARK_HOME=str(spark), PYSPARK_PYTHON=sys.executable),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert len(json.loads(done.stdout.partition("RESULT ")[2])["days"]) == 7
    assert "as planned" in done.stderr


_NOTEBOOK = """
import json, warnings
import hearth
from pyspark.sql import SparkSession

small = json.load(open("small.json"))
spark = hearth.session("mine", master="local-numa[2x1]", conf=small)
print(type(spark) is SparkSession, spark.range(100).count(), spark.sparkContext.appName)
print(spark.sparkContext._jsc.sc().getExecutorIds().size())
with warnings.catch_warnings(record=True) as shown:
    warnings.simplefilter("always")
    assert hearth.session(master="local-numa[2x1]") is spark
print(shown[0].filename == __file__, shown[0].message)
try:
    hearth.builder("local-numa[1x1]")
except hearth.UserError as problem:
    print(problem)
spark.stop()
print(hearth.builder("local-numa[1x1]").config(map=small).getOrCreate().range(7).count())
"""
_TOO_LATE = """
import json
import hearth
from pyspark.sql import SparkSession

small = json.load(open("small.json"))
spark = SparkSession.builder.master("local[1]").config(map=small).getOrCreate()
for end in (None, spark.stop):
    if end:
        end()
    try:
        hearth.session()
    except hearth.UserError as problem:
        print(problem)
"""


def run_program(folder: Path, text: str) -> list[str]:
    program = folder / "notebook.py"
    program.write_text(text)
    small = {"spark.hearth.neighbours": "ignore", "spark.ui.enabled": "false"}
    small |= driver_settings(spark_home(), None)  # without hearth's jar, which it is to bring
    (folder / "small.json").write_text(json.dumps(small))
    done = subprocess.run(
        [sys.executable, str(program)],
        env=environment(folder / "state"),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.splitlines()


@pytest.mark.spark
def test_a_notebook_gets_a_plain_session_and_hears_of_one_that_runs_already(tmp_path: Path) -> None:
    plain, executors, warned, refused, again = run_program(tmp_path, _NOTEBOOK)
    assert (plain, executors, again) == ("True 100 mine", "2", "7")
    assert warned.startswith("True a SparkSession with master local-numa[2x1] is already running")
    assert refused.startswith("a SparkSession with master local-numa[2x1] is already running")
    assert "so local-numa[1x1] cannot be used: " in refused


@pytest.mark.spark
def test_a_notebook_whose_spark_began_without_hearth_is_told_to_restart(tmp_path: Path) -> None:
    running, stopped = run_program(tmp_path, _TOO_LATE)
    assert running.startswith("a SparkSession with master local[1] is already running")
    assert stopped.startswith("an earlier SparkSession of this process started a JVM without")
    assert all("restart the kernel" in said for said in (running, stopped))


def test_importing_hearth_imports_no_spark_and_little_else() -> None:
    code = "import sys; before = set(sys.modules); import hearth; print(*set(sys.modules) - before)"
    command = [sys.executable, "-S", "-c", code]
    source = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=source)
    assert set(done.stdout.split()) == {"hearth"}
