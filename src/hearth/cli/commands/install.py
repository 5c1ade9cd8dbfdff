"""Link hearth's jars into a Spark installation, so that --master local-numa works there.

spark-shell, pyspark, spark-sql, spark-submit and notebooks of that Spark then know the master, and
the shuffle over hearth's wire. The links are in Spark's `jars` directory and point into this
installation of hearth: run this again after an upgrade. --undo removes them.

examples:
  hearth install
  hearth install --spark-home /opt/spark
  hearth install --undo
  spark-shell --master local-numa
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from hearth.machine import paths
from hearth.spark.jar_link import install, uninstall


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "--spark-home",
        metavar="DIR",
        type=Path,
        help="the Spark installation (default: SPARK_HOME, else the installed pyspark)",
    )
    parser.add_argument("--undo", action="store_true", help="remove the links")


def run(options: Namespace) -> int:
    """Link the jars, or remove the links, and say so."""
    home = paths.spark_home(options.spark_home)
    if options.undo:
        print(uninstall(home))
        return 0
    paths.check_spark(home)
    print(install(home, [paths.hearth_jar(), paths.wire_jar()]))
    return 0
