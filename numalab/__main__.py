"""python -m numalab: prepare the lab, run cases in a shape, or open a shell in one."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from numalab import machine, setup, shape, traffic
from numalab.cases.traffic import ARMS
from numalab.image import root_image

LIMIT_SECONDS = 900
MOST_REPEATS = 100
TRAFFIC_SECONDS = 1800  # one application, on busy cores


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
    counted = commands.add_parser("traffic", help="count local and remote cache misses of Spark")
    counted.add_argument("shape")
    counted.add_argument("workload", choices=["scan", "shuffle"])
    counted.add_argument("--repeat", type=_repeats, default=1, help="how often each arm runs")
    counted.add_argument("--evidence", type=Path, default=Path("build/numalab"))
    options = parser.parse_args(arguments)
    try:
        return _command(options)
    except (setup.LabUnavailableError, ValueError) as problem:
        print(f"numalab: {problem}", file=sys.stderr)
        return 2
    except machine.GuestFailedError as problem:
        print(f"numalab: {problem}", file=sys.stderr)
        return 1


def _repeats(text: str) -> int:
    """Return a number of 1 to 100."""
    if not text.isdecimal() or not 1 <= int(text) <= MOST_REPEATS:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of 1 to {MOST_REPEATS}")
    return int(text)


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
    if options.command == "traffic":
        return _traffic(options)
    target = options.evidence / options.shape
    boot = machine.boot_two if options.two else machine.boot
    done = boot(shape.load(options.shape), options.case, target, LIMIT_SECONDS)
    seconds = max(each.seconds for each in (done if isinstance(done, list) else [done]))
    print(f"{options.shape}: {seconds:.1f} s, evidence in {target}")
    return 0


def _traffic(options: argparse.Namespace) -> int:
    """Count, telling each arm as it ends; leave raw lines beside the evidence."""
    built, target = shape.load(options.shape), options.evidence / f"{options.shape}-traffic"
    target.mkdir(parents=True, exist_ok=True)
    for window in traffic.count(built, "traffic_controls", target / "controls", LIMIT_SECONDS):
        if fault := traffic.control_fault(built, window):
            print(f"numalab: the counts are not right: {fault}", file=sys.stderr)
            return 1
    lines = target / f"{options.workload}.jsonl"
    lines.unlink(missing_ok=True)
    for repeat in range(options.repeat):
        for arm in ARMS:
            counted = _arm(built, options.workload, arm, repeat, target)
            with lines.open("a", encoding="utf-8") as raw:
                raw.write(traffic.raw_line(built, options.workload, counted))
    print(f"raw lines: {lines}")
    return 0


def _arm(built: shape.Shape, workload: str, arm: str, repeat: int, target: Path) -> traffic.Counted:
    evidence, further = target / f"{repeat}-{arm}", {"workload": workload, "arm": arm}
    windows = [*traffic.count(built, "traffic", evidence, TRAFFIC_SECONDS, further)]
    if not windows:
        raise machine.GuestFailedError(f"{arm}: nothing was counted; see {evidence}")
    counted = traffic.counted(built, arm, repeat, windows[0], evidence / "traffic")
    print(f"{arm} #{repeat + 1}: {counted.remote_share:.1%} of misses remote", flush=True)
    return counted


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
