"""The doctor's findings, and the list of its checks."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from hearth.base.sizes import counted
from hearth.doctor.examine import CheckFinding, Examined
from hearth.doctor.rule import Rule
from hearth.report.blocks import Block, Heading, Texts
from hearth.report.terminal.screen import Screen


def doctor_blocks(examined: Examined, *, everything: bool = True) -> list[Block]:
    """Return the findings, what is silenced, and what was not seen; everything: also what is fine.

    Advice that does not matter to the judged run has a line.
    """
    headline = _headline(examined)
    changed = examined.run.changed if examined.run else []
    blocks: list[Block] = [
        Heading(headline, only="terminal"),
        Heading("Doctor", section="doctor", only="page"),
        Texts([f"{headline}."], "verdict", only="page"),
        Texts([f"changed since: {one}" for one in changed], close=True),
    ]
    for one in examined.telling:
        blocks += [
            Heading(f"{one.name}: {one.seen}", 3, mark=one.severity),
            Texts([one.why, *_details(one)], close=True),
        ]
    unimportant = [one for one in examined.findings if one not in examined.telling]
    silenced = [f"silenced: {one.name} ({one.silenced}): {one.seen}" for one in examined.silenced]
    brief = [f"{one.name}: {one.seen}: {_in_run(one)}" for one in unimportant]
    blocks.append(Texts([*brief, *silenced]))
    if not everything:
        names = ", ".join(one.name for one in examined.not_checked)
        unchecked = [f"not checked (--all says why): {names}"] if names else []
        return [*blocks, Texts(unchecked)]
    return [
        *blocks,
        Heading("fine", 4),
        Texts([f"{one.name}: {one.seen}" for one in examined.sound], close=True),
        Heading("not checked", 4),
        Texts([f"{one.name}: {one.reason}" for one in examined.not_checked], close=True),
    ]


def _in_run(one: CheckFinding) -> str:
    """Return what the run had of that on which a finding acts; empty where that is not known."""
    if one.in_run is None:
        return ""
    return one.in_run.text if one.in_run.matters else f"does not affect this run: {one.in_run.text}"


def _headline(examined: Examined) -> str:
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


def _details(one: CheckFinding) -> Iterator[str]:
    """Return the facts of a finding."""
    if one.in_run:
        yield f"in this run: {one.in_run.text}"
    yield f"better: {one.better} [{one.source}]"
    yield f"worth: {'unknown: ' if one.worth.kind == 'unknown' else ''}{one.worth.text}"
    fix = f"; or hearth doctor --fix {one.name}" if one.fixable else ""
    yield f"command: {one.command}{fix}{'; needs a reboot' if one.reboot else ''}"
    yield f"touches: {one.touches}"
    yield f"read from: {one.evidence}"


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
