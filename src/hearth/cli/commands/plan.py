"""Show how Spark would use a machine, and why; run nothing.

hearth decides whether to partition the machine and, if so, how many executors to run, where, and
with how many task slots and how much memory. What you fix is kept, or refused with the reason.

examples:
  hearth plan
  hearth plan --input 200g --workload sql
  hearth plan --executors 4 --memory 20g --conf spark.sql.shuffle.partitions=64
  hearth plan --machine "2 sockets, 4 nodes of 128 GB, 6 cores x 8 threads"
  hearth plan --from last --explain
  hearth plan --explain heap
  hearth plan --format spark-submit
"""

import json
import sys
from argparse import ArgumentParser, Namespace
from typing import Any

from hearth.analysis.saturation import recorded_bandwidth
from hearth.base.absent import Absent
from hearth.base.codec import typed
from hearth.base.errors import UserError
from hearth.base.ids import brief_ids
from hearth.base.redaction import KEY_PATTERN, REDACTED, Redaction, is_redacted
from hearth.cli.answer import print_document
from hearth.cli.options import (
    MACHINE_HELP,
    add_plan_options,
    add_python_option,
    from_namespace,
    json_help,
)
from hearth.machine import jvm, paths
from hearth.machine.plan import BINDING, Plan, PlanRequest, RecordedBandwidth, parse_conf
from hearth.machine.topology import Topology
from hearth.record.store import find_record
from hearth.report.terminal.plan import explained, show_plan
from hearth.report.terminal.screen import Screen


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("--machine", metavar="CAPTURE|SPEC", help=MACHINE_HELP)
    add_plan_options(parser)
    add_python_option(parser)
    parser.add_argument(
        "--occupied", metavar="CPUS", help="CPUs that the plan must not use, e.g. 0-3,8"
    )
    words = "a record from the machine planned for: no more tasks than saturate its memory"
    parser.add_argument("--from", dest="run", metavar="RUN", help=words)
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--explain",
        nargs="?",
        const="",
        metavar="DECISION",
        help="show the reason and source of every decision, or of one, e.g. heap",
    )
    form.add_argument(
        "--json",
        action="store_const",
        const="json",
        dest="format",
        help=json_help("plan"),
    )
    form.add_argument(
        "--format",
        choices=("text", "spark-submit", "conf", "json"),
        help="text (default), options for spark-submit, lines for spark-defaults.conf, or JSON",
    )
    parser.set_defaults(format="text")


def run(options: Namespace) -> int:
    """Plan and show the plan."""
    more = {"conf": parse_conf(options.conf), "bandwidth": _bandwidth(options)}
    request = from_namespace(PlanRequest, options, **more).document()
    if options.format in ("spark-submit", "conf"):
        request["format"] = options.format
    elif options.format == "text":
        request["with_topology"] = True
    plan = jvm.call("plan", request=request, debug=options.debug)
    shown = Redaction.of(request["limits"]["conf"]).plan(plan)
    unbound = request["limits"]["conf"].get(BINDING) == "off"
    if options.format == "json":
        print_document(shown)
        _warn_of_redaction(json.dumps(shown))
    else:
        text = _text(shown, options.format, options.explain, unbound)
        print(text)
        _warn_of_redaction(text)
    if options.bind == "none" and plan["mode"] != "native":
        print("hearth: --bind none: executors have these sizes and run anywhere", file=sys.stderr)
    return 0


def _bandwidth(options: Namespace) -> RecordedBandwidth | None:
    """Return what a recorded run says of memory; say why where it says nothing.

    Raise UserError for a run on another machine than the one planned for.
    """
    if options.run is None:
        return None
    from hearth.analysis.analysis import analyse

    run = analyse(find_record(paths.state_home(), options.run).directory)
    machine, found = run.machine, recorded_bandwidth(run)
    if isinstance(found, Absent) or isinstance(machine, Absent):
        (why, *_) = (one.reason for one in (found, machine) if isinstance(one, Absent))
        print(f"hearth: --from: it changes nothing: {why}", file=sys.stderr)
        return None
    named = [] if options.machine is None else ["--machine", options.machine]
    planned = typed(jvm.call("topology", *named, debug=options.debug), Topology)
    theirs = {node.id: node.cpus for node in machine.nodes}
    if {str(node.id): node.cpus for node in planned.nodes} != theirs:
        raise UserError(
            f"--from: '{options.run}' ran on another machine, with {_nodes(theirs)}: name a run on "
            "the one planned for, or its capture by --machine"
        )
    return found


def _nodes(cpus: dict[str, str]) -> str:
    """Return the CPUs of each node in words."""
    all_of = [f"CPUs {brief_ids(ids, 24) or 'none'} on node {node}" for node, ids in cpus.items()]
    return ", ".join(all_of[:4]) + (f" and {len(all_of) - 4} more" if len(all_of) > 4 else "")


def _warn_of_redaction(text: str) -> None:
    if is_redacted([text]):
        what = f"'{REDACTED}' hides values ({KEY_PATTERN}): put them back"
        print(f"hearth: {what} before you use this", file=sys.stderr)


def _text(plan: dict[str, Any], form: str, explain: str | None, unbound: bool) -> str:
    if form != "text":
        return str(plan["text"]).rstrip("\n")

    shown = typed(plan, Plan)
    machine = typed(plan["topology"], Topology)
    if explain is not None:
        return "\n".join(explained(shown, explain, machine, Screen.of()))
    return "\n".join(show_plan(shown, machine, Screen.of(), unbound=unbound))
