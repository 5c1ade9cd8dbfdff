"""Show the doctor's findings as a page."""

from hearth.doctor.examine import CheckFinding, Examined
from hearth.report.html.shown import View
from hearth.report.terminal.doctor import changed, details, headline, in_run


def doctor_view(examined: Examined) -> View:
    """Return what the doctor's template shows."""
    return {
        "sentence": f"{headline(examined)}.",
        "changed": changed(examined),
        "findings": [_finding(one) for one in examined.findings],
        "silenced": [[one.name, one.seen, one.silenced] for one in examined.silenced],
        "sound": [[one.name, one.seen] for one in examined.sound],
        "not_checked": [[one.name, one.reason] for one in examined.not_checked],
    }


def _finding(one: CheckFinding) -> View:
    of_it = in_run(one) if one.in_run and not one.in_run.matters else ""
    title = ": ".join(filter(None, [one.name, one.seen, of_it]))
    return {"title": title, "severity": one.severity, "why": one.why,
            "details": list(details(one))}  # fmt: skip
