"""Shows how Spark would use a machine, and why; runs nothing.

Decides whether to partition the machine and, if so, how many executors run where, with how many
task slots and how much memory. What you fix is honoured, or refused by name.

examples:
  hearth plan
  hearth plan --input 200g --workload sql
  hearth plan --executors 4 --memory 20g --conf spark.sql.shuffle.partitions=64
  hearth plan --machine "2 packages, 4 nodes of 128 GB, 6 cores x 8 threads"
  hearth plan --format spark-submit
"""

import json
import sys
from argparse import ArgumentParser, Namespace
from typing import Any

from hearth.model.redaction import KEY_PATTERN, REDACTED, Redaction, is_redacted
from hearth.planner.request import add_workload_arguments, parse_conf, plan_request


def add_arguments(parser: ArgumentParser) -> None:
    """The command's options."""
    machine_help = "a capture, or a one-line description (default: this machine)"
    parser.add_argument("--machine", metavar="CAPTURE|SPEC", help=machine_help)
    add_workload_arguments(parser)
    parser.add_argument("--occupied", metavar="CPUS", help="CPUs to leave alone, such as 0-3,8")
    parser.add_argument(
        "--conf", metavar="KEY=VALUE", action="append", default=[], help="a Spark setting to honour"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--json",
        action="store_const",
        const="json",
        dest="format",
        help="print the JSON document (contract/)",
    )
    form.add_argument(
        "--format",
        choices=("text", "spark-submit", "conf", "json"),
        help="readable text, options for spark-submit, lines for spark-defaults.conf, or JSON",
    )
    parser.set_defaults(format="text")


def run(options: Namespace) -> int:
    """Plans and shows the plan."""
    from hearth.planner import jvm

    request = plan_request(options, parse_conf(options.conf), options.machine)
    if options.format in ("spark-submit", "conf"):
        request["format"] = options.format
    elif options.format == "text":
        request["with_topology"] = True
    plan = jvm.call("plan", request=request, debug=options.debug)
    text = _text(Redaction.of(request["limits"]["conf"]).plan(plan), options.format)
    print(text)
    if is_redacted([text]):
        what = f"'{REDACTED}' hides values ({KEY_PATTERN}): put them back"
        print(f"hearth: {what} before you use this", file=sys.stderr)
    return 0


def _text(plan: dict[str, Any], form: str) -> str:
    if form == "json":
        return json.dumps(plan, indent=2)
    if form != "text":
        return str(plan["text"]).rstrip("\n")
    from hearth.report.plan import show_plan
    from hearth.report.terminal import Screen

    return "\n".join(show_plan(plan, plan["topology"], Screen.of()))
