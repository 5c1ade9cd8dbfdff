"""Shows how Spark would use a machine, and why; nothing is run.

Decides whether to partition the machine, and if so how many executors run where, with how
many task slots and how much memory. What you fix is honoured, or refused by name.

examples:
  hearth plan
  hearth plan --input 200g --workload sql
  hearth plan --executors 4 --memory 20g --conf spark.sql.shuffle.partitions=64
  hearth plan --machine "2 packages, 4 nodes of 128 GB, 6 cores x 8 threads"
  hearth plan --format spark-submit
"""

import json
from argparse import ArgumentParser, Namespace
from typing import Any

from hearth.planner.request import add_workload_arguments, parse_conf, plan_request


def add_arguments(parser: ArgumentParser) -> None:
    """The command's options."""
    machine_help = "a capture, or a description in a line (default: this machine)"
    parser.add_argument("--machine", metavar="CAPTURE|SPEC", help=machine_help)
    add_workload_arguments(parser)
    parser.add_argument(
        "--conf", metavar="KEY=VALUE", action="append", default=[], help="a Spark setting to honour"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--json",
        action="store_const",
        const="json",
        dest="format",
        help="the JSON document of contract/",
    )
    form.add_argument(
        "--format",
        choices=("text", "spark-submit", "conf", "json"),
        default="text",
        help="text to read, options for spark-submit, lines for spark-defaults.conf, or JSON",
    )


def run(options: Namespace) -> int:
    """Plans and shows the plan."""
    from hearth.planner import jvm

    request = plan_request(options, parse_conf(options.conf), options.machine)
    plan = jvm.call("plan", request=request, debug=options.debug)
    print("\n".join(_lines(plan, options)))
    return 0


def _lines(plan: dict[str, Any], options: Namespace) -> list[str]:
    if options.format == "json":
        return [json.dumps(plan, indent=2)]
    if options.format == "conf":
        from hearth.launch.properties import write_properties

        return write_properties({"spark.master": plan["master"], **plan["conf"]})
    if options.format == "spark-submit":
        import shlex

        settings = [f"--conf {shlex.quote(f'{k}={v}')}" for k, v in sorted(plan["conf"].items())]
        return [" \\\n  ".join([f"spark-submit --master {shlex.quote(plan['master'])}", *settings])]
    return _text(plan, options)


def _text(plan: dict[str, Any], options: Namespace) -> list[str]:
    from hearth.report.plan import show_plan
    from hearth.report.terminal import Screen

    machine = plan.get("topology")
    if machine is None:
        from hearth.planner import jvm

        chosen = ["--machine", options.machine] if options.machine is not None else []
        machine = jvm.call("topology", *chosen, debug=options.debug)
    return show_plan(plan, machine, Screen.of())
