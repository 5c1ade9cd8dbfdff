"""What the doctor found, for a terminal."""

from collections.abc import Iterator

from hearth.doctor.examine import Examined, Finding
from hearth.report.terminal.screen import Screen

_COLOURS = {"harm": "red", "advice": "yellow"}


def show_doctor(found: Examined, screen: Screen, *, everything: bool) -> list[str]:
    """The findings, what is silenced, and what was not seen; everything: also what is fine."""
    lines = [screen.title(headline(found))]
    for finding in found.findings:
        lines += ["", *_finding(finding, screen)]
    if found.silenced:
        lines.append("")
    for finding in found.silenced:
        lines.append(
            screen.paragraph(
                f"silenced: {finding.name} ({finding.silenced}): {finding.seen}", "", "  "
            )
        )
    if everything:
        lines += ["", screen.title("fine")]
        lines += [screen.paragraph(f"{one.name}: {one.seen}", "  ", "    ") for one in found.sound]
        lines += ["", screen.title("not seen")]
        lines += [
            screen.paragraph(f"{one.name}: {one.reason}", "  ", "    ") for one in found.not_checked
        ]
    elif found.not_checked:
        names = ", ".join(one.name for one in found.not_checked)
        lines += ["", screen.paragraph(f"not seen here (--all says why): {names}", "", "  ")]
    return lines


def headline(found: Examined) -> str:
    """Return how many findings there are, and how many checks found nothing or could not look."""
    harm = sum(one.severity == "harm" for one in found.findings)
    where = "this machine" if found.machine == "live" else found.machine
    counts = [f"{harm} that do harm", f"{len(found.findings) - harm} with advice"]
    counts += [f"{len(found.silenced)} silenced"] if found.silenced else []
    rest = f"{len(found.sound)} checks found nothing, {len(found.not_checked)} could not look"
    return f"{where}: findings: {', '.join(counts)}; {rest}"


def _finding(one: Finding, screen: Screen) -> Iterator[str]:
    head = screen.paint(one.severity, _COLOURS[one.severity])
    yield screen.paragraph(f"{head} {one.name}: {one.seen}", "", "  ")
    yield screen.paragraph(one.why, "  ")
    for name, value in details(one):
        yield screen.paragraph(f"{name}: {value}", "  ", "    ")


def details(one: Finding) -> Iterator[tuple[str, str]]:
    """Return the facts of a finding, by name."""
    yield "better", f"{one.better} [{one.source}]"
    yield "worth", one.worth.text if one.worth.kind == "published" else f"unknown: {one.worth.text}"
    fix = f"; or hearth doctor --fix {one.name}" if one.fixable else ""
    yield "command", f"{one.command}{fix}{'; needs a reboot' if one.reboot else ''}"
    yield "touches", one.touches
    yield "read from", one.evidence
