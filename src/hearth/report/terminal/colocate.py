"""A colocation in the terminal: the splits as predicted, the arms as measured, and the answer.

The page shows the same tables.
"""

import shlex
from collections.abc import Sequence

from hearth.base.absent import Absent, Measured
from hearth.base.ids import show_ids
from hearth.base.redaction import Redaction
from hearth.report.terminal.screen import Screen, table
from hearth.studies.colocate.applications import ColocatedApplication
from hearth.studies.colocate.machine_counts import WORDS
from hearth.studies.colocate.result import ArmResult, Colocated, MemberResult, Predicted
from hearth.studies.colocate.study import ColocationSettings, PlannedColocation, ways_of
from hearth.studies.compare.verdict import MEASURES
from hearth.studies.engine.arms import Arm, profile_words
from hearth.studies.engine.target import ApplicationTarget
from hearth.studies.models.colocation import Estimate, Split

_ROWS = 12
SPLIT_HEAD = ["split", "throughput", "worse slowdown", "fairness", "finished after s",
              "slowdown of each"]  # fmt: skip
ARM_HEAD = ["arm", "rounds", "finished after s", "against serial", "throughput", "worse slowdown",
            "fairness", "to the split"]  # fmt: skip
MEMBER_HEAD = ["application", "arm", "completed", "median s", "min-max", "runs per hour",
               "slowdown", "context switches", "remote"]  # fmt: skip
MACHINE_HEAD = ["arm", "context switches a second", "allocations on another node a second"]
CHECK_HEAD = ["slowdown on the share", "predicted", "measured", "error"]


def show_colocation(result: Colocated, screen: Screen) -> list[str]:
    """Show what was predicted, what was measured, and the answer in one sentence."""
    names = " beside ".join(one.name for one in result.applications)
    lines = [screen.title(f"{names}{f', {result.id}' if result.id else ''}"), ""]
    if result.prediction is not None:
        lines += [*_prediction(result, result.prediction, screen), ""]
    if not ran(result):
        return lines[:-1]
    lines += [*table(screen, ARM_HEAD, arm_rows(result), "rounds"), ""]
    lines += table(screen, MEMBER_HEAD, member_rows(result), "completed runs per hour")
    counts = machine_rows(result)
    lines += ["", *table(screen, MACHINE_HEAD, counts, "switches GB")] if counts else []
    if result.checks:
        lines += ["", *table(screen, CHECK_HEAD, check_rows(result), "error")]
    lines += ["", *(screen.paragraph(text, "  ", "    ") for text in failures(result))]
    lines += [screen.paragraph(f"warning: {text}.", "  ", "    ") for text in result.warnings]
    lines += [screen.paragraph(screen.title(result.sentence), "  ")]
    notes = notes_of(result)
    return [*lines, "", *(screen.paragraph(screen.paint(n, "dim"), "  ", "    ") for n in notes)]


def show_ways(planned: PlannedColocation, split: Sequence[int], screen: Screen) -> list[str]:
    """List what each arm would run, and where."""
    rows = []
    for arm, ways in ways_of(planned, split).items():
        for application, way in zip(planned.applications, ways, strict=True):
            cpus = show_ids(planned.units.all if way.cpus is None else way.cpus)
            rows.append([arm, cpus, _command(application, way)])
    each = f"runs of each arm: {_repeats(planned.settings)}"
    return [*table(screen, ["arm", "CPUs", "command"], rows), "", each]


def _command(application: ColocatedApplication, arm: Arm) -> str:
    """Return the command of a run; of a workload its options and its name."""
    words, name = [*arm.words, *(("--master", arm.master) if arm.master else ())], ""
    if isinstance(application.target, ApplicationTarget):
        words = profile_words(arm, application.line)
    else:
        name = f" {application.name}"
    shown = Redaction.of(application.settings).words(words)
    return shlex.join(["hearth", "profile", *shown]) + name


def _repeats(settings: ColocationSettings) -> str:
    return f"{settings.warmup} warm-up, {settings.repeat} measured"


def show_alone(planned: PlannedColocation, screen: Screen) -> list[str]:
    """List what runs before a split is chosen."""
    units, ways = planned.units, planned.ways
    rows = []
    for number, application in enumerate(planned.applications):
        shares = sorted({*(way[number] for way in ways), len(units.cpus)}, reverse=True)
        rows.append([application.name, ", ".join(map(str, shares))])
    head = ["application", f"{units.kind}s that it gets alone"]
    each = f"runs of each: {_repeats(planned.settings)}"
    return [*table(screen, head, rows), "", f"{each}; then the best predicted split of {len(ways)}"]


def ran(result: Colocated) -> bool:
    """Return whether anything was run, well or badly."""
    members = [member for arm in result.arms for member in arm.members]
    return any(member.runs or member.failures for member in members)


def _prediction(result: Colocated, predicted: Predicted, screen: Screen) -> list[str]:
    rows = split_rows(result, predicted)
    left = len(rows) - _ROWS
    title = f"Predicted {predicted_from(result, predicted)}"
    lines = [screen.paragraph(title, "  "), "", *table(screen, SPLIT_HEAD, rows[:_ROWS])]
    lines += [f"  ... and {left} more"] if left > 0 else []
    notes = (screen.paint(f"{note}.", "dim") for note in predicted.notes)
    return [*lines, "", *(screen.paragraph(note, "  ", "    ") for note in notes)]


def predicted_from(result: Colocated, predicted: Predicted) -> str:
    """Say what the prediction was made from, and what the table of splits shows."""
    unit = "NUMA nodes" if result.kind == "node" else "cores"
    return (
        f"from {predicted.source}; {unit} of each, the best by {result.objective} first; "
        "throughput: work per hour in repeated runs; one after the other = 1."
    )


