"""A tune: its trials, the best configuration, what it gains and why, and what was forecast."""

import shlex
from pathlib import Path

from hearth.base.absent import Absent, Measured
from hearth.base.durations import show_seconds
from hearth.report.blocks import Block, Figure, Heading, Table, Texts
from hearth.report.figures import heat, steps
from hearth.spark.submit_args import is_application
from hearth.studies.models.space import DRIVERS_JAVA_OPTIONS, JAVA_OPTIONS
from hearth.studies.tune.result import ConfigurationForecast, Tuned, TunedTrial

#: By the objective, the unit of a trial's value.
_UNITS = {
    "time": "seconds",
    "core-seconds": "core-s",
    "throughput": "per-hour",
    "time,core-seconds": "seconds",
}
_ROLES = {"proposal": "the plan", "current": "as typed", "search": "", "repeat": "again"}
_FORECASTS = 5
#: A surface of fewer says nothing; one of more columns does not fit a screen.
_LEAST_SURFACE, _MOST_COLUMNS = 4, 10


def tune_blocks(tune: Tuned) -> list[Block]:
    """Return the trials, then the best in one sentence, then why, doubts and the rest."""
    unit = _UNITS[tune.settings.objective]
    head = ["trial", "configuration", "why tried", unit, "expected", "GC share", "CPU use", "note"]
    why = [] if isinstance(tune.best, Absent) else tune.best.why
    copied = to_copy(tune)
    return [
        Heading(f"Tune of {tune.application}, {tune.id}", section="tune", link="Tune"),
        *_order(tune),
        Table(head, [_row(trial, tune) for trial in tune.trials], "Trials", f"trial {unit}"),
        Texts([f"{text}." for text in tune.warnings], "warning"),
        Texts([sentence(tune)], "verdict"),
        Texts(why, "reason", close=True),
        Texts([*_front(tune), *(["To run it:"] if copied else [])], close=True),
        Texts(copied, "command", close=True),
        Texts([f"Next: {step}." for step in next_steps(tune)], close=True),
        *_surface(tune),
        _untried(tune),
        Texts(_notes(tune), "note"),
    ]


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
    """Return the best configuration as a whole command, with what was typed to tune it.

    Nothing without one. Of an option that is there twice, the last counts.
    """
    if isinstance(tune.best, Absent):
        return []
    best = tune.best.configuration
    typed = [word for word in tune.command if word.partition("=")[0] not in best.varied]
    named = [n for n, word in enumerate(typed) if Path(word).name == tune.application]
    at = named[0] if named else len(typed)
    if named and not is_application(typed[at]):  # a workload
        return [shlex.join(["hearth", "lab", "run", tune.application, "--tuned"])]
    words = ["hearth", "submit", *typed[:at]]
    if not best.master.startswith("local-numa"):
        words += ["--master", best.master]
    elif best.executors:
        words += ["--executors", str(best.executors), "--cores", str(best.cores)]
        words += ["--bind", "none"] if best.binding == "none" else []
    confs = dict(best.varied)
    if best.java:
        confs[JAVA_OPTIONS if best.executors else DRIVERS_JAVA_OPTIONS] = best.java
    words += [word for key, value in confs.items() for word in ("--conf", f"{key}={value}")]
    return [shlex.join([*words, *typed[at:]])]


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


def _value(value: float, tune: Tuned) -> str:
    """Return a value in the objective's unit."""
    if tune.settings.objective == "throughput":
        return f"{3600 / value:.1f}"
    return f"{value:.2f}"


def _row(trial: TunedTrial, tune: Tuned) -> list[str]:
    measures, expected = trial.measures, trial.expected
    took = "-" if trial.value is None else _value(trial.value, tune)
    range_ = "-"
    if expected is not None:
        ends = sorted((expected[0], expected[2]), reverse=tune.settings.objective == "throughput")
        range_ = " to ".join(_value(end, tune) for end in ends)
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


def _front(tune: Tuned) -> list[str]:
    """Return the trials that none beats in both time and core-seconds, the fastest first.

    Nothing where one trial is the best in both.
    """
    front: dict[str, tuple[float, float]] = {}
    for trial in tune.trials:
        if trial.pareto and trial.seconds is not None:
            cost = trial.seconds, trial.seconds * trial.configuration.slots
            front[trial.configuration.shown] = cost
    if len(front) < 2:
        return []
    fastest_first = sorted(front.items(), key=lambda pair: pair[1][0])
    shown = "; ".join(f"{name}: {time:.2f} s, {cost:.1f} core-s"
                      for name, (time, cost) in fastest_first)  # fmt: skip
    return [f"No other trial beats these in both time and core-seconds: {shown}."]


