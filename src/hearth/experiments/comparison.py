"""Runs a comparison: arms interleaved in random order, each run on record, kept as it ends.

A comparison is a directory: `comparison.json` says what is compared, `runs.jsonl` holds a line for
each run. The verdict is derived from both and stored in neither.
"""

import contextlib
import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hearth.experiments.arms import Arm, kernel_setting
from hearth.experiments.journal import REMEDY, begin_directory, keep_line, read_journal
from hearth.experiments.measures import measures
from hearth.experiments.prefetchers import switched_off
from hearth.experiments.shapes import ComparisonHead, ComparisonRun
from hearth.experiments.subjects import Subject
from hearth.experiments.verdict import certain
from hearth.measure.record import Record, new_name, read_record, slug
from hearth.model.documents import read_document
from hearth.model.errors import UserError

Document = dict[str, Any]
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
        name = new_name(application)
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
        begin_directory(directory, "comparison.json", head)
        return Comparison(directory, head)

    def keep(self, run: Document) -> None:
        """Written through to the disk before the next run begins."""
        keep_line(self.directory / "runs.jsonl", run)
        self.runs.append(run)

    def check_alike(self, record: Record) -> None:
        """Raises UserError, naming what differs, where a run's machine is not the first one's."""
        if self._first is None:
            self._first = record
        refuse_unlike(self._first, record)


def refuse_unlike(first: Record, other: Record) -> None:
    """Raises UserError, naming the setting and both values, for runs that cannot be compared."""
    for place in _ALIKE:
        theirs, ours = getattr(first.head, place), getattr(other.head, place)
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
    head = read_document(directory / "comparison.json", ComparisonHead, REMEDY)
    if head["baseline"] not in [arm["name"] for arm in head["arms"]]:
        raise UserError(f"'{directory}': its baseline is none of its arms; {REMEDY}")
    found = Comparison(directory, head)
    found.runs = read_journal(directory / "runs.jsonl", ComparisonRun)
    return found


def run(
    comparison: Comparison,
    arms: Sequence[Arm],
    subject: Subject,
    tell: Callable[[Document], None],
    enough: Callable[[int], bool],
    *,
    against_baseline: bool = True,
) -> None:
    """Warm-ups, then repetitions until `enough` says so of their number.

    Within a repetition the arms run in random order. tell: called with each run once it is kept.
    against_baseline: whether runs count only beside those of the baseline, as in a verdict.
    """
    draw = random.Random(comparison.head["settings"]["seed"])
    running = [arm for arm in arms if arm.skipped is None]
    repetition = -int(comparison.head["settings"]["warmup"])
    while repetition < 0 or not enough(repetition):
        for arm in draw.sample(running, len(running)):
            comparison.keep(_run_arm(comparison, arm, subject, repetition))
            tell(comparison.runs[-1])
        repetition += 1
        # What cannot run need not be tried again and again.
        failed = {run["arm"] for run in comparison.runs if "failure" in run}
        running = [arm for arm in running if arm.name not in failed]
        lost = comparison.head["baseline"] in failed or len(running) < 2
        if not running or (against_baseline and lost):
            break


def stop_rule(comparison: Comparison, budget_s: float | None) -> Callable[[int], bool]:
    """When a comparison has repeated enough: at its number, when certain, or when time is up.

    Its settings hold the number, `repeat`, or where it stops by its result, `looks`: it looks at
    the result after these numbers of repetitions and at no others, because each look is one more
    chance to be wrong, and the intervals are made for so many. A repetition that would not fit into
    what is left of the budget is not begun.
    """
    settings = comparison.head["settings"]
    looks = settings.get("looks", [])
    most = looks[-1] if looks else settings["repeat"]
    start = time.monotonic()

    def enough(done: int) -> bool:
        spent = time.monotonic() - start
        if budget_s is not None and done and spent + spent / (done + 1) > budget_s:
            return True
        return done >= most or (done in looks and certain(comparison.head, comparison.runs))

    return enough


def _run_arm(comparison: Comparison, arm: Arm, subject: Subject, repetition: int) -> Document:
    log = comparison.directory / f"{slug(arm.name)}-{repetition}.log"
    if comparison.head["settings"]["cold"]:
        drop_caches()
    with _machine_as_wanted(arm):
        ended = subject.run(arm, log)
    found: Document = {"arm": arm.name, "repetition": repetition, "record": ended.record}
    if ended.failure is not None or ended.record is None:
        return {**found, "failure": ended.failure or f"left no record (log: {log})"}
    kept = read_record(comparison.directory.parent.parent / "records" / ended.record)
    comparison.check_alike(kept)
    log.unlink(missing_ok=True)
    seconds = kept.wall_s if ended.seconds is None else ended.seconds
    return {**found, "seconds": seconds, **ended.told, "measures": measures(kept)}


@contextlib.contextmanager
def _machine_as_wanted(arm: Arm) -> Iterator[None]:
    """Settings of the machine that an arm changes, for as long as it runs."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(kernel_setting(arm.balancing))
        if arm.prefetchers is not None:
            stack.enter_context(switched_off(arm.prefetchers, sorted(os.sched_getaffinity(0))))
        yield


def drop_caches() -> None:
    """Empties the page cache, so that every run reads from the disk (root; sysctl/vm.rst)."""
    subprocess.run(["sync"], check=True)
    Path("/proc/sys/vm/drop_caches").write_text("3", encoding="ascii")
