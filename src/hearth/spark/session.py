"""Spark sessions under `local-numa` for notebooks and programs that plain Python starts."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hearth.base.errors import UserError
from hearth.machine import paths
from hearth.spark.warm import attach

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MANAGER = "org.apache.spark.scheduler.cluster.numa.LocalNumaClusterManager"


def jar_path() -> str:
    """Return the jar for the driver's class path, as a notebook's `SparkSession.builder` needs."""
    return str(paths.hearth_jar())


def builder(master: str = "local-numa") -> SparkSession.Builder:
    """Return Spark's own `SparkSession.Builder`, with a master of hearth's and its jar set.

    master: `local-numa` (the plan decides), `local-numa[4]` (executors) or `local-numa[4x12]`
    (executors x cores). Raises UserError where Spark or Java is missing, or where a SparkSession
    with another master runs already; warns where one with this master does.
    """
    return _named(master)


def session(
    app_name: str = "hearth",
    *,
    master: str = "local-numa",
    conf: Mapping[str, str] | None = None,
    warm: bool = False,
) -> SparkSession:
    """Return a plain SparkSession under `local-numa`, for notebooks; `conf` holds Spark's settings.

    The master's forms and the errors are those of `builder`. warm: a Spark Connect session of a
    server that stays for the next program, as of `hearth submit --warm`.
    """
    if warm:
        return _warm(app_name, master, conf or {})
    named = _named(master).appName(app_name)
    if (conf or {}).get("spark.shuffle.manager") == paths.WIRE_SHUFFLE_MANAGER:
        named = named.config("spark.jars", f"{jar_path()},{paths.wire_jar()}")
    for key, value in (conf or {}).items():
        named = named.config(key, value)
    return named.getOrCreate()


def _warm(app_name: str, master: str, conf: Mapping[str, str]) -> SparkSession:
    """Have hearth's command find or start the server: it forks, which a notebook's threads forbid.

    The keeper releases the session when this process is over.
    """
    words = ["submit", "--warm", "--reach"]
    words += ["--master", master] if master != "local-numa" else []
    words += [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
    done = subprocess.run(
        [sys.executable, "-m", "hearth.cli.main", *words, "session.py"],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise UserError(done.stderr.strip().rpartition("\n")[2].removeprefix("hearth: "))
    print(done.stderr, file=sys.stderr, end="")
    from pyspark.sql import SparkSession

    server = attach(done.stdout.strip())
    os.environ.update(server.environment)
    os.environ.pop("SPARK_REMOTE")  # for this session alone
    url = server.environment["SPARK_REMOTE"]
    return SparkSession.Builder().remote(url).appName(app_name).getOrCreate()


def _named(master: str) -> SparkSession.Builder:
    paths.java()
    paths.check_spark(paths.spark_home())
    from pyspark.sql import SparkSession

    _look_at_what_runs(master)
    return SparkSession.Builder().master(master).config("spark.jars", jar_path())


def _look_at_what_runs(master: str) -> None:
    from pyspark import SparkContext

    running = SparkContext._active_spark_context
    if running is not None and running.master != master:
        raise UserError(
            f"a SparkSession with master {running.master} is already running in this process, so "
            f"{master} cannot be used: restart the kernel, and create hearth's session first"
        )
    if running is not None:
        warnings.warn(
            f"a SparkSession with master {master} is already running in this process, and is "
            "returned unchanged: stop() it first to change its settings",
            stacklevel=4,  # the line that calls `builder` or `session`
        )
    elif SparkContext._jvm is not None and not _known(SparkContext._jvm):
        raise UserError(
            "an earlier SparkSession of this process started a JVM without local-numa, which a "
            "new session would use: restart the kernel, and create hearth's session first"
        )


def _known(jvm: object) -> bool:
    """Return whether a running JVM has hearth's jar."""
    from py4j.protocol import Py4JJavaError

    try:
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()  # type: ignore[attr-defined]
        loader.loadClass(_MANAGER)
    except Py4JJavaError:
        return False
    return True
