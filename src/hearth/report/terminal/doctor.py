"""Show the doctor's findings in a terminal."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from hearth.base.sizes import counted
from hearth.doctor.examine import CheckFinding, Examined
from hearth.doctor.rule import Rule
from hearth.report.terminal.screen import Screen

_COLOURS = {"harm": "red", "advice": "yellow"}


def show_doctor(examined: Examined, screen: Screen, *, everything: bool) -> list[str]:
    """Show the findings, what is silenced, and what was not seen; everything: also what is fine."""
    lines = [screen.title(headline(examined))]
    lines += [screen.paragraph(f"changed since: {one}", "", "  ") for one in changed(examined)]
    for finding in examined.telling:
        lines += ["", *_finding(finding, screen)]
    unimportant = [one for one in examined.findings if one not in examined.telling]
    if unimportant or examined.silenced:
        lines.append("")
    for one in unimportant:
        lines.append(screen.paragraph(f"{one.name}: {one.seen}: {in_run(one)}", "", "  "))
    for finding in examined.silenced:
        lines.append(
            screen.paragraph(
                f"silenced: {finding.name} ({finding.silenced}): {finding.seen}", "", "  "
            )
        )
    if everything:
        lines += ["", screen.title("fine")]
        lines += [
            screen.paragraph(f"{one.name}: {one.seen}", "  ", "    ") for one in examined.sound
        ]
        lines += ["", screen.title("not checked")]
        lines += [
            screen.paragraph(f"{one.name}: {one.reason}", "  ", "    ")
            for one in examined.not_checked
        ]
    elif examined.not_checked:
        names = ", ".join(one.name for one in examined.not_checked)
        lines += ["", screen.paragraph(f"not checked (--all says why): {names}", "", "  ")]
    return lines


def list_checks(rules: Iterable[Rule], screen: Screen) -> list[str]:
    """Show every rule: why it asks, what is better, what a change touches, and by which source."""
    lines: list[str] = []
    for group, members in groupby(rules, lambda rule: rule.group):
        lines.append(screen.title(group))
        for rule in members:
            lines.append(screen.paragraph(f"{rule.name}: {rule.why}", "  ", "    "))
            touches = f"{rule.touches}; needs a reboot" if rule.reboot else rule.touches
            worth = rule.worth.text if rule.worth.kind == "published" else ""
            facts = {"better": rule.better, "worth": worth, "touches": touches}
            for label, text in {**facts, "source": rule.source}.items():
                if text:
                    lines.append(screen.paragraph(f"{label}: {text}", "    ", "      "))
    return lines


def changed(examined: Examined) -> list[str]:
    """Return what is another setting now than in the run that is judged."""
    return examined.run.changed if examined.run else []


def in_run(one: CheckFinding) -> str:
    """Return what the run had of that on which a finding acts; empty where that is not known."""
    if one.in_run is None:
        return ""
    return one.in_run.text if one.in_run.matters else f"does not affect this run: {one.in_run.text}"


def headline(examined: Examined) -> str:
    """Return how many findings there are, and how many checks found nothing or could not look."""
    harm = sum(one.severity == "harm" for one in examined.findings)
    where = "this machine" if examined.machine == "live" else examined.machine
    if examined.run:
        where = f"{examined.run.id} ({examined.run.application}) on {where}"
    less = len(examined.findings) - len(examined.telling)
    counts = [f"{harm} that do harm", f"{len(examined.telling) - harm} with advice"]
    counts += [f"{less} that do not affect it"] if less else []
    counts += [f"{len(examined.silenced)} silenced"] if examined.silenced else []
    fine, unseen = counted(len(examined.sound), "check"), len(examined.not_checked)
    rest = f"{fine} found nothing, {unseen} could not look"
    return f"{where}: findings: {', '.join(counts)}; {rest}"


def _finding(one: CheckFinding, screen: Screen) -> Iterator[str]:
    head = screen.paint(one.severity, _COLOURS[one.severity])
    yield screen.paragraph(f"{head} {one.name}: {one.seen}", "", "  ")
    yield screen.paragraph(one.why, "  ")
    for name, value in details(one):
        yield screen.paragraph(f"{name}: {value}", "  ", "    ")


def details(one: CheckFinding) -> Iterator[tuple[str, str]]:
    """Return the facts of a finding, by name."""
    if one.in_run:
        yield "in this run", one.in_run.text
    yield "better", f"{one.better} [{one.source}]"
    yield "worth", f"unknown: {one.worth.text}" if one.worth.kind == "unknown" else one.worth.text
    fix = f"; or hearth doctor --fix {one.name}" if one.fixable else ""
    yield "command", f"{one.command}{fix}{'; needs a reboot' if one.reboot else ''}"
    yield "touches", one.touches
    yield "read from", one.evidence
