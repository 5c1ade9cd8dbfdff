"""Spark sessions under `local-numa` for notebooks and programs that plain Python starts."""

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hearth.base.errors import UserError
from hearth.machine import paths

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MANAGER = "org.apache.spark.scheduler.cluster.numa.LocalNumaClusterManager"


def builder(master: str, depth: int = 2) -> "SparkSession.Builder":
    """Return Spark's own builder with the master and hearth's jar set.

    depth: calls from the user's own line to this one; a warning names that line.
    Raises UserError where this process has a Spark to which they cannot be given any more.
    """
    paths.java()
    paths.check_spark(paths.spark_home())
    from pyspark.sql import SparkSession

    _look_at_what_runs(master, depth)
    named = SparkSession.Builder().master(master)
    return named.config("spark.jars", str(paths.hearth_jar()))


def session(app_name: str, master: str, conf: Mapping[str, str]) -> "SparkSession":
    """Return the session of `builder`, with the settings of `conf`."""
    named = builder(master, depth=3).appName(app_name)
    for key, value in conf.items():
        named = named.config(key, value)
    return named.getOrCreate()


def _look_at_what_runs(master: str, depth: int) -> None:
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
            stacklevel=depth + 2,
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
