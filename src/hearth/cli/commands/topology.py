"""Show a machine: packages, NUMA nodes, caches, cores, devices, and what this process may use.

The machine is this one, a capture made by 'hearth gather' (or by hwloc-gather-topology), a file
with what 'lscpu' and 'numactl -H' print, or one described in a line, such as
  2 sockets, 4 nodes of 128 GB, 6 cores x 8 threads
where nodes are those of the whole machine, and cores those of each node.

examples:
  hearth topology
  hearth topology --machine "2 packages, 4 nodes of 128 GB, 6 cores x 8 threads"
  hearth topology --json
"""

import json
from argparse import ArgumentParser, Namespace

from hearth.base.codec import typed
from hearth.cli.options import MACHINE_HELP, json_help
from hearth.machine import jvm
from hearth.machine.described import machine_source
from hearth.machine.topology import Topology
from hearth.report.terminal.screen import Screen
from hearth.report.terminal.topology import show_topology


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("--machine", metavar="CAPTURE|SPEC", type=machine_source, help=MACHINE_HELP)
    parser.add_argument("--json", action="store_true", help=json_help("topology"))


def run(options: Namespace) -> int:
    """Read the machine and show it."""
    machine = ["--machine", options.machine] if options.machine is not None else []
    document = jvm.call("topology", *machine, debug=options.debug)
    if options.json:
        print(json.dumps(document, indent=2))
        return 0

    print("\n".join(show_topology(typed(document, Topology), Screen.of())))
    return 0
