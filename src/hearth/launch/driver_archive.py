"""Spark's driver from a class-data archive: saves most of the time before an application's first
line.

The training run is a small application under `local-numa[1x1]`, in which the executor writes its
own archive too (by the cluster manager), so that both are there for the first real application.
"""

import fcntl
import os
import shlex
import sys
import time
from pathlib import Path

from hearth.launch.children import working_directory
from hearth.launch.settings import conf_folder
from hearth.model.private import private_directory
from hearth.model.processes import detached, is_alive, start_ticks
from hearth.planner import archive, places

_LIMIT_S = 300
_NAME = "training.py"
#: At the lowest priority a training run gets what others leave.
_IDLE_LIMIT_S = 1800
_WAIT_S = 1.0
_APPLICATION = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("class-data archive").getOrCreate()
spark.range(0, 100, 1, 2).selectExpr("id % 7 as k").groupBy("k").count().collect()
spark.sparkContext.parallelize(range(4), 2).map(lambda x: (x, 1)).reduceByKey(max).collect()
spark.stop()
"""


def driver_flags(
    spark_home: Path,
    class_path: str,
    jar: Path,
    *,
    make: bool,
    debug: bool,
    limit_s: int = _LIMIT_S,
) -> list[str]:
    """The JVM flags of the driver; none if its class path cannot be archived.

    class_path: the driver's extra class path. make: whether to make a missing archive. An archive
    fits one class path only, so a user who adds to it starts without; so does one with files in
    Spark's configuration directory (the JVM archives classes of jars alone).
    """
    if not _archivable(spark_home, class_path, jar):
        return []
    try:
        made = archive.existing(_training(spark_home, jar, Path(), limit_s))
        if made is None and make:
            with working_directory(keep=False, prefix="hearth-training-") as folder:
                made = archive.prepared(_training(spark_home, jar, folder, limit_s), debug)
    except OSError as error:
        print(f"hearth: no class-data archive, so Spark starts slower: {error}", file=sys.stderr)
        made = None
    # JVM messages about an archive go to standard error: standard output is the application's.
    return [*archive.using(made), "-Xlog:disable", "-Xlog:all=warning:stderr"] if made else []


def is_missing(spark_home: Path, class_path: str, jar: Path) -> bool:
    """Whether an archive could be made and has not been; false where making it has failed."""
    try:
        return _archivable(spark_home, class_path, jar) and archive.is_missing(
            _training(spark_home, jar, Path(), _LIMIT_S)
        )
    except OSError:
        return False


def make_afterwards(spark_home: Path, class_path: str, jar: Path) -> None:
    """Makes the archives when this process, whatever it becomes, is over, so that no application
    waits for them: on idle CPU time, by one process at a time.
    """
    owner, ticks = os.getpid(), start_ticks(os.getpid())

    def work() -> None:
        with (private_directory(places.cache_home()) / ".training.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            while ticks is not None and is_alive(owner, ticks):
                time.sleep(_WAIT_S)
            driver_flags(spark_home, class_path, jar, make=True, debug=False, limit_s=_IDLE_LIMIT_S)

    detached(work)


def _archivable(spark_home: Path, class_path: str, jar: Path) -> bool:
    conf = conf_folder(spark_home, os.environ)
    return class_path == str(jar) and not (conf.is_dir() and any(conf.iterdir()))


def _training(spark_home: Path, jar: Path, folder: Path, limit_s: int) -> archive.Training:
    """folder: where the training run may write."""
    java = places.java()
    jars = sorted((spark_home / "jars").glob("*.jar"))
    conf = conf_folder(spark_home, os.environ)
    return archive.Training(
        name="driver",
        key=archive.key([java, jar, *jars], [str(conf)]),
        command=lambda flag: _command(spark_home, jar, folder / _NAME, flag),
        check=lambda flags: _check(spark_home, jar, flags),
        limit_s=limit_s,
        announcement="making class-data archives for Spark, once (it can take two minutes) ...",
    )


def _check(spark_home: Path, jar: Path, flags: list[str]) -> list[str]:
    submit = str(spark_home / "bin" / "spark-submit")
    words = ["--driver-class-path", str(jar), "--driver-java-options", shlex.join(flags)]
    return [submit, *words, "--version"]


def _command(spark_home: Path, jar: Path, application: Path, flag: str) -> list[str]:
    folder = application.parent
    application.write_text(_APPLICATION)
    settings = {
        "spark.driver.extraJavaOptions": shlex.join([flag, f"-Djava.io.tmpdir={folder}"]),
        "spark.hearth.runs.dir": folder / "runs",
        # Applications that start meanwhile plan as if it were not there.
        "spark.hearth.binding": "off",
        "spark.hearth.neighbours": "ignore",
        "spark.local.dir": folder,
        "spark.sql.warehouse.dir": folder / "warehouse",
        "spark.executor.memory": "512m",
        "spark.ui.enabled": "false",
    }
    confs = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    program = [str(spark_home / "bin" / "spark-submit"), "--master", "local-numa[1x1]"]
    return [*program, "--driver-class-path", str(jar), *confs, str(application)]
