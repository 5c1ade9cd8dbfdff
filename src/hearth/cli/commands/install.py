"""Link hearth's jar into a Spark installation, so that --master local-numa works there.

spark-shell, pyspark, spark-sql, spark-submit and notebooks of that Spark then know the master. The
link is in Spark's `jars` directory and points into this installation of hearth: run this again
after an upgrade. 'hearth uninstall' removes it.

examples:
  hearth install
  hearth install --spark-home /opt/spark
  spark-shell --master local-numa
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from hearth.machine import paths
from hearth.spark.jar_link import install


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "--spark-home",
        metavar="DIR",
        type=Path,
        help="the Spark installation (default: SPARK_HOME, else the installed pyspark)",
    )


def run(options: Namespace) -> int:
    """Link the jar and say so."""
    home = paths.spark_home(options.spark_home)
    paths.check_spark(home)
    print(install(home, paths.hearth_jar()))
    return 0
