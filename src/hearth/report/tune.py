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

_ROLES = {"proposal": "the plan", "current": "as typed", "search": "", "repeat": "again"}
_FORECASTS = 5
#: A surface of fewer says nothing; one of more columns does not fit a screen.
_LEAST_SURFACE, _MOST_COLUMNS = 4, 10


def tune_blocks(tune: Tuned) -> list[Block]:
    """Return the trials, then the best in one sentence, then why, doubts and the rest."""
    head = ["trial", "configuration", "why tried", "seconds", "expected", "GC share", "CPU use",
            "note"]  # fmt: skip
    why = [] if isinstance(tune.best, Absent) else tune.best.why
    copied = to_copy(tune)
    return [
        Heading(f"Tune of {tune.application}, {tune.id}", section="tune", link="Tune"),
        *_order(tune),
        Table(head, [_row(trial) for trial in tune.trials], "Trials", "trial seconds"),
        Texts([f"{text}." for text in tune.warnings], "warning"),
        Texts([sentence(tune)], "verdict"),
        Texts(why, "reason", close=True),
        Texts(["To run it:"] if copied else [], close=True),
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
        f"Best of those tried: {name}; expected to save {saving.value:.0%} of the time "
        f"of your own configuration ({best.confidence:.0%} interval {low:.0%} to {high:.0%}{sure})."
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


def _row(trial: TunedTrial) -> list[str]:
    measures, expected = trial.measures, trial.expected
    took = "-" if trial.seconds is None else f"{trial.seconds:.2f}"
    range_ = "-" if expected is None else f"{expected[0]:.2f} to {expected[2]:.2f}"
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


def _order(tune: Tuned) -> list[Block]:
    """Return each trial in its order: what was expected, what it took, the best so far."""
    ended = [trial for trial in tune.trials if trial.seconds is not None]
    if not ended:
        return []
    ends = [end for trial in ended for end in [*(trial.expected or []), trial.seconds or 0.0]]
    most = 1.04 * min(max(ends), 3 * max(trial.seconds or 0.0 for trial in ended))
    best, rows = float("inf"), []
    for trial in ended:
        took = trial.seconds or 0.0
        best = min(best, took)
        low, _, high = trial.expected or [took, took, took]
        rows.append(
            {
                "name": f"{trial.number}: {trial.configuration.shown}",
                "low": min(low / most, 1.0),
                "high": min(high / most, 1.0),
                "cut": f"to {high:.2f} →" if high > most else "",
                "middle": took / most,
                "kind": "good" if took == best else "open",
                "points": [best / most],
                "words": f"{took:.2f}, best so far {best:.2f}",
            }
        )
    ticks = [(tick / most, f"{tick:.4g}") for tick in steps(most)]
    data = {"intervals": rows, "one": best / most, "band": None, "ticks": ticks}
    caption = (
        "Trials in their order, in seconds. The large dot is what a trial took, the bar what was "
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
    return [*_surface_table(at, choices), *_surface_map(at, choices, tune)]


_Surface = dict[tuple[int, int], ConfigurationForecast]


def _surface_table(at: _Surface, choices: str) -> list[Block]:
    down, across = sorted({n for n, _ in at}), sorted({c for _, c in at})
    if len(across) > _MOST_COLUMNS:
        return []
    cells = {size: _forecast(one) for size, one in at.items()}
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
    cells = {size: (one.value, _forecast(one)) for size, one in at.items()}
    caption = (
        f"{min(values):.2f} to {max(values):.2f}: what is expected with {choices}, ± half of the "
        "90 % interval; *: tried; framed: the best of those tried; hatched: does not fit, or uses "
        "too few CPUs."
    )
    return [Figure("heat", heat(cells, best), "forecast of each configuration", caption)]


def _forecast(one: ConfigurationForecast) -> str:
    """Return `103 ±5.9*`: what is expected, half of its interval, and whether it was tried."""
    return f"{_short(one.value)} ±{_short((one.high - one.low) / 2)}{'*' if one.tried else ''}"


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def _untried(tune: Tuned) -> Table:
    rows = [
        [one.configuration, f"{one.value:.2f}", f"{one.low:.2f} to {one.high:.2f}"]
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
