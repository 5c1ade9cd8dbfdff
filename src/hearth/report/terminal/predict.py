"""A prediction in the terminal: partitionings, the fastest first."""

from hearth.base.absent import Absent
from hearth.base.durations import show_moment
from hearth.base.sizes import counted
from hearth.report.terminal.screen import Screen, table
from hearth.studies.models.prediction import NodesOfRun, PredictedPartitionings, PredictedPlace

_BOUND = {"none": "not bound", "node": "bound to nodes", "package": "bound to packages"}


def show_prediction(prediction: PredictedPartitionings, screen: Screen) -> list[str]:
    """Return the table, with what it was made from."""
    run = prediction.from_
    which = which_run(run.id, run.application, run.started)
    text = (
        f"From {which}: {run.seconds:.1f} s with {run.executors}x{run.cores}, "
        f"{counted(run.tasks, 'task')} in {counted(run.stages, 'stage')}."
    )
    rows = [
        [f"{one.executors}x{one.cores}", f"{one.value:.1f}", f"{one.low:.1f} to {one.high:.1f}",
         f"{one.value / run.seconds - 1:+z.0%}"]
        for one in prediction.predictions
    ]  # fmt: skip
    head = ["executors x cores", "seconds", f"{prediction.confidence:.0%} interval", "change"]
    texts = [text, *_place(prediction.place)]
    lines = [*(screen.paragraph(text, "  ") for text in texts), ""]
    lines += [*table(screen, head, rows, "seconds change")]
    notes = [
        *prediction.notes,
        "Spark's start, the input and the total heap are taken to be as in the run",
    ]
    return [*lines, "", *(screen.paragraph(screen.paint(f"{n}.", "dim"), "  ") for n in notes)]


def which_run(run: str | None, application: str | None, started: str | None) -> str:
    """Return a run by its id, its application and when it was; an event log by its application."""
    about = [*filter(None, [application]), *([show_moment(started)] if started else [])]
    if run is None:
        return " of ".join(["the event log", *about[:1]])
    return f"{run} ({', '.join(about)})" if about else run


def _place(place: PredictedPlace) -> list[str]:
    """Return where it was and is asked about, where either differs."""
    before, after, effect = place.from_, place.to, place.effect
    if before == after:
        return []

    def shown(one: NodesOfRun) -> str:
        return f"{_BOUND[one.binding]}, {one.nodes} node{'s' if one.nodes > 1 else ''}"

    lines = [f"It was {shown(before)}; predicted: {shown(after)}."]
    if not isinstance(effect, Absent):
        lines.append(
            f"Nearer or farther memory accounts for {effect.value - 1:+.0%} of the time "
            f"({effect.low - 1:+.0%} to {effect.high - 1:+.0%})."
        )
    return lines
