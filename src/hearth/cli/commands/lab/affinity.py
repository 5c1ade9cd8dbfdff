"""Pin communication threads near the network device.

The policies are those of Lu, Shi, Shankar and Panda (2017), whose names work too, and the same for
the device's NUMA node, if a socket has several:
  socket-threads:N  o2nts:N  N hardware threads of the device's socket, round robin
  socket-all        o2acs    all CPUs of the device's socket
  socket-core       o2ocs    one whole core of the device's socket, round robin
  near-threads:N             N hardware threads of the device's node, round robin
  near-all                   all CPUs of the device's node
  near-core                  one whole core of the device's node, round robin
  any-threads:N     o2ntc:N  N hardware threads anywhere, round robin
  any-core          o2occ    one whole core anywhere, round robin
hearth takes the device that you name, else the one on the route to the peer, else the one on the
default route, else the fastest that is up. An agent pins the threads in any JVM: see
docs/affinity.md.

examples:
  hearth lab affinity plan --policy near-threads:4
  hearth lab affinity plan --machine "2 nodes of 64 GB, 8 cores, mlx5_0 on node 1"
  hearth lab affinity jar
  hearth lab affinity defaults
"""

from argparse import ArgumentParser, Namespace
from typing import Any

from hearth.cli.answer import print_document
from hearth.cli.options import MACHINE_HELP
from hearth.machine import jvm, paths
from hearth.report.terminal import affinity
from hearth.report.terminal.screen import Screen


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's options."""
    actions = parser.add_subparsers(dest="action", metavar="plan|jar|defaults", required=True)
    planning = actions.add_parser("plan", help="show the CPUs of each communication thread")
    planning.add_argument("--machine", metavar="CAPTURE|SPEC", help=MACHINE_HELP)
    planning.add_argument("--device", metavar="NAME", help="network device to pin threads near")
    planning.add_argument("--peer", metavar="HOST", help="use the device on the route to this host")
    planning.add_argument(
        "--policy", help="e.g. near-threads:4 (default: the policy for this CPU architecture)"
    )
    actions.add_parser("jar", help="print the path of the agent, for -javaagent")
    values = actions.add_parser("defaults", help="show the defaults")
    for action in (planning, values):
        action.add_argument("--json", action="store_true", help="print JSON")


def run(options: Namespace) -> int:
    """Run the chosen action."""
    if options.action == "jar":
        print(paths.affinity_jar())
        return 0
    words: list[str] = []
    for name in ("machine", "device", "peer", "policy"):
        value = getattr(options, name, None)
        words += [f"--{name}", str(value)] if value is not None else []
    document: dict[str, Any] = jvm.call(f"affinity-{options.action}", *words, debug=options.debug)
    if options.json:
        print_document(document)
        return 0
    show = affinity.show_plan if options.action == "plan" else affinity.show_defaults
    print("\n".join(show(document, Screen.of())))
    return 0
