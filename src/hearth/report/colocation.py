"""A colocation: the splits as predicted, the arms as measured, and the answer."""

import shlex
from collections.abc import Sequence

from hearth.base.absent import Absent, Measured
from hearth.base.ids import show_ids
from hearth.base.redaction import Redaction
from hearth.report.blocks import Block, Figure, Heading, Table, Texts, View
from hearth.report.figures import Interval, intervals
from hearth.report.terminal.screen import Screen, table
from hearth.studies.colocate.applications import ColocatedApplication
from hearth.studies.colocate.machine_counts import WORDS
from hearth.studies.colocate.result import ArmResult, Colocated, MemberResult, Predicted, ShownRun
from hearth.studies.colocate.study import ColocationSettings, PlannedColocation, ways_of
from hearth.studies.compare.verdict import MEASURES
from hearth.studies.engine.arms import Arm, profile_words
from hearth.studies.engine.target import ApplicationTarget
from hearth.studies.models.colocation import Estimate, Split

_ROWS = 12
_SPLIT_HEAD = ["split", "throughput", "worse slowdown", "fairness", "finished after s",
              "slowdown of each"]  # fmt: skip
_ARM_HEAD = ["arm", "rounds", "finished after s", "against serial", "throughput", "worse slowdown",
            "fairness", "to the split"]  # fmt: skip
_MEMBER_HEAD = ["application", "arm", "completed", "median s", "min-max", "runs per hour",
               "slowdown", "context switches", "remote"]  # fmt: skip
_MACHINE_HEAD = ["arm", "context switches a second", "allocations on another node a second"]
_CHECK_HEAD = ["slowdown on the share", "predicted", "measured", "error"]


def colocation_blocks(result: Colocated) -> list[Block]:
    """Return what was predicted, what was measured, and the answer in one sentence."""
    names = " beside ".join(one.name for one in result.applications)
    title = f"{names}{f', {result.id}' if result.id else ''}"
    return [
        Heading(title, section="colocation", link="Colocation"),
        *_map(result),
        *_lanes(result),
        *_slowdowns(result),
        *(_prediction(result, result.prediction) if result.prediction is not None else []),
        *(_measured(result) if _ran(result) else []),
    ]


def _measured(result: Colocated) -> list[Block]:
    rows = [_member(arm.members[at], arm)
            for at in range(len(result.applications)) for arm in result.arms]  # fmt: skip
    checks = [[c.name, _shown(c.predicted), _shown(c.measured), f"{c.error:+.0%}"]
              for c in result.checks]  # fmt: skip
    return [
        Table(_ARM_HEAD, [_arm(arm, result) for arm in result.arms], "Arms", "rounds"),
        Table(_MEMBER_HEAD, rows, "Applications", "completed"),
        Table(_MACHINE_HEAD, _machine_rows(result), "The whole machine"),
        Table(_CHECK_HEAD, checks, "Predicted and measured", "error"),
        Texts(_failures(result)),
        Texts([f"{text}." for text in result.warnings], "warning", close=True),
        Texts([result.sentence], "verdict"),
        Texts([*_absent(result), _explained(result)], "note"),
    ]


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


def _ran(result: Colocated) -> bool:
    """Return whether anything was run, well or badly."""
    members = [member for arm in result.arms for member in arm.members]
    return any(member.runs or member.failures for member in members)


def _prediction(result: Colocated, predicted: Predicted) -> list[Block]:
    best = [Interval(split.shown, "open", split.throughput.value, split.throughput.ends,
                     f"{split.shown}: {_shown(split.throughput)}")
            for split in predicted.splits[:_ROWS]]  # fmt: skip
    what = "Predicted throughput of each split"
    figure = Figure("intervals", intervals(best), f"{what}, with interval",
                    f"{what}, right is better; one after the other is 1.")  # fmt: skip
    return [
        *([figure] if len(best) > 1 else []),
        Texts([f"Predicted {_predicted_from(result, predicted)}"]),
        Table(_SPLIT_HEAD, _split_rows(result, predicted), "Splits", most=_ROWS),
        Texts([f"{note}." for note in predicted.notes], "note"),
    ]


def _predicted_from(result: Colocated, predicted: Predicted) -> str:
    """Say what the prediction was made from, and what the table of splits shows."""
    unit = "NUMA nodes" if result.kind == "node" else "cores"
    return (
        f"from {predicted.source}; {unit} of each, the best by {result.objective} first; "
        "throughput: work per hour in repeated runs; one after the other = 1."
    )


def _split_rows(result: Colocated, predicted: Predicted) -> list[list[str]]:
    """Return a row for each split, the best first; of the one that runs, what it is unbound."""
    rows = []
    for at, split in enumerate(predicted.splits):
        runs = split.shown == result.split
        rows.append(_split(split, split.shown + (" *" if runs else "")))
        if runs and predicted.unbound:
            rows.append(_split(predicted.unbound[at], f"{split.shown} unbound"))
    return rows


def _split(split: Split, name: str) -> list[str]:
    return [
        name,
        _shown(split.throughput),
        _shown(split.worst),
        _shown(split.fairness),
        _all_end(split),
        ", ".join(f"{one.application} {_shown(one.slowdown)}" for one in split.applications),
    ]


def _all_end(split: Split) -> str:
    """Return when the last application is expected to end; `-` if a duration is not known."""
    seconds = [one.seconds.value for one in split.applications if one.seconds is not None]
    return f"{max(seconds):.0f}" if len(seconds) == len(split.applications) else "-"


