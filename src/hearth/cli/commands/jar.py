"""Print the path of hearth's jar, for Spark's --jars option.

With the jar, all of Spark's own commands can use local-numa: see docs/running.md. --hadoop prints
the path of the RPC engine for Hadoop: see docs/shuffle.md#hadoops-rpc.

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
        "--hadoop",
        action="store_true",
        help="print the path of the RPC engine's jar, for Hadoop's class path",
    )


def run(options: Namespace) -> int:
    """Print the path."""
    print(paths.hadoop_jar() if options.hadoop else paths.hearth_jar())
    return 0
