"""A tune in the terminal: its trials, the best configuration, what it gains and why."""

import shlex

from hearth.base.absent import Absent, Measured
from hearth.base.durations import show_seconds
from hearth.report.terminal.screen import Screen, table
from hearth.studies.models.space import DRIVERS_JAVA_OPTIONS, JAVA_OPTIONS
from hearth.studies.tune.result import ConfigurationForecast, Tuned, TunedTrial

_REST = ["expected", "GC share", "CPU use", "note"]
#: By the objective, what heads the columns of a trial behind its configuration.
HEAD = {
    "time": ["seconds", *_REST],
    "core-seconds": ["core-s", *_REST],
    "throughput": ["per-hour", *_REST],
    "time,core-seconds": ["seconds", *_REST],
}
_ROLES = {"proposal": "the plan", "current": "as typed", "search": "", "repeat": "again"}
FORECASTS = 5
#: A surface of fewer says nothing; one of more columns does not fit a screen.
_LEAST_SURFACE, _MOST_COLUMNS = 4, 10


def show_tune(tune: Tuned, screen: Screen) -> list[str]:
    """Show the trials as a table, then the best in one sentence, then why, doubts and the rest."""
    head = ["trial", "configuration", "why tried", *HEAD[tune.settings.objective]]
    title = f"Tune of {tune.application}, {tune.id}"
    shown = table(screen, head, rows(tune), f"trial {head[3]}")
    lines = [screen.title(title), "", *shown]
    texts = [f"warning: {text}." for text in tune.warnings]
    texts += _best(tune)
    texts += front_words(tune)
    texts += [f"To copy: {copied}" for copied in to_copy(tune)]
    texts += [f"Next: {step}" for step in next_steps(tune)]
    lines += ["", *(screen.paragraph(text, "  ", "    ") for text in texts)]
    lines += [*_surface(tune, screen), *_untried(tune, screen)]
    last = [screen.paragraph(screen.paint(text, "dim"), "  ") for text in notes(tune)]
    return [*lines, "", *last]


def sentence(tune: Tuned) -> str:
    """Return the best configuration, and what it is expected to save."""
    best = tune.best
    if isinstance(best, Absent):
        return f"There is no best configuration: {best.reason}."
    name = best.configuration.shown
    saving = best.saving
    if isinstance(saving, Absent):
        return f"Best of those tried: {name}; {saving.reason}."
    low, high = saving.low, saving.high
    sure = "" if low > 0 else ", so the gain is not certain"
    return (
        f"Best of those tried: {name}; expected to save {saving.value:.0%} of the "
        f"{_what(tune)} of your own configuration ({best.confidence:.0%} interval "
        f"{low:.0%} to {high:.0%}{sure})."
    )


def to_copy(tune: Tuned) -> list[str]:
    """Return the best configuration as words for `hearth submit`; nothing without one."""
    if isinstance(tune.best, Absent):
        return []
    best = tune.best.configuration
    words = ["hearth", "submit"]
    if not best.master.startswith("local-numa"):
        words += ["--master", best.master]
    elif best.executors:
        words += ["--executors", str(best.executors), "--cores", str(best.cores)]
        words += ["--bind", "none"] if best.binding == "none" else []
    confs = dict(best.varied)
    if best.java:
        confs[JAVA_OPTIONS if best.executors else DRIVERS_JAVA_OPTIONS] = best.java
    words += [word for key, value in confs.items() for word in ("--conf", f"{key}={value}")]
    return [shlex.join(words)]


def next_steps(tune: Tuned) -> list[str]:
    """Return what to run next, after a tune that found something."""
    if isinstance(tune.best, Absent):
        return []
    if tune.not_kept is not None:
        return ["tune again on a quiet machine: add --wait-quiet 10m to the command"]
    if isinstance(tune.scatter, Absent):
        more = tune.settings.budget + 2
        return [f"hearth tune --resume {tune.id} --budget {more}: it repeats the best"]
    return ["hearth compare --arms native,tuned with the same application, to confirm the gain"]


def _what(tune: Tuned) -> str:
    return "core-seconds" if tune.settings.objective == "core-seconds" else "time"


def value(value: float, tune: Tuned) -> str:
    """Return a value in the objective's unit."""
    if tune.settings.objective == "throughput":
        return f"{3600 / value:.1f}"
    return f"{value:.2f}"


def rows(tune: Tuned) -> list[list[str]]:
    """Return the cells of each trial."""
    return [_row(trial, tune) for trial in tune.trials]


