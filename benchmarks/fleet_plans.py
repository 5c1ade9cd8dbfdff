"""How long `hearth fleet plan` takes for many machines, and how much memory.

    .venv/bin/python benchmarks/fleet_plans.py

Two kinds of fleet, of 10, 100 and 1,000 machines each: `described`, topologies of six kinds of
machine of 8 to 16 nodes; and `captured`, archives of the machine it runs on, in half of which
the kernel is set differently. Each is planned for `--repeat` times. Counted are seconds, CPU
seconds of the command and its JVMs, and the memory of the largest of these processes. Raw values
go to benchmarks/results/.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from results import FOLDER, Row, spread, table

from hearth.base.codec import to_json
from hearth.machine import jvm

HEARTH = str(Path(sys.executable).with_name("hearth"))
KINDS = [
    f"2 packages, {nodes} nodes of {size} GB, 16 cores x {threads} threads"
    for nodes, size, threads in ((8, 64, 2), (8, 128, 2), (8, 128, 1), (16, 32, 2), (16, 64, 2))
] + ["4 packages, 16 nodes of 128 GB, 12 cores x 4 threads"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--machines", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    output = FOLDER / f"fleet-plans-{datetime.now(UTC):%Y-%m-%d-%H%M}.jsonl"
    rows = []
    with tempfile.TemporaryDirectory(prefix="hearth-fleet-") as scratch:
        for kind, folder, many in fleets(Path(scratch), options.machines):
            for turn in range(options.repeat):
                row = {"fleet": kind, "machines": many, "turn": turn, **planned(folder)}
                row["machine"] = f"{os.cpu_count()} CPUs"
                rows.append(row)
                with output.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
    print("\n".join(page(rows)))
    print(f"raw values: {output}")


def fleets(scratch: Path, sizes: list[int]) -> Iterator[tuple[str, Path, int]]:
    topologies = [json.dumps(to_json(jvm.topology(kind))) for kind in KINDS]
    archives = list(captured(scratch))
    for many in sizes:
        described, gathered = scratch / f"described-{many}", scratch / f"captured-{many}"
        described.mkdir()
        gathered.mkdir()
        for number in range(many):
            (described / f"m{number}.json").write_text(topologies[number % len(topologies)])
            (gathered / f"m{number}.tar.gz").hardlink_to(archives[number % len(archives)])
        yield "described", described, many
        yield "captured", gathered, many


def captured(scratch: Path) -> Iterator[Path]:
    """Yield a capture of this machine, then one with another setting of the kernel."""
    first = scratch / "first.tar.gz"
    subprocess.run([HEARTH, "gather", "--output", first], check=True, stdout=subprocess.DEVNULL)
    yield first
    with tarfile.open(first) as packed:
        packed.extractall(scratch / "unpacked", filter="data")
    file = scratch / "unpacked" / "machine" / "proc" / "sys" / "vm" / "swappiness"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("100\n")
    yield Path(shutil.make_archive(str(scratch / "second"), "gztar", scratch / "unpacked"))


def planned(folder: Path) -> Row:
    """Return what one command takes; memory is that of the largest of its processes (wait4(2))."""
    with tempfile.TemporaryFile() as answer:
        begun = time.monotonic()
        command = subprocess.Popen([HEARTH, "fleet", "plan", folder, "--json"], stdout=answer)
        _, status, used = os.wait4(command.pid, 0)
        seconds = time.monotonic() - begun
        answer.seek(0)
        document = json.load(answer)
    assert status == 0 and not document["unread"], document["unread"][:3]
    return {
        "seconds": round(seconds, 2),
        "cpu_s": round(used.ru_utime + used.ru_stime, 2),
        "most_mb": round(used.ru_maxrss / 1024),
        "classes": len(document["classes"]),
    }


def page(rows: list[Row]) -> list[str]:
    """Median (smallest to largest) of each fleet."""
    lines = []
    for kind, many in dict.fromkeys((row["fleet"], row["machines"]) for row in rows):
        same = [row for row in rows if (row["fleet"], row["machines"]) == (kind, many)]
        cpu = [row["cpu_s"] for row in same]
        each = f"{1000 * median(cpu) / many:.0f} ms"
        memory = f"{max(row['most_mb'] for row in same)} MB"
        seconds = spread([row["seconds"] for row in same], 1)
        lines.append([kind, str(many), seconds, spread(cpu, 1), each, memory])
    heads = ["Fleet", "Machines", "Seconds", "CPU seconds", "CPU of a machine", "Most memory"]
    return table(heads, lines)


if __name__ == "__main__":
    main()
