"""Derive the result of a tune from its trials alone."""

from hearth.analysis.findings import OTHER_LOAD_SHARE
from hearth.base.absent import Absent, Measured
from hearth.base.sizes import show_mb
from hearth.studies.engine.loss_classes import loss_class
from hearth.studies.engine.trial import Trial
from hearth.studies.engine.validity import busy_runs
from hearth.studies.models import search
from hearth.studies.models.space import Configuration, Interval
from hearth.studies.tune.result import (
    SCHEMA,
    Best,
    ConfigurationForecast,
    Scatter,
    ShownConfiguration,
    Tuned,
    TunedSpace,
    TunedTrial,
)
from hearth.studies.tune.study import Tune, configuration_of

#: A measure explains a difference where it differs by more than this share.
_WORTH_SAYING = 0.1


def tuned(tune: Tune) -> Tuned:
    """Return the result of a tune, finished or not."""
    head, trials, task = tune.head, tune.searched, tune.task
    now = search.outlook(task, trials)
    step = search.next_step(task, trials) if trials else None
    used = 0 if now is None else now.forecast.used.count(True)
    number = len(head.configurations)
    return Tuned(
        schema=SCHEMA,
        id=head.id,
        application=head.application,
        timed=head.timed,
        started=head.started,
        command=head.command,
        machine=head.machine,
        settings=head.settings,
        space=TunedSpace(number, head.refused, head.fixed, len(tune.related), used),
        trials=[_trial(tune, number, now) for number in range(len(tune.trials))],
        best=Absent("no trial ended") if now is None else _best(tune, now),
        scatter=_scatter(trials),
        forecasts=[] if now is None else _forecasts(tune, now),
        stopped=step.reason if isinstance(step, search.Stop) else None,
        not_kept=_why_nothing(tune, now),
        warnings=_warnings(tune, now),
    )


def winner(tune: Tune) -> Configuration | None:
    """Return the configuration to keep; None where `_why_nothing` gives a reason."""
    now = search.outlook(tune.task, tune.searched)
    if now is None or _why_nothing(tune, now) is not None:
        return None
    return tune.head.configurations[now.best]


def _why_nothing(tune: Tune, now: search.Outlook | None) -> str | None:
    """Return why nothing is saved: none ended, chance decides, or other programs' load does."""
    if now is None:
        return "no trial ended"
    if now.scatter >= search.TOO_LARGE:
        measured = search.measured_scatter(tune.searched) or now.scatter
        return f"repeated runs scatter by {measured:.0%}, so that chance decides what is fastest"
    return _load_explains(tune, now)


def _load_explains(tune: Tune, now: search.Outlook) -> str | None:
    """Return whether the user's own runs could have been as fast without other programs' load.

    A run beside others that use a share of the CPUs may take up to 1 / (1 - share) of its time.
    """
    users = _times_and_loads(tune, tune.head.current)
    best = [seconds for seconds, _ in _times_and_loads(tune, now.best)]
    if now.best == tune.head.current or not users or not best:
        return None
    seconds, load = min(users, key=lambda run: run[0] * (1 - run[1]))
    if load <= OTHER_LOAD_SHARE or seconds * (1 - load) > min(best):
        return None
    return (
        f"other programs used {load:.0%} of the CPUs during a run of your own configuration, which "
        "may explain all of the difference"
    )


def _times_and_loads(tune: Tune, configuration: int) -> list[tuple[float, float]]:
    """Return the seconds of each run of a configuration that ended, and others' share of CPUs."""
    pairs = []
    for one in tune.trials:
        if configuration_of(one) == configuration and one.seconds is not None:
            load = (one.measures or {}).get("other_load")
            pairs.append((one.seconds, load if isinstance(load, int | float) else 0.0))
    return pairs


def _trial(tune: Tune, number: int, now: search.Outlook | None) -> TunedTrial:
    head, one = tune.head, tune.trials[number]
    choice = one.choice
    assert choice is not None, "a trial of a tune has one"
    return TunedTrial(
        number=number + 1,
        role=choice.role,
        configuration=ShownConfiguration.of(head.configurations[choice.configuration]),
        record=one.record,
        seconds=one.seconds,
        stopped_s=one.stopped_s,
        failure=one.failure,
        expected=choice.expected,
        measures=one.measures or {},
        why=None if now is None else _why_slower(tune, one, now),
    )