def _row(trial: TunedTrial, tune: Tuned) -> list[str]:
    measures, expected = trial.measures, trial.expected
    took = "-" if trial.value is None else value(trial.value, tune)
    range_ = "-"
    if expected is not None:
        ends = sorted((expected[0], expected[2]), reverse=tune.settings.objective == "throughput")
        range_ = " to ".join(value(end, tune) for end in ends)
    note = "" if trial.why in (None, "best", "unexplained") else str(trial.why)
    if trial.stopped_s is not None:
        note = f"stopped after {show_seconds(trial.stopped_s)}: too slow to win"
    if trial.failure is not None:
        note = f"failed: {trial.failure}"
    return [
        str(trial.number),
        trial.configuration.shown,
        _ROLES[trial.role],
        took,
        range_,
        _share(measures.get("gc_share")),
        _share(measures.get("cpu_use")),
        note,
    ]


def _share(value: Measured[float] | None) -> str:
    return f"{value:.0%}" if isinstance(value, int | float) else "-"


def _best(tune: Tuned) -> list[str]:
    best = tune.best
    if isinstance(best, Absent):
        return [sentence(tune)]
    return [sentence(tune), *(f"- {why}" for why in best.why)]


def front(tune: Tuned) -> list[tuple[str, float, float]]:
    """Return name, seconds, core-seconds of trials that none beats in both, the fastest first."""
    found: dict[str, tuple[float, float]] = {}
    for trial in tune.trials:
        if trial.pareto and trial.seconds is not None:
            cost = trial.seconds, trial.seconds * trial.configuration.slots
            found[trial.configuration.shown] = cost
    return sorted(((name, *cost) for name, cost in found.items()), key=lambda one: one[1])


def front_words(tune: Tuned) -> list[str]:
    """Return the front as a sentence; nothing where one trial is the best in both."""
    found = front(tune)
    if len(found) < 2:
        return []
    shown = "; ".join(f"{name}: {time:.2f} s, {cost:.1f} core-s" for name, time, cost in found)
    return [f"No other trial beats these in both time and core-seconds: {shown}."]


def surface(tune: Tuned) -> list[ConfigurationForecast]:
    """Return forecasts by executors x cores, of configurations alike in all else to the best."""
    sized = [one for one in tune.forecasts if one.executors]
    alike = [one for one in sized if one.choices == sized[0].choices]
    return alike if len(alike) >= _LEAST_SURFACE else []


def _surface(tune: Tuned, screen: Screen) -> list[str]:
    alike = surface(tune)
    at = {(one.executors, one.cores): one for one in alike}
    down, across = sorted({n for n, _ in at}), sorted({c for _, c in at})
    if not alike or len(across) > _MOST_COLUMNS:
        return []
    cells = {place: forecast(one, tune) for place, one in at.items()}
    body = [[str(n), *(cells.get((n, c), "") for c in across)] for n in down]
    choices = ", ".join(alike[0].choices[1:])
    note = f"forecast by executors x cores ({choices}), ± half the interval; * tried"
    head = ["executors", *(f"x {c}" for c in across)]
    return ["", screen.paragraph(note, "  "), *table(screen, head, body)]


def forecast(one: ConfigurationForecast, tune: Tuned) -> str:
    """Return `103 ±5.9*`: what is expected, half of its interval, and whether it was tried."""
    low, middle, high = (float(value(end, tune)) for end in (one.low, one.value, one.high))
    return f"{_short(middle)} ±{_short(abs(high - low) / 2)}{'*' if one.tried else ''}"


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def _untried(tune: Tuned, screen: Screen) -> list[str]:
    left = [one for one in tune.forecasts if not one.tried][:FORECASTS]
    if not left:
        return []
    rows = [
        [one.configuration, value(one.value, tune),
         f"{value(one.low, tune)} to {value(one.high, tune)}"]
        for one in left
    ]  # fmt: skip
    head = ["the best of those not tried", "forecast", "interval"]
    return ["", *table(screen, head, rows, "forecast")]


def notes(tune: Tuned) -> list[str]:
    settings, space = tune.settings, tune.space
    fixed = f"; fixed by you: {', '.join(space.fixed)}" if space.fixed else ""
    known, used = space.known_before, space.used
    why = "" if not known else f", of which {used} predict these trials and are used"
    texts = [
        f"{len(tune.trials)} of at most {settings.budget} trials among "
        f"{space.configurations} configurations{fixed}; {len(space.refused)} more do not fit "
        f"this machine; {known} earlier tune{'' if known == 1 else 's'} known{why}. "
        f"Timed: {tune.timed}."
    ]
    if tune.stopped is not None:
        texts.append(f"Stopped: {tune.stopped}.")
    scatter = tune.scatter
    if isinstance(scatter, Absent):
        texts.append(
            f"Scatter of repeated runs: {scatter.reason}, 5 % is assumed in the intervals."
        )
    else:
        texts.append(f"Repeated runs scattered by {scatter.share:.1%} (standard deviation).")
    return texts
