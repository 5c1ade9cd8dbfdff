"""Capture this machine in a file, so that hearth can plan for it elsewhere.

The capture holds what the kernel reports about the hardware, about the limits of this process and
about its own settings: no serial number, name or address. Attach it to a bug report about a
machine; 'hearth topology --machine FILE' reads it anywhere.

examples:
  hearth gather
  hearth gather --output big-box.tar.gz
"""

import platform
import re
from argparse import ArgumentParser, Namespace
from pathlib import Path

from hearth.cli.options import refuse_device
from hearth.machine import jvm


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("--output", metavar="FILE", help="file to write (default: HOSTNAME.tar.gz)")
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")


def run(options: Namespace) -> int:
    """Write the capture."""
    name = re.sub(r"[^A-Za-z0-9._-]", "-", platform.node().split(".")[0]) or "machine"
    output = Path(options.output or f"{name}.tar.gz").absolute()
    refuse_device(output, "--output")
    force = ["--force"] if options.force else []
    jvm.call("gather", "--output", str(output), *force, debug=options.debug)
    print(f"captured in {output}")
    print(f"to view it: hearth topology --machine {output}")
    return 0