def _why_slower(tune: Tune, trial: Trial, now: search.Outlook) -> str | None:
    """Classify a configuration that loses (Baig), by its measures against the best's."""
    best = [o for o in tune.trials if configuration_of(o) == now.best and o.seconds is not None]
    if trial.seconds is None or configuration_of(trial) == now.best or not best:
        return None
    first = best[0]
    return loss_class(
        trial.seconds, trial.measures or {}, first.seconds or 0.0, first.measures or {}
    )


def _best(tune: Tune, now: search.Outlook) -> Best:
    head = tune.head
    ended = [trial for trial in tune.searched if trial.ended]
    return Best(
        configuration=ShownConfiguration.of(head.configurations[now.best]),
        index=now.best,
        runs=sum(trial.index == now.best for trial in ended),
        expected=Interval(*now.interval(now.best)),
        confidence=search.CONFIDENCE,
        is_proposal=now.best == head.proposal,
        is_current=now.best == head.current,
        saving=_saving(tune, now, ended),
        why=_why(tune, now),
    )


def _saving(tune: Tune, now: search.Outlook, ended: list[search.SearchTrial]) -> Measured[Interval]:
    """Return the share of the time of the user's own configuration that the best saves."""
    current = tune.head.current
    if now.best == current:
        return Absent("your own configuration is the best of those tried")
    if all(trial.index != current for trial in ended):
        return Absent("your own configuration did not end")
    if search.measured_scatter(ended) is None:
        users, best = (
            min(t.seconds or 0.0 for t in ended if t.index == at) for at in (current, now.best)
        )
        return Absent(
            f"{best:.2f} s in one run, your own configuration {users:.2f} s: no configuration was "
            "run twice, so nothing says how much of that is chance"
        )
    return Interval(*now.saving(now.best, current))


def _why(tune: Tune, now: search.Outlook) -> list[str]:
    """Return how the best differs from the user's own in shape, and in what was measured."""
    head = tune.head
    best, users = head.configurations[now.best], head.configurations[head.current]
    if now.best == head.current:
        return []
    notes = []
    if best.cell != users.cell or bool(best.executors) != bool(users.executors):
        notes.append(
            f"{best.shown} with {_heap(best)}, instead of {users.shown} with {_heap(users)}"
        )
    elif best.choices != users.choices:
        notes.append(f"{best.shown} instead of {users.shown}")
    first = {configuration_of(trial): trial.measures or {} for trial in reversed(tune.trials)
             if trial.seconds is not None}  # fmt: skip
    mine, theirs = first.get(now.best, {}), first.get(head.current, {})
    for name, text in (("gc_share", "garbage collection takes {0:.1%} of task time, not {1:.1%}"),
                       ("cpu_use", "the CPUs are used to {0:.0%}, not {1:.0%}"),
                       ("cpu_s", "it takes {0:.1f} s of CPU, not {1:.1f} s")):  # fmt: skip
        one, other = mine.get(name), theirs.get(name)
        if isinstance(one, int | float) and isinstance(other, int | float) and _apart(one, other):
            notes.append(text.format(one, other))
    return notes


def _heap(way: Configuration) -> str:
    each = " each" if way.executors > 1 else ""
    return f"{show_mb(way.heap_mb)} of heap{each}"


def _apart(one: float, other: float) -> bool:
    return abs(one - other) > _WORTH_SAYING * max(one, other)


def _scatter(trials: list[search.SearchTrial]) -> Measured[Scatter]:
    share = search.measured_scatter(trials)
    return Absent("no configuration was run twice") if share is None else Scatter(share)


def _forecasts(tune: Tune, now: search.Outlook) -> list[ConfigurationForecast]:
    """Return the forecast of each configuration, the best first."""
    order = now.forecast.mean.argsort().tolist()
    tried = set(map(configuration_of, tune.trials))
    forecasts = []
    for at in order:
        way = tune.head.configurations[at]
        shape = (way.shown, way.executors, way.cores, list(way.choices))
        forecasts.append(ConfigurationForecast(*shape, at in tried, *now.interval(at)))
    return forecasts


def _warnings(tune: Tune, now: search.Outlook | None) -> list[str]:
    notes = []
    nothing = _why_nothing(tune, now)
    if now is not None and nothing is not None:
        scatters = now.scatter >= search.TOO_LARGE
        remedy = "find out what else its time depends on (hearth compare shows runs)"
        quiet = "tune again on a quiet machine (--wait-quiet 10m waits for one)"
        notes.append(f"{nothing}: nothing is saved; {remedy if scatters else quiet}")
    loads = [(trial.measures or {}).get("other_load") for trial in tune.trials]
    return notes + busy_runs(loads, "trials", "tune again")