def _order(tune: Tuned) -> list[Block]:
    """Return each trial in its order: what was expected, what it took, the best so far."""
    ended = [trial for trial in tune.trials if trial.value is not None]
    if not ended:
        return []
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
                "cut": f"to {_value(high, tune)} →" if high > most else "",
                "middle": took / most,
                "kind": "good" if took == best else "open",
                "points": [best / most],
                "words": f"{_value(took, tune)}, best so far {_value(best, tune)}",
            }
        )
    ticks = [(tick / most, f"{tick:.4g}") for tick in steps(most)]
    data = {"intervals": rows, "one": best / most, "band": None, "ticks": ticks}
    unit = "core-seconds" if tune.settings.objective == "core-seconds" else "seconds"
    caption = (
        f"Trials in their order, in {unit}. The large dot is what a trial took, the bar what was "
        "expected of it before, the small dot the best so far; the line is the best of all, green "
        "where a trial was the best so far. A bar that goes on beyond the figure says how far."
    )
    return [Figure("intervals", data, "Trials in their order: expected and measured", caption)]


def _surface(tune: Tuned) -> list[Block]:
    """Return forecasts by executors x cores, of configurations alike in all else to the best."""
    sized = [one for one in tune.forecasts if one.executors]
    alike = [one for one in sized if one.choices == sized[0].choices]
    if len(alike) < _LEAST_SURFACE:
        return []
    choices = ", ".join(alike[0].choices[1:])
    at = {(one.executors, one.cores): one for one in alike}
    return [*_surface_table(at, choices, tune), *_surface_map(at, choices, tune)]


_Surface = dict[tuple[int, int], ConfigurationForecast]


def _surface_table(at: _Surface, choices: str, tune: Tuned) -> list[Block]:
    down, across = sorted({n for n, _ in at}), sorted({c for _, c in at})
    if len(across) > _MOST_COLUMNS:
        return []
    cells = {size: _forecast(one, tune) for size, one in at.items()}
    rows = [[str(n), *(cells.get((n, c), "") for c in across)] for n in down]
    note = f"forecast by executors x cores ({choices}), ± half the interval; * tried"
    head = ["executors", *(f"x {c}" for c in across)]
    return [
        Texts([note], only="terminal"),
        Table(head, rows, "Forecasts", only="terminal", close=True),
    ]


def _surface_map(at: _Surface, choices: str, tune: Tuned) -> list[Block]:
    if isinstance(tune.best, Absent):
        return []
    name = tune.best.configuration.shown
    best = next((size for size, one in at.items() if one.configuration == name), None)
    values = [one.value for one in at.values()]
    fastest, slowest = (_value(end(values), tune) for end in (min, max))
    cells = {size: (one.value, _forecast(one, tune)) for size, one in at.items()}
    caption = (
        f"{fastest} to {slowest}: what is expected with {choices}, ± half of the 90 % interval; "
        "*: tried; framed: the best of those tried; hatched: does not fit, or uses too few CPUs."
    )
    return [Figure("heat", heat(cells, best), "forecast of each configuration", caption)]


def _forecast(one: ConfigurationForecast, tune: Tuned) -> str:
    """Return `103 ±5.9*`: what is expected, half of its interval, and whether it was tried."""
    low, middle, high = (float(_value(end, tune)) for end in (one.low, one.value, one.high))
    return f"{_short(middle)} ±{_short(abs(high - low) / 2)}{'*' if one.tried else ''}"


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def _untried(tune: Tuned) -> Table:
    rows = [
        [one.configuration, _value(one.value, tune),
         f"{_value(one.low, tune)} to {_value(one.high, tune)}"]
        for one in [one for one in tune.forecasts if not one.tried][:_FORECASTS]
    ]  # fmt: skip
    head = ["the best of those not tried", "forecast", "interval"]
    return Table(head, rows, "The best of those not tried", "forecast")


def _notes(tune: Tuned) -> list[str]:
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
