"""Which check belongs to which job."""

from hearth.base.errors import PACKAGES, not_installed
from hearth.workloads.checks import (
    Check,
    FinishedRun,
    UncheckedError,
    Verdict,
    WrongAnswerError,
)
from hearth.workloads.checks.core import CORE
from hearth.workloads.checks.graph import GRAPH
from hearth.workloads.checks.learning import LEARNING
from hearth.workloads.checks.sql import SQL
from hearth.workloads.checks.streams import STREAMS

CHECKS: dict[str, Check] = {**CORE, **LEARNING, **GRAPH, **SQL, **STREAMS}


def check(run: FinishedRun) -> Verdict:
    """Return the verdict on a run; `unchecked`, with the reason, for a job that has no check."""
    compare = CHECKS.get(run.job)
    if compare is None:
        return Verdict("unchecked", f"{run.job} has no check")
    try:
        return Verdict("checked", compare(run))
    except WrongAnswerError as error:
        return Verdict("wrong", str(error))
    except UncheckedError as error:
        return Verdict("unchecked", str(error))
    except ModuleNotFoundError as error:
        module = str(error.name).partition(".")[0]
        return Verdict("unchecked", str(not_installed(PACKAGES.get(module, module))))
    except (ValueError, TypeError, LookupError, OSError) as error:  # whatever a job wrote
        return Verdict("wrong", f"its answer cannot be read: {type(error).__name__}: {error}")
