"""Remove the link to hearth's jar that 'hearth install' made in a Spark installation.

examples:
  hearth uninstall
  hearth uninstall --spark-home /opt/spark
"""

from argparse import ArgumentParser, Namespace

from hearth.cli.commands import install
from hearth.machine import paths
from hearth.spark.jar_link import uninstall


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's options: those of `hearth install`."""
    install.add_arguments(parser)


def run(options: Namespace) -> int:
    """Take the link away and say so."""
    print(uninstall(paths.spark_home(options.spark_home)))
    return 0
