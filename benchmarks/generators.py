"""How fast data is generated, against the disk and against a generator at C's speed.

    .venv/bin/python benchmarks/generators.py --repeat 5 --size 400m

Every repetition runs each arm once, in random order (seeded), on one core, in the same folder; the
first repetition is dropped. Arms: `write`, zeros in blocks of 256 KiB, flushed to the disk at the
end (what the disk takes); `tpchgen-cli`, the standard's lineitem table as text on a thread (Rust);
`text` and `records`, hearth's generators by plain spark-submit on `local[1]`.

`mb_per_s` is bytes written over wall time. For Spark's arms that includes some seconds of start-up,
so `task_mb_per_s` counts the seconds of its tasks alone, and `cpu_mb_per_s` is bytes
over CPU seconds of the whole process (start-up included). Medians, smallest and largest; raw values
go to benchmarks/results/ as each run ends.
"""

import argparse
import json
import os
import platform
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from results import spread, table

import hearth
from hearth.base.sizes import parse_bytes
from hearth.machine.paths import spark_home

ROOT = Path(__file__).resolve().parents[1]
BLOCK_BYTES = 256 << 10
LINEITEM_BYTES_AT_SCALE_1 = 760_000_000
LIMIT_S = 600
ARMS = ("write", "tpchgen-cli", "text", "records")
COLUMNS = {
    "mb_per_s": "From start to end",
    "task_mb_per_s": "Tasks alone",
    "cpu_mb_per_s": "Per CPU second, start-up included",
}
Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=5, help="repetitions kept, after one dropped")
    parser.add_argument("--size", default="400m", help="bytes of each arm, nearly")
    parser.add_argument("--seed", type=int, default=1, help="of the order within a repetition")
    parser.add_argument("--folder", type=Path, help="on the disk to write to (default: temporary)")
    parser.add_argument("--output", type=Path, help="raw results (default: benchmarks/results/)")
    options = parser.parse_args()
    name = f"generators-{datetime.now(UTC):%Y-%m-%d-%H%M}.jsonl"
    output = options.output or ROOT / "benchmarks" / "results" / name
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="hearth-data-", dir=options.folder) as folder:
        rows = measure(Path(folder), parse_bytes(options.size, "--size"), options, output)
    print("\n".join(page(rows)))
    print(f"\nRaw results: {output}")


def measure(folder: Path, size: int, options: argparse.Namespace, output: Path) -> list[Row]:
    order = random.Random(options.seed)
    rows: list[Row] = []
    for repetition in range(options.repeat + 1):
        names = list(ARMS)
        order.shuffle(names)
        for name in names:
            target = folder / "target"
            row: Row = {"arm": name, "repetition": repetition, "dropped": repetition == 0}
            row |= {"load": os.getloadavg()[0]} | machine() | run(name, target, size)
            shutil.rmtree(target)
            with output.open("a") as file:
                file.write(json.dumps(row) + "\n")
            rows.append(row)
            print(
                f"  {repetition}/{options.repeat}  {name:12} {row['mb_per_s']:7} MB/s", flush=True
            )
    return rows


def run(name: str, target: Path, size: int) -> Row:
    target.mkdir()
    cpu, begin, said = cpu_s(), time.monotonic(), ""
    if name == "write":
        write_zeros(target / "zeros", size)
    else:
        said = output_of(command(name, target / "data", size))
    seconds, cpu = time.monotonic() - begin, cpu_s() - cpu
    files = [p for p in target.rglob("*") if p.is_file() and not p.name.startswith(("_", "."))]
    mb = sum(file.stat().st_size for file in files) / 1e6
    row: Row = {"mb": round(mb, 1), "seconds": round(seconds, 3), "cpu_s": round(cpu, 3)}
    row |= {"mb_per_s": round(mb / seconds, 1), "cpu_mb_per_s": round(mb / cpu, 1)}
    if found := re.search(r"written in ([0-9.]+) s", said):
        row["task_mb_per_s"] = round(mb / float(found[1]), 1)
    return row


def cpu_s() -> float:
    """Of this process and of its children that have ended, in user and system mode."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def write_zeros(file: Path, size: int) -> None:
    block = bytes(BLOCK_BYTES)
    with file.open("wb", buffering=0) as stream:
        for _ in range(size // BLOCK_BYTES):
            stream.write(block)
        os.fsync(stream.fileno())


def command(name: str, target: Path, size: int) -> list[str]:
    if name == "tpchgen-cli":
        scale = f"{size / LINEITEM_BYTES_AT_SCALE_1:.3f}"
        words = ["--scale-factor", scale, "--tables", "lineitem"]
        program = str(Path(sys.executable).with_name("tpchgen-cli"))
        return [program, *words, "--num-threads", "1", "--output-dir", str(target)]
    (jar,) = (Path(hearth.__file__).parent / "jars").glob("hearth-workloads_*.jar")
    submit = [str(spark_home() / "bin" / "spark-submit"), "--master", "local[1]"]
    quiet = ["--conf", "spark.ui.enabled=false", "--conf", "spark.log.level=ERROR"]
    words = [name, "--to", str(target), "--size", str(size), "--seed", "1"]
    return [*submit, *quiet, "--class", "io.hearth.workloads.Main", str(jar), "generate", *words]


def output_of(words: list[str]) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if done.returncode != 0:
        sys.exit(f"exit {done.returncode}: {' '.join(words)}\n{done.stderr[-2000:]}")
    return done.stdout


def machine() -> Row:
    return {"cpus": os.cpu_count(), "kernel": platform.release(), "arch": platform.machine()}


def page(rows: list[Row]) -> list[str]:
    """Return the table in Markdown: MB/s without what is dropped."""
    kept = [row for row in rows if not row["dropped"]]
    lines = []
    for arm in ARMS:
        mine = [row for row in kept if row["arm"] == arm]
        columns = ([row[what] for row in mine if what in row] for what in COLUMNS)
        lines.append([f"`{arm}`", *(spread(each, 0) if each else "-" for each in columns)])
    return table(["Arm", *COLUMNS.values()], lines)


if __name__ == "__main__":
    main()
