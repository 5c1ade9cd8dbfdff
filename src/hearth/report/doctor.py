"""The doctor's findings, and the list of its checks."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from hearth.base.sizes import counted
from hearth.doctor.examine import CheckFinding, Examined
from hearth.doctor.rule import Rule
from hearth.report.blocks import Block, Heading, Texts
from hearth.report.terminal.screen import Screen


def doctor_blocks(
    examined: Examined, *, explain: bool = True, everything: bool = True
) -> list[Block]:
    """Return the findings and what is silenced.

    explain: all that is known of each finding; else a line, and the command if there is one.
    everything: also what is fine and what was not seen.
    """
    headline = _headline(examined)
    blocks: list[Block] = [
        Heading(headline, only="terminal"),
        Heading("Doctor", section="doctor", only="page"),
        Texts([f"{headline}."], "verdict", only="page"),
    ]
    for number, one in enumerate(examined.findings):
        short = "" if explain else f" -> {_in_a_line(one)}"
        title = f"{one.name}: {one.seen}{short}"
        close = not explain and number > 0
        blocks.append(Heading(title, 3, mark=one.severity, close=close))
        blocks += _details(one) if explain else [_command(one.command)]
    silenced = [f"silenced: {one.name} ({one.silenced}): {one.seen}" for one in examined.silenced]
    blocks.append(Texts(silenced))
    if examined.findings and not explain:
        more = (
            "--explain says why, by which source, what a change is worth and touches, and how it "
            "lasts"
        )
        blocks.append(Texts([more], "note"))
    if not everything:
        return blocks
    return [
        *blocks,
        Heading("fine", 4),
        Texts([f"{one.name}: {one.seen}" for one in examined.sound], close=True),
        Heading("not checked", 4),
        Texts([f"{one.name}: {one.reason}" for one in examined.not_checked], close=True),
    ]


def _headline(examined: Examined) -> str:
    """Return how many findings there are, and how many checks found nothing or could not look."""
    harm = sum(one.severity == "harm" for one in examined.findings)
    where = "this machine" if examined.machine == "live" else examined.machine
    notes = sum(one.severity == "note" for one in examined.findings)
    advice = len(examined.findings) - harm - notes
    counts = {
        counted(harm, "finding") + " of harm": harm,
        counted(advice, "piece") + " of advice": advice,
        counted(notes, "note"): notes,
        f"{len(examined.silenced)} silenced": len(examined.silenced),
    }
    said = ", ".join(text for text, number in counts.items() if number) or "nothing to change"
    fine, unseen = counted(len(examined.sound), "check"), len(examined.not_checked)
    rest = f"{fine} found nothing" + (f", {unseen} could not look (--all says why)" * (unseen > 0))
    return f"{where}: {said}; {rest}"


def _in_a_line(one: CheckFinding) -> str:
    """Return the first way to change it; of a command, which has its own line, who runs it."""
    if one.command is not None:
        return one.how.removesuffix(one.command).rstrip()
    return one.how.partition("; ")[0]


def _command(command: str | None) -> Texts:
    return Texts([command] if command else [], "command", close=True)


def _details(one: CheckFinding) -> Iterator[Block]:
    """Return the facts of a finding."""
    known = [one.why, f"better: {one.better} [{one.source}]"]
    known += [f"worth: {one.worth.text}"] if one.worth.kind != "unknown" else []
    how = one.how if one.command is None else _in_a_line(one)
    yield Texts([*known, f"to do: {how}{'; needs a reboot' if one.reboot else ''}"], close=True)
    yield _command(one.command)
    yield Texts(["to make it last:"] if one.lasting else [], close=True)
    yield _command(one.lasting)
    yield Texts([f"touches: {one.touches}", f"read from: {one.evidence}"], close=True)


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
