"""Runs a comparison: arms interleaved in random order, each run recorded and kept as it ends.

A comparison is a directory: `comparison.json` says what is compared, `runs.jsonl` is the journal of
its runs. The verdict is derived from both and stored in neither.
"""

import contextlib
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hearth.base.codec import read_typed, to_json
from hearth.base.errors import UserError
from hearth.base.redaction import Redaction
from hearth.record.store import Record, claimed, read_record, records_home, slug
from hearth.studies.compare.result import ComparisonHead, ComparisonSettings, ListedArm
from hearth.studies.compare.verdict import certain
from hearth.studies.engine.arms import Arm, kernel_setting
from hearth.studies.engine.measures import measures
from hearth.studies.engine.prefetchers import switched_off
from hearth.studies.engine.progress import Following
from hearth.studies.engine.schedule import Experiment, StopRule, conduct
from hearth.studies.engine.schema import ComparisonRun
from hearth.studies.engine.store import REMEDY, Journal, begin_directory, fresh_directory
from hearth.studies.engine.target import Target
from hearth.studies.engine.trial import Outcome, Turn, outcome_line, read_outcome

_HEAD, _RUNS = "comparison.json", "runs.jsonl"
#: What must be the same for two runs to be compared.
_ALIKE = ("machine_settings", "versions", "cpus_of_node")
#: Settings that an arm changes on purpose.
_CHANGED = ("numa_balancing",)


class Comparison:
    """One comparison on disk, and the outcomes in it."""

    def __init__(
        self, directory: Path, head: ComparisonHead, redaction: Redaction | None = None
    ) -> None:
        self.directory, self.head = directory, head
        self.outcomes: list[Outcome] = []
        self.journal = Journal(directory / _RUNS, redaction)
        self._first: Record | None = None

    @staticmethod
    def begin(
        home: Path,
        application: str,
        arms: Sequence[Arm],
        settings: ComparisonSettings,
        redaction: Redaction | None = None,
    ) -> "Comparison":
        """A new, empty one below `home`; the first arm is the baseline."""
        directory = fresh_directory(home / "comparisons", application)
        head = ComparisonHead(
            id=directory.name,
            application=application,
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            baseline=arms[0].name,
            arms=[ListedArm(arm.name, arm.skipped) for arm in arms],
            settings=settings,
        )
        begin_directory(directory, _HEAD, to_json(head))
        return Comparison(directory, head, redaction)

    @staticmethod
    def resume(
        home: Path,
        number: str,
        application: str,
        arms: Sequence[Arm],
        settings: ComparisonSettings,
        redaction: Redaction | None = None,
    ) -> "Comparison":
        """The one of this id below `home`, to go on with.

        Raises UserError, naming what differs, for one of another application, arm or setting.
        """
        directory = home / "comparisons" / number
        if Path(number).name != number or not directory.is_dir():
            raise UserError(
                f"--resume: no comparison has the id '{number}': 'hearth runs' lists them"
            )
        found = read_comparison(directory)
        asked = {"application": application, "arms": [arm.name for arm in arms], **vars(settings)}
        kept = {
            "application": found.head.application,
            "arms": [arm.name for arm in found.head.arms],
        }
        refuse_other_command(number, {**kept, **vars(found.head.settings)}, asked)
        found.journal.redaction = found.journal.redaction if redaction is None else redaction
        found.journal.cut_torn_line()
        found._first = found._first_on_record(home)
        return found

    def _first_on_record(self, home: Path) -> Record | None:
        """The record of the first run that did not fail, where it was not deleted."""
        ids = [outcome.record for outcome in self.outcomes if not outcome.failure]
        there = [records_home(home) / name for name in ids if name is not None]
        return next((read_record(place) for place in there if place.is_dir()), None)

    def keep(self, outcome: Outcome) -> None:
        """On the disk before the next run begins."""
        self.journal.keep(outcome_line(outcome))
        self.outcomes.append(outcome)

    def check_alike(self, record: Record) -> None:
        """Raises UserError, naming what differs, where a run's machine is not the first one's."""
        if self._first is None:
            self._first = record
        refuse_unlike(self._first, record)


def refuse_other_command(number: str, kept: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Raises UserError, with both values, where what is resumed was asked for in another way."""
    for name, value in kept.items():
        if value != asked[name]:
            raise UserError(
                f"--resume: {number} has {name} {_words(value)}, not {_words(asked[name])}: "
                "repeat its command as it was, or leave out --resume"
            )


def _words(value: Any) -> str:
    return f"'{' '.join(map(str, value))}'" if isinstance(value, list | tuple) else str(value)


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
    head = read_typed(directory / _HEAD, ComparisonHead, REMEDY)
    if head.baseline not in [arm.name for arm in head.arms]:
        raise UserError(f"'{directory}': its baseline is not one of its arms; {REMEDY}")
    found = Comparison(directory, head)
    lines = found.journal.read(ComparisonRun)
    found.outcomes = [read_outcome(line, head.application) for line in lines]
    return found


def run(
    comparison: Comparison,
    arms: Sequence[Arm],
    subject: Target,
    following: Following | None = None,
    *,
    budget_s: float | None = None,
    against_baseline: bool = True,
) -> None:
    """Makes the runs that are not in the comparison yet; following: shows how far it is.

    against_baseline: whether runs count only together with those of the baseline, as in a verdict.
    """
    head, settings = comparison.head, comparison.head.settings
    ways = {arm.name: arm for arm in arms if arm.skipped is None}
    experiment = Experiment(
        arms={head.application: list(ways)},
        repeat=settings.most,
        warmup=settings.warmup,
        seed=settings.seed,
        budget_s=budget_s,
        baseline=head.baseline if against_baseline else None,
    )
    conduct(
        experiment,
        lambda turn: _run_arm(comparison, ways[turn.arm], subject, turn),
        comparison.keep,
        earlier=comparison.outcomes,
        enough=_stop_rule(head),
        following=following,
    )


def _stop_rule(head: ComparisonHead) -> StopRule:
    """When a comparison is certain, at the looks that its settings name, and at no others.

    Each look is one more chance to be wrong, and the intervals are made for so many.
    """
    return lambda done, outcomes: done in (head.settings.looks or ()) and certain(head, outcomes)


def _run_arm(comparison: Comparison, arm: Arm, subject: Target, turn: Turn) -> Outcome:
    """One run; the id of its record is chosen here, and the run is given it."""
    log = comparison.directory / f"{slug(arm.name)}-{turn.repetition}.log"
    if comparison.head.settings.cold:
        drop_caches()
    home = comparison.directory.parent.parent
    with claimed(home, Path(subject.name).stem) as record, _machine_as_wanted(arm):
        outcome = subject.run(turn, arm, record, log)
    if outcome.failure is not None:
        return outcome
    kept = read_record(record)
    comparison.check_alike(kept)
    log.unlink(missing_ok=True)
    return replace(outcome, measures=measures(kept), plan=_executors(kept.head.plan))


def _executors(plan: Mapping[str, Any] | None) -> str | None:
    """The executors of a plan, by what makes two runs of an arm alike; None without a plan."""
    if plan is None:
        return None
    places = (
        f"{e['task_slots']} on CPUs {e['cpus']}, {e['heap_mb']} MiB" for e in plan["executors"]
    )
    return "; ".join([plan["mode"], *places])


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
