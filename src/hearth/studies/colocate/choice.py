"""Choose the split, the only one or the best that is predicted, and run the applications on it."""

from collections.abc import Sequence

from hearth.base.errors import UserError
from hearth.studies.colocate.partition import Units
from hearth.studies.colocate.prediction import prediction_of
from hearth.studies.colocate.result import SCHEMA, Colocated, Predicted, colocated, predicted
from hearth.studies.colocate.study import (
    Colocation,
    ColocationSettings,
    Member,
    PlannedColocation,
    PriorCurves,
    profile_alone,
    run,
)
from hearth.studies.engine.progress import StudyProgress
from hearth.studies.engine.statistics import CONFIDENCE
from hearth.studies.models.colocation import Objective, show_split


def chosen(ways: Sequence[tuple[int, ...]], prediction: Predicted | None) -> tuple[int, ...]:
    """Return the split to run; raise UserError if nothing says which of several is best."""
    if len(ways) == 1:
        return ways[0]
    if prediction is None or not prediction.splits:
        raise UserError(
            f"--split: nothing says which of {len(ways)} splits is best: choose one, or "
            "add --profile-first, or --from with a recorded run of each application"
        )
    return prediction.splits[0].units


def foreseen(
    members: list[Member],
    units: Units,
    objective: Objective,
    known: PriorCurves | None,
    ways: Sequence[tuple[int, ...]],
    settings: ColocationSettings | None = None,
) -> Colocated:
    """Return what is predicted where nothing runs; settings: of what would run here."""
    prediction = None if known is None else predicted(known, ways, objective)
    return Colocated(
        schema=SCHEMA, id=None, started=None, applications=members, kind=units.kind,
        units=units.shown, objective=objective, confidence=CONFIDENCE,
        split=show_split(chosen(ways, prediction)), prediction=prediction, settings=settings,
    )  # fmt: skip


def colocate(
    colocation: Colocation,
    planned: PlannedColocation,
    progress: StudyProgress,
    budget_s: float | None = None,
) -> Colocated:
    """Make the rounds that are missing, of each application alone first if so asked."""
    if planned.settings.profile_first:
        profile_alone(colocation, planned, progress)
    prediction = prediction_of(colocation, planned.ways)
    split = chosen(planned.ways, prediction)
    run(colocation, planned, split, progress, budget_s)
    return colocated(colocation, prediction, show_split(split))
