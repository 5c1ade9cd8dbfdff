"""Spark's driver from a class-data archive: saves most of the time before an application's first
line.

The training run is a small application under `local-numa[1x1]`, in which the executor writes its
own archive too (by the cluster manager), so that both are there for the first real application.
"""

import os
import shlex
import sys
from pathlib import Path

from hearth.launch.children import working_directory
from hearth.launch.settings import conf_folder
from hearth.planner import archive, places

_LIMIT_S = 300
_NAME = "training.py"
_APPLICATION = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("class-data archive").getOrCreate()
spark.range(0, 100, 1, 2).selectExpr("id % 7 as k").groupBy("k").count().collect()
spark.sparkContext.parallelize(range(4), 2).map(lambda x: (x, 1)).reduceByKey(max).collect()
spark.stop()
"""


def driver_flags(
    spark_home: Path, class_path: str, jar: Path, *, make: bool, debug: bool
) -> list[str]:
    """The JVM flags of the driver; none if its class path cannot be archived.

    class_path: the driver's extra class path. make: whether to make a missing archive. An archive
    fits one class path only, so a user who adds to it starts without; so does one with files in
    Spark's configuration directory (the JVM archives classes of jars alone).
    """
    conf = conf_folder(spark_home, os.environ)
    if class_path != str(jar) or (conf.is_dir() and any(conf.iterdir())):
        return []
    try:
        made = _archive(spark_home, jar, conf, make=make, debug=debug)
    except OSError as error:
        print(f"hearth: no class-data archive, so Spark starts slower: {error}", file=sys.stderr)
        made = None
    # JVM messages about an archive go to standard error: standard output is the application's.
    return [*archive.using(made), "-Xlog:disable", "-Xlog:all=warning:stderr"] if made else []


def _archive(spark_home: Path, jar: Path, conf: Path, *, make: bool, debug: bool) -> Path | None:
    java = places.java()
    jars = sorted((spark_home / "jars").glob("*.jar"))

    def training(application: Path) -> archive.Training:
        return archive.Training(
            name="driver",
            key=archive.key([java, jar, *jars], [str(conf)]),
            command=lambda flag: _command(spark_home, jar, application, flag),
            check=lambda flags: _check(spark_home, jar, flags),
            limit_s=_LIMIT_S,
            announcement="making class-data archives for Spark, once (10 to 30 s) ...",
        )

    known = archive.existing(training(Path(_NAME)))
    if known or not make:
        return known
    with working_directory(keep=False, prefix="hearth-training-") as folder:
        application = folder / _NAME
        application.write_text(_APPLICATION)
        return archive.prepared(training(application), debug)


def _check(spark_home: Path, jar: Path, flags: list[str]) -> list[str]:
    submit = str(spark_home / "bin" / "spark-submit")
    words = ["--driver-class-path", str(jar), "--driver-java-options", shlex.join(flags)]
    return [submit, *words, "--version"]


def _command(spark_home: Path, jar: Path, application: Path, flag: str) -> list[str]:
    folder = application.parent
    settings = {
        "spark.driver.extraJavaOptions": shlex.join([flag, f"-Djava.io.tmpdir={folder}"]),
        "spark.hearth.runs.dir": folder / "runs",
        "spark.local.dir": folder,
        "spark.sql.warehouse.dir": folder / "warehouse",
        "spark.executor.memory": "512m",
        "spark.ui.enabled": "false",
    }
    confs = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    program = [str(spark_home / "bin" / "spark-submit"), "--master", "local-numa[1x1]"]
    return [*program, "--driver-class-path", str(jar), *confs, str(application)]
