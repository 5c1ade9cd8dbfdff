"""Make one run of a study, on record, the machine set as its arm wants."""

import contextlib
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hearth.base.errors import UserError
from hearth.machine.switch import Switch
from hearth.record.schema import RecordedPlan, Setting
from hearth.record.store import Record, claimed, has_begun, read_record, records_home
from hearth.studies.engine.arms import Arm, kernel_setting
from hearth.studies.engine.kernel_settings import prefetchers_off
from hearth.studies.engine.measures import measures
from hearth.studies.engine.store import Study
from hearth.studies.engine.target import Target
from hearth.studies.engine.trial import Trial, Turn

#: Settings by which CPUs come online: the CPUs of a record differ as well.
_BRINGS_CPUS = re.compile(r"/sys/devices/system/cpu/(smt/control|cpu\d+/online)")
DROP_CACHES = Path("/proc/sys/vm/drop_caches")


def run_arm(
    study: Study[Any, Trial],
    target: Target,
    arm: Arm,
    turn: Turn,
    log: str,
    *,
    cold: bool = False,
    others: Sequence[Arm] = (),
) -> Trial:
    """Return one run with its measures.

    log: the name of its log, which stays where it failed. others: the arms of the study, which may
    change the machine. Raises UserError where the machine is not as in the runs before.
    """
    trial = run_on_record(study, target, arm, turn, log, cold=cold)
    if trial.failure is not None:
        return trial
    return measured(study, trial, others)


def run_on_record(
    study: Study[Any, Trial], target: Target, arm: Arm, turn: Turn, log: str, *, cold: bool = False
) -> Trial:
    """Return one run; the id of its record is chosen here, and the run is given it."""
    file = study.directory / f"{log}.log"
    if cold:
        drop_caches()
    state = study.state_home
    with claimed(state, Path(target.name).stem) as directory, _machine_as_wanted(arm, state):
        trial = target.run(turn, arm, directory, file)
    if trial.failure is None:
        file.unlink(missing_ok=True)
    wall_s = read_record(directory).wall_s if has_begun(directory) else None
    return replace(trial, wall_s=wall_s)


def measured(study: Study[Any, Trial], trial: Trial, others: Sequence[Arm] = ()) -> Trial:
    """Return a run with what its record says. Raises UserError as `run_arm` does."""
    if trial.record is None:
        return trial
    record = read_record(records_home(study.state_home) / trial.record)
    study.check_alike(record, _switched(record, others))
    values = measures(record, trial.ramp_up_end_ms)
    return replace(trial, measures=values, plan=_executors(record.head.plan))


def _switched(record: Record, arms: Sequence[Arm]) -> set[str]:
    """Return the names of what a record says of the machine that some arm changes on purpose."""
    paths = {f"/{one.path}" for arm in arms if arm.fix for one in arm.fix.settings}
    told = record.head.machine_settings.items()
    names = {name for name, one in told if isinstance(one, Setting) and one.source in paths}
    if any(_BRINGS_CPUS.fullmatch(path) for path in paths):
        names |= {"cpus_online", "nodes_online", *record.head.cpus_of_node}
    return names


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
