"""hearth runs Apache Spark on one big NUMA machine the way Spark runs on a cluster.

What `__all__` names is hearth's public API (docs/guide.md); all modules below are private to it.
"""

TYPE_CHECKING = False  # typing's, without its import: `import hearth` is quick
if TYPE_CHECKING:
    from hearth.analysis.document import Analysis
    from hearth.api import Run, RunningApplication, compare, load_run, plan, status, topology
    from hearth.base.absent import Absent
    from hearth.base.errors import UserError
    from hearth.base.rows import Rows
    from hearth.machine.plan import Plan
    from hearth.machine.topology import Topology
    from hearth.spark.session import builder, jar_path, session
    from hearth.studies.compare.result import Compared
    from hearth.studies.engine.statistics import Ratio, paired_ratio

__version__ = "0.1.0"
__all__ = [
    "Absent", "Analysis", "Compared", "Plan", "Ratio", "Rows", "Run", "RunningApplication",
    "Topology", "UserError", "builder", "compare", "jar_path", "load_run", "paired_ratio", "plan",
    "session", "status", "topology",
]  # fmt: skip
#: Where they are: imported when they are first used.
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
    **dict.fromkeys(("builder", "jar_path", "session"), "hearth.spark.session"),
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
