"""Runs a comparison: arms interleaved in random order, each run on record, kept as it ends.

A comparison is a directory: `comparison.json` says what is compared, `runs.jsonl` holds a line for
each run. The verdict is derived from both and stored in neither.
"""

import json
import os
import random
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hearth.bench.arms import Arm, kernel_setting, profile_words
from hearth.bench.verdict import certain
from hearth.launch.arguments import SubmitLine
from hearth.launch.children import run_child
from hearth.measure.analysis import analyse
from hearth.measure.counters import instructions_per_cycle
from hearth.measure.record import Record, read_record, slug, write_document
from hearth.model.errors import UserError

Document = dict[str, Any]
#: Looking after every repetition makes a chance finding likelier, so each look asks for more.
LOOK_CONFIDENCE = 0.99
_FEWEST = 5
_MARK = "hearth: record "
#: What must be the same for two runs to be held against each other.
_ALIKE = ("machine_settings", "versions", "cpus_of_node")
#: Settings that an arm changes on purpose.
_CHANGED = ("numa_balancing",)


class Comparison:
    """One comparison on disk, and what is in it."""

    def __init__(self, directory: Path, head: Document) -> None:
        self.directory, self.head = directory, head
        self.runs: list[Document] = []
        self._first: Record | None = None

    @staticmethod
    def begin(
        home: Path, application: str, arms: Sequence[Arm], settings: Document
    ) -> "Comparison":
        """A new, empty one below `home`; the first arm is the baseline."""
        now = datetime.now(UTC)
        name = f"{now:%Y%m%d-%H%M%S}-{slug(application)}-{secrets.token_hex(2)}"
        shown = [{"name": a.name, **({"skipped": a.skipped} if a.skipped else {})} for a in arms]
        head = {
            "id": name,
            "application": application,
            "started": now.isoformat(timespec="seconds"),
            "baseline": arms[0].name,
            "arms": shown,
            "settings": settings,
        }
        directory = home / "comparisons" / name
        directory.mkdir(parents=True)
        write_document(directory / "comparison.json", head)
        return Comparison(directory, head)

    def keep(self, run: Document) -> None:
        """Written through to the disk before the next run begins."""
        with (self.directory / "runs.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(run) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.runs.append(run)

    def check_alike(self, record: Record) -> None:
        """Raises UserError, naming what differs, where a run's machine is not the first one's."""
        if self._first is None:
            self._first = record
        refuse_unlike(self._first, record)


def refuse_unlike(first: Record, other: Record) -> None:
    """Raises UserError, naming the setting and both values, for runs that cannot be compared."""
    for place in _ALIKE:
        theirs, ours = first.head[place], other.head[place]
        for name in sorted({*theirs, *ours} - set(_CHANGED)):
            if theirs.get(name) != ours.get(name):
                raise UserError(
                    f"{name}: {_shown(theirs.get(name))} in {first.id} but "
                    f"{_shown(ours.get(name))} in {other.id}: "
                    "only runs on one machine with the same settings can be compared"
                )


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return str(value.get("value", f"absent ({value.get('absent')})"))
    return str(value)


def read_comparison(directory: Path) -> Comparison:
    """One from disk; raises UserError where there is none. A line cut short does not count."""
    try:
        head = json.loads((directory / "comparison.json").read_text(encoding="utf-8"))
        found = Comparison(directory, head)
        lines = directory / "runs.jsonl"
        whole = lines.read_text(encoding="utf-8").rpartition("\n")[0] if lines.is_file() else ""
        found.runs = [json.loads(line) for line in whole.splitlines()]
    except (OSError, ValueError) as error:
        raise UserError(f"'{directory}' holds no comparison: {error}") from error
    return found


def run(
    comparison: Comparison,
    arms: Sequence[Arm],
    line: SubmitLine,
    tell: Callable[[Document], None],
    enough: Callable[[int], bool],
) -> None:
    """Warm-ups, then repetitions until `enough` says so of their number.

    Within a repetition the arms run in random order. tell: called with each run once it is kept.
    """
    draw = random.Random(comparison.head["settings"]["seed"])
    running = [arm for arm in arms if arm.skipped is None]
    repetition = -int(comparison.head["settings"]["warmup"])
    while repetition < 0 or not enough(repetition):
        for arm in draw.sample(running, len(running)):
            comparison.keep(_run_arm(comparison, arm, line, repetition))
            tell(comparison.runs[-1])
        repetition += 1
        # What cannot run need not be tried again and again; without its baseline nothing counts.
        failed = {run["arm"] for run in comparison.runs if "failure" in run}
        running = [arm for arm in running if arm.name not in failed]
        if comparison.head["baseline"] in failed or len(running) < 2:
            break


def stop_rule(
    comparison: Comparison, repeat: int, until_certain: bool, budget_s: float | None
) -> Callable[[int], bool]:
    """When a comparison has repeated enough: at a number, when certain, or when time is up.

    A repetition that would not fit into what is left of the budget is not begun.
    """
    start = time.monotonic()

    def enough(done: int) -> bool:
        spent = time.monotonic() - start
        if budget_s is not None and done and spent + spent / (done + 1) > budget_s:
            return True
        if not until_certain:
            return done >= repeat
        return done >= max(_FEWEST, 1) and (
            done >= repeat or certain(comparison.head, comparison.runs, LOOK_CONFIDENCE)
        )

    return enough


def _run_arm(comparison: Comparison, arm: Arm, line: SubmitLine, repetition: int) -> Document:
    log = comparison.directory / f"{arm.name}-{repetition}.log"
    words = ["--no-summary", "--arm", arm.name, *profile_words(arm, line)]
    command = [sys.executable, "-m", "hearth", "profile", *words]
    if comparison.head["settings"]["cold"]:
        drop_caches()
    with kernel_setting(arm.balancing):
        code = run_child(command, {}, log)
    found: Document = {"arm": arm.name, "repetition": repetition}
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    record = next((x.removeprefix(_MARK) for x in reversed(lines) if x.startswith(_MARK)), None)
    if record is None or code:
        last = next((x for x in reversed(lines) if x.strip() and not x.startswith(_MARK)), "")
        reason = f"ended with {code}: {last.strip()[:200]} (log: {log})"
        return {**found, "record": record, "failure": reason}
    kept = read_record(comparison.directory.parent.parent / "records" / record)
    comparison.check_alike(kept)
    log.unlink()
    analysis = analyse(kept.directory)
    return {**found, "record": record, "seconds": kept.wall_s, "measures": measures(analysis)}


def measures(analysis: Document) -> Document:
    """What may explain a difference, of one run: a number, or `{"absent": reason}`."""
    executors = analysis["executors"]
    time_s = analysis["totals"].get("time")
    gc: Any = {"absent": "no event log"}
    if isinstance(time_s, dict) and time_s.get("run"):
        gc = time_s["gc"] / time_s["run"]
    local = _known(executors, "memory", "local_share")
    cpu = _known(executors, "use", "cpu_s")
    return {
        "gc_share": gc,
        "remote_share": 1 - sum(local) / len(local) if isinstance(local, list) else local,
        "involuntary": _total(executors, "involuntary"),
        "voluntary": _total(executors, "voluntary"),
        "cpu_s": sum(c["user"] + c["system"] for c in cpu) if isinstance(cpu, list) else cpu,
        "cpi": _cpi(analysis["counters"]),
    }


def _total(executors: list[Document], key: str) -> Any:
    known = _known(executors, "use", key)
    return sum(known) if isinstance(known, list) else known


def _known(executors: list[Document], group: str, key: str) -> Any:
    """The values of those JVMs of which it is known; `{"absent": reason}` where of none."""
    groups = [executor[group] for executor in executors]
    values = [g[key] for g in groups if key in g and g[key] is not None]
    told = [value for value in values if not (isinstance(value, dict) and "absent" in value)]
    if told:
        return told
    reasons = [part["absent"] for part in (*groups, *values) if "absent" in part]
    return {"absent": reasons[0] if reasons else "not recorded"}


def _cpi(counters: Document) -> Any:
    """Cycles per instruction, of the events summed over all processes."""
    if "absent" in counters:
        return counters
    sums = {
        name: sum(events.get(name, {}).get("value", 0.0) for events in counters.values())
        for name in ("cycles", "instructions")
    }
    per_cycle = instructions_per_cycle(sums["instructions"], sums["cycles"])
    return 1 / per_cycle if per_cycle else {"absent": "cycles and instructions were not counted"}


def drop_caches() -> None:
    """Empties the page cache, so that every run reads from the disk (root; sysctl/vm.rst)."""
    subprocess.run(["sync"], check=True)
    Path("/proc/sys/vm/drop_caches").write_text("3", encoding="ascii")