def split_rows(result: Colocated, predicted: Predicted) -> list[list[str]]:
    """Return a row for each split, the best first; of the one that runs, what it is unbound."""
    found = []
    for at, split in enumerate(predicted.splits):
        runs = split.shown == result.split
        found.append(_split(split, split.shown + (" *" if runs else "")))
        if runs and predicted.unbound:
            found.append(_split(predicted.unbound[at], f"{split.shown} unbound"))
    return found


def _split(split: Split, name: str) -> list[str]:
    return [
        name,
        shown(split.throughput),
        shown(split.worst),
        shown(split.fairness),
        _all_end(split),
        ", ".join(f"{one.application} {shown(one.slowdown)}" for one in split.applications),
    ]


def _all_end(split: Split) -> str:
    """Return when the last application is expected to end; `-` if a duration is not known."""
    seconds = [one.seconds.value for one in split.applications if one.seconds is not None]
    return f"{max(seconds):.0f}" if len(seconds) == len(split.applications) else "-"


def arm_rows(result: Colocated) -> list[list[str]]:
    """Return a row for each arm."""
    return [_arm(arm, result) for arm in result.arms]


def _arm(arm: ArmResult, result: Colocated) -> list[str]:
    name = f"split {result.split}" if arm.name == "split" else arm.name
    ends = arm.all_end_s
    spread = _range(ends, 1, " to ") if ends else "-"
    figures = [
        shown(one) for one in (arm.all_end, arm.throughput, arm.worst, arm.fairness, arm.to_split)
    ]
    if arm.name == "serial":
        figures = ["1", "1", "1", "1", figures[-1]]
    return [name, str(arm.rounds), spread, *figures]


def _range(values: Sequence[float], decimals: int, between: str) -> str:
    """Return the least and the most, once where they are shown alike."""
    ends = dict.fromkeys(f"{end:.{decimals}f}" for end in (min(values), max(values)))
    return between.join(ends)


def member_rows(result: Colocated) -> list[list[str]]:
    """Return a row for each application in each arm."""
    return [
        _member(arm.members[at], arm)
        for at in range(len(result.applications))
        for arm in result.arms
    ]


def _member(one: MemberResult, arm: ArmResult) -> list[str]:
    if one.median_s is None:
        return [one.name, arm.name, "-", "-", "-", "-", "-", "-", "-"]
    return [
        one.name,
        arm.name,
        str(one.completed),
        f"{one.median_s:.2f}",
        _range(one.seconds, 2, "-"),
        f"{one.per_hour:.1f}" if one.per_hour else "-",
        "1" if arm.name == "serial" else shown(one.slowdown),
        _number(one.measures.get("involuntary"), "{:,.0f}"),
        _number(one.measures.get("remote_share"), "{:.1%}"),
    ]


def machine_rows(result: Colocated) -> list[list[str]]:
    """Return a row for each arm of which the kernel's counts of the whole machine are kept."""
    return [
        [
            arm.name,
            _number(arm.machine.get("switches_per_s"), "{:,.0f}"),
            _number(arm.machine.get("remote_per_s"), "{:,.0f}"),
        ]
        for arm in result.arms
        if arm.machine is not None
    ]


def _number(value: Measured[float] | None, form: str) -> str:
    return form.format(value) if isinstance(value, int | float) else "-"


def check_rows(result: Colocated) -> list[list[str]]:
    """Return predicted against measured."""
    return [
        [c.name, shown(c.predicted), shown(c.measured), f"{c.error:+.0%}"] for c in result.checks
    ]


def failures(result: Colocated) -> list[str]:
    """Return how each failed application failed, and in which arm."""
    return [
        f"{member.name} failed in {arm.name} {text}."
        for arm in result.arms
        for member in arm.members
        for text in member.failures
    ]


def shown(one: Estimate | None) -> str:
    """Return `1.35 [1.20, 1.51]`; without brackets where there is no interval."""
    if one is None:
        return "-"
    return f"{one.value:.2f}" + (f" [{one.ends[0]:.2f}, {one.ends[1]:.2f}]" if one.ends else "")


def notes_of(result: Colocated) -> list[str]:
    """Return what is not known and why, and what the figures mean."""
    return [*_absent(result), _explained(result)]


def _absent(result: Colocated) -> list[str]:
    """Return one line of the unknown measures, by reason; nothing where all are known."""
    words = {**{one.key: one.words for one in MEASURES}, **WORDS}
    reasons: dict[str, dict[str, None]] = {}
    for arm in result.arms:
        for measures in (arm.machine or {}, *(member.measures for member in arm.members)):
            for key, value in measures.items():
                if isinstance(value, Absent) and key in words:
                    reasons.setdefault(value.reason, {})[words[key]] = None
    said = "; ".join(f"{', '.join(what)}: {why}" for why, what in reasons.items())
    return [f"not measured: {said}."] if said else []


def _explained(result: Colocated) -> str:
    """Explain the figures."""
    text = "; ".join(f"{arm.name}: {arm.what}" for arm in result.arms)
    intervals = (
        f"{result.confidence:.0%} intervals over repetitions, of one figure for all arms together"
    )
    loop = result.settings.loop if result.settings else None
    counted = (
        f"Each is repeated for {loop[0] / 60:g} minutes, of which the first and last "
        f"{loop[1] / 60:g} are not measured. " if loop else ""
    )  # fmt: skip
    return (
        f"{text}. {counted}All seconds are an application's, from its start to its "
        f"end. Slowdown: to running alone in the same repetition. {intervals}."
    )
