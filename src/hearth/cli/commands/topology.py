"""Show a machine: packages, NUMA nodes, caches, cores, devices, and what this process may use.

The machine is this one, a capture made by --capture (or by hwloc-gather-topology), or one described
in a line, such as
  2 sockets, 4 nodes of 128 GB, 6 cores x 8 threads
where nodes are those of the whole machine, and cores those of each node.

--capture writes what the kernel reports about this machine's hardware, about the limits of this
process and about its own settings to a file, so that hearth can plan for it elsewhere: no serial
number, name or address. Attach it to a bug report about a machine.

examples:
  hearth topology
  hearth topology --machine "2 packages, 4 nodes of 128 GB, 6 cores x 8 threads"
  hearth topology --capture big-box.tar.gz
  hearth topology --json
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from hearth.base.codec import typed
from hearth.base.errors import UserError
from hearth.cli.answer import print_document
from hearth.cli.options import MACHINE_HELP, json_help, refuse_device
from hearth.machine import jvm
from hearth.machine.topology import Topology
from hearth.report.terminal.screen import Screen
from hearth.report.terminal.topology import show_topology


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("--machine", metavar="CAPTURE|SPEC", help=MACHINE_HELP)
    parser.add_argument("--capture", metavar="FILE", help="write a capture of this machine to FILE")
    parser.add_argument("--force", action="store_true", help="replace the capture if it exists")
    parser.add_argument("--json", action="store_true", help=json_help("topology"))


def run(options: Namespace) -> int:
    """Read the machine and show it, or capture it."""
    if options.capture is not None:
        return _capture(options)
    if options.force:
        raise UserError("--force: replaces a capture: name it with --capture FILE")
    machine = ["--machine", options.machine] if options.machine is not None else []
    document = jvm.call("topology", *machine, debug=options.debug)
    if options.json:
        print_document(document)
        return 0

    print("\n".join(show_topology(typed(document, Topology), Screen.of())))
    return 0


def _capture(options: Namespace) -> int:
    for name in ("machine", "json"):
        if getattr(options, name):
            raise UserError(f"--capture: cannot be combined with --{name}: leave one of them out")
    output = Path(options.capture).absolute()
    refuse_device(output, "--capture")
    force = ["--force"] if options.force else []
    jvm.call("gather", "--output", str(output), *force, debug=options.debug)
    print(f"captured in {output}")
    print(f"to view it: hearth topology --machine {output}")
    return 0
