"""A published study on the page: its table beside the published one, and its steps."""

from hearth.report.html.shown import View
from hearth.report.terminal import study
from hearth.studies.published.result import Repeated


def study_view(found: Repeated) -> View:
    """Return what the template shows."""
    return {
        "title": f"{found.preset}: {found.title}",
        "source": study.source(found),
        "head": study.HEAD,
        "rows": study.rows(found),
        "steps": [study.step_cells(step) for step in found.steps],
        "parts": found.not_available,
    }
