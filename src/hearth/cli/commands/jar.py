"""Print the path of hearth's jar, for Spark's --jars option.

With the jar, all of Spark's own commands can use local-numa: see docs/running.md. --wire prints
the path of the jar for Spark's shuffle and Hadoop's RPC over hearth's wire: see docs/shuffle.md.

examples:
  hearth jar
  spark-submit --master 'local-numa[2]' --jars "$(hearth jar)" my_job.py
  spark-shell --master local-numa --jars "$(hearth jar)"
"""

from argparse import ArgumentParser, Namespace

from hearth.machine import paths


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--wire",
        action="store_true",
        help="print the path of the wire's jar, for Spark's or Hadoop's class path",
    )


def run(options: Namespace) -> int:
    """Print the path."""
    print(paths.wire_jar() if options.wire else paths.hearth_jar())
    return 0
