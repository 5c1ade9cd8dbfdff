"""Published studies: the list, one with its protocol, its table beside ours."""

import shlex
from collections.abc import Sequence
from itertools import groupby

from hearth.report.blocks import Block, Heading, Table, Texts
from hearth.report.terminal.screen import Screen, table
from hearth.studies.published.preset import Preset, show_value
from hearth.studies.published.result import Repeated, RepeatedStudy, Row, StepLine
from hearth.studies.published.study import ReadyStep

_HEAD = ["what", "place", "published", "here", "verdict"]


def show_presets(presets: Sequence[Preset], screen: Screen) -> list[str]:
    """Return a line for each."""
    rows = [[one.name, one.study, one.title, "" if one.steps else "in a clone: see 'show'"]
            for one in presets]  # fmt: skip
    return table(screen, ["name", "study", "experiment", "runs"], rows)


def show_preset(preset: Preset, steps: Sequence[ReadyStep], screen: Screen) -> list[str]:
    """Return its protocol, what would run here, what cannot, and what was published."""
    lines = [screen.title(f"{preset.name}: {preset.title} ({preset.study})")]
    facts = (
        ("machine", preset.machine),
        ("protocol", preset.protocol),
        ("measured", preset.measured),
    )
    lines += [screen.paragraph(f"{name}: {text}", "  ", "    ") for name, text in facts]
    if preset.settings:
        settings = ", ".join(f"{key}={value}" for key, value in preset.settings.items())
        lines.append(screen.paragraph(f"settings: {settings}", "  ", "    "))
    lines += ["", *show_steps(preset, steps, screen), "", screen.title("published")]
    rows = [[value.what, value.place, value.published] for value in preset.values]
    return [*lines, *table(screen, _HEAD[:3], rows)]


def show_steps(preset: Preset, steps: Sequence[ReadyStep], screen: Screen) -> list[str]:
    """Return the commands that run here, and a line with its reason for each that cannot."""
    lines = [screen.title(f"what runs here of {preset.name}")]
    lines += [f"  hearth {shlex.join(one.command)}" for one in steps if not one.missing]
    lines += [] if any(not one.missing for one in steps) else ["  nothing"]
    lines += show_missing(preset, steps, screen)
    return lines


def show_missing(preset: Preset, steps: Sequence[ReadyStep], screen: Screen) -> list[str]:
    """Return a line for each step that this machine cannot run, and for what hearth has not."""
    reasons: dict[str, list[str]] = {}
    for one in steps:
        for reason in one.missing:
            reasons.setdefault(reason, []).append(one.step.name)
    missing = [(", ".join(names), why) for why, names in reasons.items()]
    missing += [(part.what, part.why) for part in preset.parts]
    return [
        screen.paragraph(f"not available: {what}: {why}", "  ", "    ") for what, why in missing
    ]


def show_chosen(
    steps: Sequence[ReadyStep], chosen: Sequence[ReadyStep], enough_s: int, screen: Screen
) -> list[str]:
    """Return a line that says which steps run, and one for those that no time is left for."""

    def listed(some: Sequence[ReadyStep]) -> str:
        return ", ".join(f"{preset} ({', '.join(one.step.name for one in of)})"
                         for preset, of in groupby(some, key=lambda one: one.preset))  # fmt: skip

    possible = [one for one in steps if not one.missing]
    lines = [f"runs {listed([one for one in possible if one in chosen]) or 'no further step'}"]
    if late := [one for one in possible if one not in chosen]:
        lines.append(f"no time for {listed(late)}: all need --budget {enough_s // 60}m")
    return [screen.paragraph(f"hearth: {line}", "", "  ") for line in lines]


def study_blocks(document: Repeated) -> list[Block]:
    """Return how many published values hold here, then each study's table beside ours."""
    said = f"At scale {document.scale:g} of the studies' data. Binding: {document.binding}."
    rows = [[verdict, str(number)] for verdict, number in document.verdicts.items()]
    return [
        Heading(document.title, section="study", link="Study"),
        Texts([said], close=True),
        Table(["verdict", "published numbers"], rows, "Do the published numbers hold here?",
              "verdicts"),
        *(block for study in document.studies for block in _one(study)),
    ]  # fmt: skip


def _one(study: RepeatedStudy) -> list[Block]:
    unknown: dict[str, list[str]] = {}
    for row in study.rows:
        if row.reason and row.measured is None:
            unknown.setdefault(row.reason, []).append(row.what)
    rows = [_cells(row) for row in study.rows if row.measured is not None]
    return [
        Heading(f"{study.preset}: {study.title}", 3),
        Texts([study.study], close=True),
        *([Table(_HEAD, rows, "As published, and here", "published here")] if rows else []),
        Texts([f"not here: {', '.join(what)}: {why}" for why, what in unknown.items()],
              "absent", close=True),
        Table(["step", "state", "command or reason", "kept as"],
              _steps(study.steps), "Steps", close=True),
        Texts([f"not available: {part}" for part in study.not_available], "absent", close=True),
    ]  # fmt: skip


def _cells(row: Row) -> list[str]:
    measured = "-" if row.measured is None else show_value(row.measured, row.unit)
    if row.interval is not None:
        measured += " [" + ", ".join(f"{end:.3g}" for end in row.interval) + "]"
    why = f": {row.reason}" if row.reason else ""
    return [row.what, row.place, row.published, measured, f"{row.verdict}{why}"]


def _steps(steps: Sequence[StepLine]) -> list[list[str]]:
    """Return of each its name, how it ended, its command or why not, and the study that it made;
    those that did not run for the same reason together.
    """
    names: dict[tuple[str, str, str], list[str]] = {}
    for step in steps:
        told = "; ".join(step.reasons) if step.reasons else f"hearth {shlex.join(step.command)}"
        names.setdefault((step.state, told, step.study or "-"), []).append(step.name)
    return [[", ".join(of), *how] for how, of in names.items()]
