"""Prints the path of hearth's jar, for Spark's --jars option.

With it, any of Spark's own commands runs under local-numa: see docs/running.md.

examples:
  hearth jar
  spark-submit --master 'local-numa[2]' --jars "$(hearth jar)" my_job.py
  spark-shell --master local-numa --jars "$(hearth jar)"
"""

from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """The command has no options of its own."""


def run(options: Namespace) -> int:
    """Prints the path."""
    from hearth.planner import places

    print(places.hearth_jar())
    return 0
