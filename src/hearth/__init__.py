"""hearth runs Apache Spark on one big NUMA machine the way Spark runs on a cluster."""

__version__ = "0.1.0"


def jar_path() -> str:
    """The jar for the driver's class path: what a notebook's `SparkSession.builder` needs."""
    from hearth.planner.places import hearth_jar

    return str(hearth_jar())
