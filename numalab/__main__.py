"""python -m numalab: prepare the lab, run cases in a shape, or open a shell in one."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from numalab import machine, setup, shape
from numalab.image import root_image

LIMIT_SECONDS = 900


def main(arguments: list[str]) -> int:
    """Runs one command; the exit status is 2 where the lab cannot run, 1 where a guest failed."""
    parser = argparse.ArgumentParser(prog="python -m numalab", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("setup", help="install the emulator, fetch the kernel, build the disk")
    commands.add_parser("list", help="the shapes")
    opened = commands.add_parser("shell", help="a shell in a shape")
    opened.add_argument("shape")
    ran = commands.add_parser("run", help="run cases in a shape, leave their evidence")
    ran.add_argument("shape")
    ran.add_argument("case", nargs="+")
    ran.add_argument("--two", action="store_true", help="in two guests that a cable joins")
    ran.add_argument("--evidence", type=Path, default=Path("build/numalab"))
    options = parser.parse_args(arguments)
    try:
        return _command(options)
    except (setup.LabUnavailableError, ValueError) as problem:
        print(f"numalab: {problem}", file=sys.stderr)
        return 2
    except machine.GuestFailedError as problem:
        print(f"numalab: {problem}", file=sys.stderr)
        return 1


def _command(options: argparse.Namespace) -> int:
    if options.command == "list":
        for name in shape.names():
            print(f"{name:16} {shape.load(name).about}")
        return 0
    if options.command == "setup":
        setup.install_tools()
        print(f"kernel {setup.kernel_image().name}, disk {root_image()}")
        return 0
    if options.command == "shell":
        return machine.shell(shape.load(options.shape))
    target = options.evidence / options.shape
    boot = machine.boot_two if options.two else machine.boot
    done = boot(shape.load(options.shape), options.case, target, LIMIT_SECONDS)
    seconds = max(each.seconds for each in (done if isinstance(done, list) else [done]))
    print(f"{options.shape}: {seconds:.1f} s, evidence in {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
