"""hearth runs Apache Spark on one big NUMA machine the way Spark runs on a cluster."""

__version__ = "0.1.0"
