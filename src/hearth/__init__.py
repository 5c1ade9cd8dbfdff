"""hearth runs Apache Spark on one big NUMA machine the way Spark runs on a cluster."""

from __future__ import annotations

TYPE_CHECKING = False  # typing's, without its import: `import hearth` is quick
if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

__version__ = "0.1.0"


def jar_path() -> str:
    """The jar for the driver's class path: what a notebook's `SparkSession.builder` needs."""
    from hearth.machine.paths import hearth_jar

    return str(hearth_jar())


def builder(master: str = "local-numa") -> SparkSession.Builder:
    """Spark's own `SparkSession.Builder`, with a master of hearth's and its jar set.

    master: `local-numa` (the plan decides), `local-numa[4]` (executors) or `local-numa[4x12]`
    (executors x cores). Raises UserError where Spark or Java is missing, or where a SparkSession
    with another master runs already; warns where one with this master does.
    """
    from hearth.spark import session as notebook

    return notebook.builder(master)


def session(
    app_name: str = "hearth",
    *,
    master: str = "local-numa",
    conf: Mapping[str, str] | None = None,
) -> SparkSession:
    """A plain SparkSession under `local-numa`, for notebooks; `conf` holds Spark's settings.

    The master's forms and the errors are those of `builder`.
    """
    from hearth.spark import session as notebook

    return notebook.session(app_name, master, conf or {})
