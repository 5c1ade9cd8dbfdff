"""Run a comparison: arms interleaved in random order, each run recorded and kept as it ends.

The verdict is derived from what is kept, and not stored.
"""

import contextlib
import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from hearth.base.errors import UserError
from hearth.machine.switch import Switch
from hearth.record.schema import RecordedPlan, Setting
from hearth.record.store import Record, claimed, read_record, slug
from hearth.spark.saved_configs import machine_key
from hearth.studies.compare.result import ComparisonHead, ComparisonSettings, ListedArm
from hearth.studies.compare.verdict import certain
from hearth.studies.engine.arms import Arm, kernel_setting, setting_words
from hearth.studies.engine.kernel_settings import prefetchers_off
from hearth.studies.engine.measures import measures
from hearth.studies.engine.progress import StudyProgress
from hearth.studies.engine.schedule import Repetitions, StopRule, StudyDesign, conduct
from hearth.studies.engine.store import COMPARE, NEW, Opening, StudyDirectory, started_now
from hearth.studies.engine.target import Target
from hearth.studies.engine.trial import Trial, TrialLine, Turn

#: Settings by which CPUs come online: the CPUs of a record differ as well.
_BRINGS_CPUS = re.compile(r"/sys/devices/system/cpu/(smt/control|cpu\d+/online)")
DROP_CACHES = Path("/proc/sys/vm/drop_caches")


class Comparison(StudyDirectory[ComparisonHead, TrialLine]):
    """One comparison on disk, and the trials in it."""

    kind, head_type, line_type = COMPARE, ComparisonHead, TrialLine

    @staticmethod
    def begin(
        home: Path,
        application: str,
        arms: Sequence[Arm],
        settings: ComparisonSettings,
        opening: Opening = NEW,
    ) -> "Comparison":
        """Return a new, empty one below `home`, or the one to go on with.

        The first arm is the baseline.
        """

        def head(number: str) -> ComparisonHead:
            return ComparisonHead(
                id=number,
                application=application,
                started=started_now(),
                baseline=arms[0].name,
                arms=[ListedArm(arm.name, arm.skipped, setting_words(arm)) for arm in arms],
                settings=settings,
                machine=machine_key() if any(arm.fix for arm in arms) else None,
            )

        return Comparison.open(home, application, head, opening)

    @staticmethod
    def asked(head: ComparisonHead) -> dict[str, object]:
        names = [arm.name for arm in head.arms]
        return {"application": head.application, "arms": names, **vars(head.settings)}

    @property
    def trials(self) -> list[Trial]:
        """In the order of time."""
        return [line.trial(self.head.application) for line in self.lines]

    def records(self) -> Iterable[str | None]:
        return [line.record for line in self.lines if not line.failure]


def run(
    comparison: Comparison,
    arms: Sequence[Arm],
    target: Target,
    progress: StudyProgress | None = None,
    *,
    budget_s: float | None = None,
    against_baseline: bool = True,
) -> None:
    """Make the runs that are not in the comparison yet; progress: show how far it is.

    against_baseline: whether runs count only together with those of the baseline, as in a verdict.
    """
    head, settings = comparison.head, comparison.head.settings
    ways = {arm.name: arm for arm in arms if arm.skipped is None}
    design = StudyDesign(
        arms={head.application: list(ways)},
        repeat=settings.most,
        warmup=settings.warmup,
        seed=settings.seed,
        budget_s=budget_s,
        baseline=head.baseline if against_baseline else None,
    )
    conduct(
        Repetitions(design, _stop_rule(head)),
        lambda turn: _run_arm(comparison, ways, target, turn),
        lambda trial: comparison.keep(TrialLine.of(trial)),
        earlier=comparison.trials,
        progress=progress,
    )


def _stop_rule(head: ComparisonHead) -> StopRule:
    """Stop when a comparison is certain, at the looks that its settings name, and at no others.

    Each look is one more chance to be wrong, and the intervals are made for so many.
    """
    return lambda done, trials: done in (head.settings.looks or ()) and certain(head, trials)


def _run_arm(comparison: Comparison, arms: Mapping[str, Arm], target: Target, turn: Turn) -> Trial:
    """Return one run; the id of its record is chosen here, and the run is given it."""
    arm = arms[turn.arm]
    log = comparison.directory / f"{slug(arm.name)}-{turn.repetition}.log"
    if comparison.head.settings.cold:
        drop_caches()
    state = comparison.state_home
    with claimed(state, Path(target.name).stem) as record, _machine_as_wanted(arm, state):
        trial = target.run(turn, arm, record, log)
    if trial.failure is not None:
        return trial
    kept = read_record(record)
    comparison.check_alike(kept, _switched(kept, arms))
    log.unlink(missing_ok=True)
    found = measures(kept, trial.ramp_up_end_ms)
    return replace(trial, measures=found, plan=_executors(kept.head.plan))


def _switched(record: Record, arms: Mapping[str, Arm]) -> set[str]:
    """Return the names of what a record says of the machine that some arm changes on purpose."""
    paths = {f"/{one.path}" for arm in arms.values() if arm.fix for one in arm.fix.settings}
    told = record.head.machine_settings.items()
    found = {name for name, one in told if isinstance(one, Setting) and one.source in paths}
    if any(_BRINGS_CPUS.fullmatch(path) for path in paths):
        found |= {"cpus_online", "nodes_online", *record.head.cpus_of_node}
    return found


def _executors(plan: RecordedPlan | None) -> str | None:
    """Return the executors of a plan, by what makes two runs of an arm alike.

    None without a plan.
    """
    if plan is None:
        return None
    places = (f"{e.task_slots} on CPUs {e.cpus}, {e.heap_mb} MiB" for e in plan.executors)
    return "; ".join([plan.mode, *places])


@contextlib.contextmanager
def _machine_as_wanted(arm: Arm, state_home: Path) -> Iterator[None]:
    """Change the machine's settings as an arm wants, for as long as it runs."""
    with contextlib.ExitStack() as stack:
        if arm.fix is not None:
            stack.enter_context(Switch.of(state_home).held(arm.fix))
        stack.enter_context(kernel_setting(arm.balancing))
        if arm.prefetchers is not None:
            stack.enter_context(prefetchers_off(arm.prefetchers, sorted(os.sched_getaffinity(0))))
        yield


def cannot_drop_caches() -> str | None:
    """Return why the page cache cannot be dropped here; None where it can."""
    return None if os.access(DROP_CACHES, os.W_OK) else f"only root can write {DROP_CACHES}"


def check_cold() -> None:
    """Raise UserError where `--cold` is not possible."""
    if (reason := cannot_drop_caches()) is not None:
        raise UserError(f"--cold: {reason}: leave it out, or run as root")


def drop_caches() -> None:
    """Empty the page cache, so that every run reads from the disk (root; sysctl/vm.rst)."""
    subprocess.run(["sync"], check=True)
    DROP_CACHES.write_text("3", encoding="ascii")
