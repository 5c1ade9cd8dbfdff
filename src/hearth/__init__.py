"""hearth runs Apache Spark on one big NUMA machine the way Spark runs on a cluster.

What `__all__` names is hearth's public API (docs/api.md); all modules below are private to hearth.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing's, without its import: `import hearth` is quick
if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from hearth.analysis.document import Analysis
    from hearth.api import Run, RunningApplication, compare, load_run, plan, status, topology
    from hearth.base.absent import Absent
    from hearth.base.errors import UserError
    from hearth.base.rows import Rows
    from hearth.machine.plan import Plan
    from hearth.machine.topology import Topology
    from hearth.studies.compare.result import Compared
    from hearth.studies.engine.statistics import Ratio, paired_ratio

__version__ = "0.1.0"
__all__ = [
    "Absent", "Analysis", "Compared", "Plan", "Ratio", "Rows", "Run", "RunningApplication",
    "Topology", "UserError", "builder", "compare", "jar_path", "load_run", "paired_ratio", "plan",
    "session", "status", "topology",
]  # fmt: skip
#: Where those are that this module does not define: they are imported when they are first used.
_HOMES = {
    "Absent": "hearth.base.absent",
    "Analysis": "hearth.analysis.document",
    "Compared": "hearth.studies.compare.result",
    "Plan": "hearth.machine.plan",
    "Ratio": "hearth.studies.engine.statistics",
    "Rows": "hearth.base.rows",
    "Topology": "hearth.machine.topology",
    "UserError": "hearth.base.errors",
    "paired_ratio": "hearth.studies.engine.statistics",
    **dict.fromkeys(
        ("Run", "RunningApplication", "compare", "load_run", "plan", "status", "topology"),
        "hearth.api",
    ),
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'hearth' has no attribute '{name}'")
    import importlib

    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


def jar_path() -> str:
    """Return the jar for the driver's class path, as a notebook's `SparkSession.builder` needs."""
    from hearth.machine.paths import hearth_jar

    return str(hearth_jar())


def builder(master: str = "local-numa") -> SparkSession.Builder:
    """Return Spark's own `SparkSession.Builder`, with a master of hearth's and its jar set.

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
    """Return a plain SparkSession under `local-numa`, for notebooks; `conf` holds Spark's settings.

    The master's forms and the errors are those of `builder`.
    """
    from hearth.spark import session as notebook

    return notebook.session(app_name, master, conf or {})
