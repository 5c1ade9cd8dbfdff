"""Which check belongs to which job."""

from collections.abc import Callable

from hearth.bench.checks import FinishedRun, Verdict
from hearth.bench.checks.core import CORE

Check = Callable[[FinishedRun], Verdict]

CHECKS: dict[str, Check] = {**CORE}


def check(run: FinishedRun) -> Verdict:
    """The verdict on a run; `unchecked`, with the reason, for a job that has no check."""
    found = CHECKS.get(run.job)
    if found is None:
        return Verdict("unchecked", f"{run.job} has no check")
    try:
        return found(run)
    except ModuleNotFoundError as error:
        return Verdict("unchecked", f"{error.name} is not installed: pip install 'hearth[bench]'")
