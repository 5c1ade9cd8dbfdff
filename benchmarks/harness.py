"""What all benchmarks share: options, order, repetition, raw lines, load, going on after a kill.

A benchmark says its arms and cases, how one run is made, and how its page reads the rows. Every
repetition runs each arm of each case once, in random order (seeded), the arms of a case one after
another; repetitions below 0 are warm-ups. What has failed is not run again. Each row is added to
the file of raw results as its run ends, so that `--resume FILE` goes on after a kill.
"""

import argparse
import json
import os
import platform
import random
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from results import FOLDER, Row, read

from hearth.base.codec import append_line

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
RESULT = "RESULT "
#: What says where a run is in its series.
_PLACE = ("start", "repetition", "case", "arm")


@dataclass(frozen=True)
class Turn:
    """One run of a series. start: of the processes that several repetitions share."""

    start: int
    repetition: int
    case: str
    arm: str


class Benchmark:
    """A series of runs, from its command line to its page.

    repeat: 0 where nothing is repeated. starts: how often the processes start that the repetitions
    share; 0: each run has its own.
    any_arm, any_case: those given are some of many that the user may name.
    """

    def __init__(
        self,
        doc: str | None,
        page: Callable[[list[Row]], list[str]],
        *,
        arms: Sequence[str],
        cases: Sequence[str] = ("",),
        repeat: int = 5,
        warm_ups: int = 0,
        starts: int = 0,
        any_arm: bool = False,
        any_case: bool = False,
    ) -> None:
        self.name = Path(sys.argv[0]).stem.replace("_", "-")
        self.page, self.arms, self.cases, self.warm_ups = page, list(arms), list(cases), warm_ups
        self.rows: list[Row] = []
        self.free = {"arms": any_arm, "cases": any_case}
        self.parser = argparse.ArgumentParser(
            description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        add = self.parser.add_argument
        if len(self.arms) > 1:
            add("--arms", metavar="A,B", help=f"default: {','.join(arms)}")
        if len(self.cases) > 1:
            add("--cases", metavar="A,B", help=f"default: {','.join(cases)}")
        if starts:
            add(
                "--starts", type=int, default=starts, help="of the processes (default: %(default)s)"
            )
        if repeat:
            said = "repetitions that count (default: %(default)s)"
            add("--repeat", "--pairs", type=int, default=repeat, help=said)
        add("--seed", type=int, default=1, help="of what is random (default: %(default)s)")
        add("--output", type=Path, help="file of raw results (default: benchmarks/results/)")
        add("--resume", type=Path, metavar="FILE", help="go on with this file of raw results")

    def parse(self) -> argparse.Namespace:
        """Read the command line; end where an arm or a case is none of this benchmark's."""
        self.options = self.parser.parse_args()
        for what, known in (("arms", self.arms), ("cases", self.cases)):
            if given := getattr(self.options, what, None):
                chosen = re.findall(r"(?:[^,\[]|\[[^\]]*\])+", given)  # local-cluster[2,1,1024]
                unknown = [name for name in chosen if name not in known]
                if unknown and not self.free[what]:
                    self.parser.error(f"--{what}: '{unknown[0]}' is none of {', '.join(known)}")
                setattr(self, what, chosen)
        return self.options

    def begin(self) -> None:
        """Begin the file of raw results, or read the one to go on with; end if that is of another
        machine or of other options.
        """
        options = {
            key: value
            for key, value in vars(self.options).items()
            if key not in ("repeat", "starts", "output", "resume") and not isinstance(value, Path)
        }
        head = {"benchmark": self.name, "options": options, "machine": machine()}
        name = f"{self.name}-{datetime.now(UTC):%Y-%m-%d-%H%M}.jsonl"
        self.file = self.options.resume or self.options.output or FOLDER / name
        if self.options.resume is None:
            if self.file.exists():
                sys.exit(f"--output: '{self.file}' is there: go on with --resume, or name another")
            self.file.parent.mkdir(parents=True, exist_ok=True)
            append_line(self.file, head)
            return
        text = self.file.read_text(encoding="utf-8")
        self.file.write_text(text[: text.rfind("\n") + 1], encoding="utf-8")
        first, *self.rows = read(self.file)
        for what, value in head.items():
            if first.get(what) != value:
                sys.exit(f"--resume: '{self.file}' has another {what}: begin another file")

    def starts(self) -> Iterator[int]:
        """Yield the number of each start that has runs left."""
        for start in range(self.options.starts):
            if any(not self.is_done(turn) for turn in self.turns(start)):
                yield start

    def turns(self, start: int = 0) -> Iterator[Turn]:
        """Yield the runs of a start in their order, as `StudyDesign.rounds` does."""
        for repetition in range(-self.warm_ups, self.options.repeat):
            mirrored = repetition == 1
            draw = random.Random(f"{self.options.seed} {start} {0 if mirrored else repetition}")
            turns = [
                Turn(start, repetition, case, arm)
                for case in draw.sample(self.cases, len(self.cases))
                for arm in draw.sample(self.arms, len(self.arms))
            ]
            yield from reversed(turns) if mirrored else turns

    def is_done(self, turn: Turn) -> bool:
        """Whether a run is in the rows, or its arm has failed in this case."""
        place = self._place(turn)
        failed = {key: place[key] for key in ("case", "arm") if key in place}
        return any(
            place.items() <= row.items() or ("failure" in row and failed.items() <= row.items())
            for row in self.rows
        )

    def _place(self, turn: Turn) -> Row:
        return {
            key: value
            for key, value in asdict(turn).items()
            if value != "" and (key != "start" or hasattr(self.options, "starts"))
        }

    def measure(self, run: Callable[[Turn], Row], start: int = 0) -> None:
        """Make the runs of a start that the file lacks."""
        for turn in self.turns(start):
            if not self.is_done(turn):
                load = round(os.getloadavg()[0], 2)
                self.keep({**self._place(turn), "load": load, **run(turn)})

    def keep(self, row: Row) -> None:
        """Add a row to the file, and say on standard error what it is."""
        append_line(self.file, row)
        self.rows.append({**row, "series": self.file.stem})
        place = " ".join(str(row[key]) for key in _PLACE if key in row)
        figures = [f"{key} {value:g}" for key, value in row.items()
                   if isinstance(value, int | float) and key not in _PLACE]  # fmt: skip
        said = row.get("failure") or ", ".join(figures[:6])
        print(f"{self.name}: {place}: {said}", file=sys.stderr, flush=True)

    def report(self) -> None:
        """Print the page, what failed, and where the raw results are."""
        if any("failure" not in row for row in self.rows):
            print("\n".join(self.page(self.rows)))
        for row in self.rows:
            if "failure" in row:
                print(f"\n{row.get('case', '')} {row['arm']} failed: {row['failure']}")
        print(f"\nRaw results: {self.file}")


def machine() -> Row:
    """Return what tells this machine from others, without a name of it."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    cpus = len(os.sched_getaffinity(0))
    return {
        "cpus": cpus, "memory_gb": memory,
        "kernel": platform.release(), "architecture": platform.machine(),
    }  # fmt: skip


def settings(conf: Mapping[str, Any]) -> list[str]:
    """Return Spark's settings as words of a command line."""
    return [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]


def answer(command: Sequence[str], limit_s: float, **variables: str) -> Row:
    """Run an application and return the object that it prints behind `RESULT `, with the seconds
    and the CPU seconds of the whole command; end where there is none.
    """
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, **variables}
    begun, begin, before = time.time(), time.perf_counter(), children_cpu_s()
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit_s, check=False, env=environment
        )
    except subprocess.TimeoutExpired:
        sys.exit(f"{' '.join(command)}\nno result in {limit_s} s: go on with --resume")
    row: Row = {"begun": begun, "wall_s": round(time.perf_counter() - begin, 3)}
    row["wall_cpu_s"] = round(children_cpu_s() - before, 2)
    for line in done.stdout.splitlines():
        if line.startswith(RESULT):
            return {**row, **json.loads(line.removeprefix(RESULT)), "stderr": done.stderr}
    sys.exit(f"{' '.join(command)}\nno result (exit {done.returncode})\n{done.stderr[-3000:]}")


def children_cpu_s() -> float:
    """Return the CPU seconds of all processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
