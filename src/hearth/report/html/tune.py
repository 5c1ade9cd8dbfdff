"""A tune on the page: what its template shows."""

from hearth.base.absent import Absent
from hearth.report.html.figures import heat, steps
from hearth.report.html.shown import Cell, View
from hearth.report.terminal import tune
from hearth.studies.tune.result import Tuned


def tune_view(found: Tuned) -> View:
    """Show the best configuration and why, the trials, the model's surface with its uncertainty."""
    return {
        "sentence": tune.sentence(found),
        "why": [] if isinstance(found.best, Absent) else found.best.why,
        "warnings": [f"{text}." for text in found.warnings],
        "head": ["trial", "configuration", "why tried", *tune.HEAD[found.settings.objective]],
        "trials": tune.rows(found),
        "front": tune.front_words(found),
        "order": _order(found),
        "untried": _untried(found),
        "to_copy": tune.to_copy(found),
        "next": tune.next_steps(found),
        "heat": _heat(found),
        "notes": tune.notes(found),
    }


def _order(found: Tuned) -> View | None:
    """Return each trial in its order: what was expected, what it took, the best so far."""
    ended = [trial for trial in found.trials if trial.value is not None]
    if not ended:
        return None
    ends = [end for trial in ended for end in [*(trial.expected or []), trial.value or 0.0]]
    most = 1.04 * min(max(ends), 3 * max(trial.value or 0.0 for trial in ended))
    best, rows = float("inf"), []
    for trial in ended:
        took = trial.value or 0.0
        best = min(best, took)
        low, _, high = trial.expected or [took, took, took]
        rows.append(
            {
                "name": f"{trial.number}: {trial.configuration.shown}",
                "low": min(low / most, 1.0),
                "high": min(high / most, 1.0),
                "middle": took / most,
                "kind": "good" if took == best else "open",
                "points": [best / most],
                "words": f"{tune.value(took, found)}, best so far {tune.value(best, found)}",
            }
        )
    ticks = [(tick / most, f"{tick:.4g}") for tick in steps(most)]
    unit = "core-seconds" if found.settings.objective == "core-seconds" else "seconds"
    return {"intervals": rows, "one": best / most, "band": None, "ticks": ticks, "unit": unit}


def _untried(found: Tuned) -> list[list[Cell]]:
    """Return the best of the configurations that were not tried, with their intervals."""
    return [
        [one.configuration, *(tune.value(v, found) for v in (one.value, one.low, one.high))]
        for one in [one for one in found.forecasts if not one.tried][: tune.FORECASTS]
    ]


def _heat(found: Tuned) -> View | None:
    forecasts = {(one.executors, one.cores): one for one in tune.surface(found)}
    if not forecasts or isinstance(found.best, Absent):
        return None
    name = found.best.configuration.shown
    best = next((at for at, one in forecasts.items() if one.configuration == name), None)
    cells = {at: (one.value, tune.forecast(one, found)) for at, one in forecasts.items()}
    choices = ", ".join(next(iter(forecasts.values())).choices[1:])
    return {**heat(cells, best, lambda of: tune.value(of, found)), "choices": choices}
