"""Show which running applications, of all users, hold which CPUs and memory.

An application takes a lease of CPUs and memory when it starts under local-numa, and others plan
around it. A lease ends with the last process of its application, however that ends.

examples:
  hearth leases
  hearth leases --json
"""

import json
from argparse import ArgumentParser, Namespace

from hearth.base.codec import typed
from hearth.cli.options import json_help
from hearth.machine import jvm
from hearth.machine.leases import Leases
from hearth.report.terminal.leases import show_leases
from hearth.report.terminal.screen import Screen


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("--json", action="store_true", help=json_help("leases"))


def run(options: Namespace) -> int:
    """Read the leases and the machine, and show them."""
    document = jvm.call("leases", debug=options.debug)
    if options.json:
        print(json.dumps(document, indent=2))
        return 0

    print("\n".join(show_leases(typed(document, Leases), Screen.of())))
    return 0
