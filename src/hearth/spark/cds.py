"""Spark's driver from a class-data archive: saves most of the time before an application's first
line, and much of its first queries.

There is one for drivers with hearth's jar and one for plain Spark (a native plan, whose class path
ends with the jar if it has it), each made by a small application. With the jar in front that runs
under `local-numa[1x1]`, in which the executor writes its own archive too (by the cluster manager),
so that both are there for the first real application.

A JVM takes an archive where its class path begins as that of the training run did, and archives
classes of jars alone. Spark puts its configuration directory before its jars, so the driver gets
these once more, in front: files of that directory are still found, unless a jar has one of their
name.
"""

import os
import re
import shlex
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

from hearth.base.private_files import private_directory
from hearth.base.processes import detached, start_ticks
from hearth.base.temporary import working_directory
from hearth.machine import class_data, paths
from hearth.spark.conf import conf_folder

_CLASS_PATH = "spark.driver.extraClassPath"
_OPTIONS = "spark.driver.extraJavaOptions"
_LIMIT_S = 300
_NAME = "training.py"
#: What makes archives afterwards; a module that is run, so that `ps` shows what it is.
_MAKER = "hearth.spark.archive_maker"
_APPLICATION = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("class-data archive").getOrCreate()
keyed = spark.range(0, 100, 1, 2).selectExpr("id", "id % 7 as k", "cast(id as string) as s")
keyed.write.parquet(sys.argv[1])
read = spark.read.parquet(sys.argv[1])
read.groupBy("k").count().join(read, "k").orderBy("id").limit(3).collect()
spark.read.text(sys.argv[1]).count()
spark.sparkContext.parallelize(range(4), 2).map(lambda x: (x, 1)).reduceByKey(max).collect()
spark.stop()
"""
#: What users keep in Spark's configuration directory, and no jar of Spark's has at its root
#: (checked when an archive is made). With another file there, the order of the class path matters.
_CONF_FILES = re.compile(
    r"\A(?:spark-defaults\.conf|spark-env\.sh|log4j2\.(properties|xml|ya?ml|json)|metrics\.properties"
    r"|fairscheduler\.xml|workers|(core|hdfs|hive|mapred|yarn)-site\.xml|[^/]*\.template)"
)


def class_path(spark_home: Path, jar: Path | None) -> str:
    """Return the beginning of the class path of a driver with an archive. jar: hearth's, or None.

    slf4j-api comes before the other jars, as Spark has it (SPARK-47491).
    """
    jars = spark_home / "jars"
    words = [*filter(None, [jar]), *sorted(jars.glob("slf4j-api-*.jar")), jars / "*"]
    return ":".join(map(str, words))


def driver_flags(
    spark_home: Path, jar: Path | None, *, make: bool, debug: bool, limit_s: int = _LIMIT_S
) -> list[str]:
    """Return the JVM flags of a driver whose class path begins with `class_path`; none without an
    archive.

    make: whether to make a missing archive.
    """
    if not _conf_is_plain(spark_home):
        return []
    try:
        made = class_data.existing(_training(spark_home, jar, Path(), limit_s))
        if made is None and make:
            # Not in TMPDIR: that may be on a file system of a job that is over.
            cache = private_directory(paths.cache_home())
            with working_directory(False, "hearth-training-", cache) as folder:
                made = class_data.prepared(_training(spark_home, jar, folder, limit_s), debug)
    except OSError as error:
        print(
            f"hearth: no class-data archive, so Spark starts more slowly: {error}", file=sys.stderr
        )
        made = None
    # What a JVM says goes to standard error: standard output is the application's. From Java 24 on
    # it calls each of Spark's module options an error in an archive, which it uses nevertheless.
    logging = ["-Xlog:disable", "-Xlog:all=warning,cds*=off:stderr"]
    return [*class_data.using(made), *logging] if made else []


def settings(spark_home: Path, given: Mapping[str, str]) -> dict[str, str]:
    """Return settings with which a plain driver starts from its archive; none where there is no
    archive.

    given: the user's settings. None either where these give the driver a class path, as an archive
    fits one class path, or JVM options, which stay where Spark reads them.
    """
    if given.get(_OPTIONS) or not is_wanted(given, given.get(_CLASS_PATH, "")):
        return {}
    flags = driver_flags(spark_home, None, make=False, debug=False)
    path = class_path(spark_home, None)
    return {_CLASS_PATH: path, _OPTIONS: shlex.join(flags)} if flags else {}


def is_wanted(given: Mapping[str, str], theirs: str) -> bool:
    """Return whether a driver may start from an archive.

    Theirs: the class path that the user gives it.
    """
    return not theirs and given.get("spark.hearth.classDataArchive", "true").lower() == "true"


def is_missing(spark_home: Path, jar: Path | None) -> bool:
    """Return whether an archive could be made and has not been.

    False where making it has failed.
    """
    try:
        return _conf_is_plain(spark_home) and class_data.is_missing(
            _training(spark_home, jar, Path(), _LIMIT_S)
        )
    except OSError:
        return False


def is_news(spark_home: Path, jar: Path | None) -> bool:
    """Return whether the user has not been told yet that this archive will be made."""
    try:
        training = _training(spark_home, jar, Path(), _LIMIT_S)
        mark = private_directory(paths.cache_home()) / f".told-{training.key}"
        mark.touch(0o600, exist_ok=False)
    except OSError:  # told before, or there is no place to remember it
        return False
    return True


def make_afterwards(spark_home: Path, jar: Path | None, owner: int) -> None:
    """Make the archives when the process `owner` is over, so that no application waits for them: in
    a process of its own, see `archive_maker`.
    """
    words = [str(owner), str(start_ticks(owner)), str(_LIMIT_S), str(spark_home)]
    maker = [sys.executable, "-P", "-m", _MAKER]
    detached([*maker, *words, *([str(jar)] if jar else [])])


def _conf_is_plain(spark_home: Path) -> bool:
    """Return whether Spark's configuration directory may come behind its jars."""
    conf = conf_folder(spark_home, os.environ)
    try:
        return not conf.is_dir() or all(_CONF_FILES.fullmatch(file.name) for file in conf.iterdir())
    except OSError:  # not to be listed by this user, though Spark may open its files
        return False