def _arm(arm: ArmResult, result: Colocated) -> list[str]:
    ends = arm.all_end_s
    spread = _range(ends, 1, " to ") if ends else "-"
    figures = [
        _shown(one) for one in (arm.all_end, arm.throughput, arm.worst, arm.fairness, arm.to_split)
    ]
    if arm.name == "serial":
        figures = ["1", "1", "1", "1", figures[-1]]
    return [_way(result, arm.name), str(arm.rounds), spread, *figures]


def _range(values: Sequence[float], decimals: int, between: str) -> str:
    """Return the least and the most, once where they are shown alike."""
    ends = dict.fromkeys(f"{end:.{decimals}f}" for end in (min(values), max(values)))
    return between.join(ends)


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
        "1" if arm.name == "serial" else _shown(one.slowdown),
        _number(one.measures.get("involuntary"), "{:,.0f}"),
        _number(one.measures.get("remote_share"), "{:.1%}"),
    ]


def _machine_rows(result: Colocated) -> list[list[str]]:
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


def _failures(result: Colocated) -> list[str]:
    """Return how each failed application failed, and in which arm."""
    return [
        f"{member.name} failed in {arm.name} {text}."
        for arm in result.arms
        for member in arm.members
        for text in member.failures
    ]


def _shown(one: Estimate | None) -> str:
    """Return `1.35 [1.20, 1.51]`; without brackets where there is no interval."""
    if one is None:
        return "-"
    return f"{one.value:.2f}" + (f" [{one.ends[0]:.2f}, {one.ends[1]:.2f}]" if one.ends else "")


def _absent(result: Colocated) -> list[str]:
    """Return one line of the unknown measures, by reason; nothing where all are known."""
    words = {**{one.key: one.words for one in MEASURES}, **WORDS}
    reasons: dict[str, dict[str, None]] = {}
    for arm in result.arms:
        for measures in (arm.machine or {}, *(member.measures for member in arm.members)):
            for key, value in measures.items():
                if isinstance(value, Absent) and key in words:
                    reasons.setdefault(value.reason, {})[words[key]] = None
    listed = "; ".join(f"{', '.join(what)}: {why}" for why, what in reasons.items())
    return [f"not measured: {listed}."] if listed else []


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


def _map(result: Colocated) -> list[Block]:
    """Return each part of the machine with whom the split gives it to."""
    if result.split is None:
        return []
    counts = (int(count) for count in result.split.split("-"))
    owners = [at for at, count in enumerate(counts) for _ in range(count)]
    parts = [
        {
            "name": f"{result.kind} {number}: CPU{'s' * (not cpus.isdigit())} {cpus}",
            "application": result.applications[owner].name,
            "colour": owner,
        }
        for number, (cpus, owner) in enumerate(zip(result.units, owners, strict=False))
    ]
    return [Figure("split", parts, "The machine, split between the applications")]


def _lanes(result: Colocated) -> list[Block]:
    """Return when each application ran in the last repetition of each arm, on a common axis."""
    ends = [run.end_s for shown in result.rounds for run in shown.runs]
    if not ends or max(ends) <= 0:
        return []
    whole = max(ends)

    def part(arm: str, run: ShownRun) -> View:
        name = result.applications[run.application].name
        ended = "" if run.end == "itself" else f", {run.end}"
        words = f"{name}, {_way(result, arm)}: {run.start_s:.1f} to {run.end_s:.1f} s{ended}"
        return {"start": run.start_s / whole, "width": (run.end_s - run.start_s) / whole,
                "colour": run.application, "thin": False, "words": words}  # fmt: skip

    rows = [
        {
            "name": f"{_way(result, shown.arm)}: {one.name}",
            "parts": [part(shown.arm, run) for run in shown.runs if run.application == at],
        }
        for shown in result.rounds
        for at, one in enumerate(result.applications)
    ]
    caption = (
        "When each application ran in the last repetition of each arm; the whole width is "
        f"{whole:.1f} s."
    )
    names = [one.name for one in result.applications]
    return [Figure("bars", rows, "When each application ran, in each arm", caption, names)]


def _way(result: Colocated, arm: str) -> str:
    return f"split {result.split}" if arm == "split" else arm


def _slowdowns(result: Colocated) -> list[Block]:
    """Return each application's slowdown, predicted for its share and measured in each arm."""
    splits = result.prediction.splits if result.prediction else []
    split = next((one for one in splits if one.shown == result.split), None)
    rows: list[tuple[str, str, Estimate]] = []
    for at, one in enumerate(result.applications):
        if split is not None:
            rows.append((f"{one.name}: predicted", "open", split.applications[at].slowdown))
        for arm in result.arms:
            slow = arm.members[at].slowdown
            if slow is not None and arm.name != "serial":
                rows.append((f"{one.name}: {_way(result, arm.name)}", "measured", slow))
    if len(rows) < 2:
        return []
    data = intervals([Interval(name, kind, one.value, one.ends, f"{name}: {_shown(one)}")
                      for name, kind, one in rows])  # fmt: skip
    return [Figure(
        "intervals", data,
        "Slowdown of each application, predicted and measured, with interval; 1 is as fast as "
        "alone",
        "Slowdown to running alone, left is better: grey as predicted for the split, coloured as "
        "measured in each arm. The bar is the interval.",
    )]  # fmt: skip
