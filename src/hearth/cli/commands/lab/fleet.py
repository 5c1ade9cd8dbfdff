"""Plan for many machines from their captures: classes of equal machines, and the odd ones.

'hearth topology --capture' on each machine makes a capture; a folder holds them, as archives or
directories, also files with the output of 'lscpu; numactl -H'. Machines of equal topology are one
class, with one plan; odd machines are listed with what differs. 'hearth plan --format yarn
--machine DIR' prints a cluster's files for each class.

examples:
  hearth lab fleet plan captures/
  hearth lab fleet plan captures/ --workload sql --json
"""

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path

from hearth.base.codec import to_json
from hearth.cli.options import add_plan_options, add_python_option, from_namespace, json_help
from hearth.fleet.examine import plan_fleet
from hearth.machine.plan import PlanRequest, parse_conf
from hearth.report.terminal.fleet import show_fleet
from hearth.report.terminal.screen import Screen


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's options."""
    actions = parser.add_subparsers(dest="action", metavar="plan", required=True)
    planning = actions.add_parser(
        "plan", help="show the classes, their plans, and the odd machines"
    )
    planning.add_argument("folder", metavar="DIR", type=Path, help="a folder of captures")
    add_plan_options(planning)
    add_python_option(planning)
    planning.add_argument("--json", action="store_true", help=json_help("fleet-plan"))


def run(options: Namespace) -> int:
    """Plan and show the fleet."""
    fixed = {"conf": parse_conf(options.conf), "machine": None, "occupied": None}
    request = from_namespace(PlanRequest, options, **fixed)
    fleet = plan_fleet(options.folder, request, options.debug)
    shown = json.dumps(to_json(fleet), indent=2) if options.json else None
    print(shown or "\n".join(show_fleet(fleet, Screen.of())))
    return 0