def _shadowing(jars: list[Path]) -> str:
    """Return why a jar would hide a file of the configuration directory; empty where none does."""
    for jar in jars:
        with zipfile.ZipFile(jar) as entries:
            for name in entries.namelist():
                if _CONF_FILES.fullmatch(name):
                    return f"{jar} has a file '{name}', which would come before the user's"
    return ""


def _training(
    spark_home: Path, jar: Path | None, folder: Path, limit_s: int
) -> class_data.Training:
    """Return the training run; folder: where it may write."""
    java = paths.java()
    jars = sorted((spark_home / "jars").glob("*.jar"))
    ours = [jar] if jar else []
    return class_data.Training(
        name="driver",
        key=class_data.key([java, *ours, *jars], [_APPLICATION]),
        command=lambda flag: _command(spark_home, jar, folder, flag),
        check=lambda flags: _check(spark_home, jar, flags),
        limit_s=limit_s,
        announcement="making class-data archives for Spark, once (it can take two minutes) ...",
        obstacle=lambda: _shadowing(jars),
    )


def _check(spark_home: Path, jar: Path | None, flags: list[str]) -> list[str]:
    submit = str(spark_home / "bin" / "spark-submit")
    words = ["--driver-class-path", class_path(spark_home, jar)]
    return [submit, *words, "--driver-java-options", shlex.join(flags), "--version"]


def _command(spark_home: Path, jar: Path | None, folder: Path, flag: str) -> list[str]:
    application = folder / _NAME
    application.write_text(_APPLICATION)
    (folder / "events").mkdir(exist_ok=True)
    settings = {
        "spark.driver.extraJavaOptions": shlex.join([flag, f"-Djava.io.tmpdir={folder}"]),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder / "events",
        "spark.hearth.runs.dir": folder / "runs",
        # Applications that start meanwhile plan as if it were not there.
        "spark.hearth.binding": "off",
        "spark.hearth.neighbours": "ignore",
        "spark.local.dir": folder,
        "spark.sql.warehouse.dir": folder / "warehouse",
        "spark.executor.memory": "512m",
        "spark.ui.port": "0",
    }
    confs = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    # The configuration directory is not part of what is archived; nobody connects from outside.
    outside = ["env", f"SPARK_CONF_DIR={folder / 'none'}", "SPARK_LOCAL_IP=127.0.0.1"]
    program = [*outside, str(spark_home / "bin" / "spark-submit")]
    words = ["--master", "local-numa[1x1]" if jar else "local[2]"]
    path = ["--driver-class-path", class_path(spark_home, jar)]
    return [*program, *words, *path, *confs, str(application), str(folder / "table")]
