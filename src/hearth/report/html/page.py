"""The page: one HTML document of studies, of recorded runs, or of what the doctor found.

Jinja2 fills the templates beside this file, one for each kind of document; what it fills in is text
unless a template says otherwise. The page contains its style, its script and the charting library,
and loads nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from hearth.analysis.document import Analysis
from hearth.base.absent import Absent
from hearth.base.errors import UserError
from hearth.doctor.examine import Examined
from hearth.report.html import shown
from hearth.report.html.axis import executors_of
from hearth.report.html.colocation import colocation_view
from hearth.report.html.comparison import comparison_view, question_links, questions_view
from hearth.report.html.doctor import doctor_view
from hearth.report.html.run import SECTIONS, label, run_view
from hearth.report.html.series import series_view
from hearth.report.html.side_by_side import differences, side_by_side
from hearth.report.html.study import study_view
from hearth.report.html.threads import beside
from hearth.report.html.tune import tune_view
from hearth.studies.bench.result import BenchResult
from hearth.studies.characterise.result import Characterised
from hearth.studies.colocate.result import Colocated
from hearth.studies.compare.result import Compared
from hearth.studies.published.result import Repeated
from hearth.studies.tune.result import Tuned

Links = list[tuple[str, str]]


@dataclass(frozen=True)
class _Kind:
    """How documents of a type are shown. template: filled by `view`. names: for the title of the
    page. links: the id and the title of each section that can be jumped to.
    """

    template: str
    view: Callable[[Any], Any]
    names: Callable[[Any], list[str]]
    links: Callable[[Any], Links] = lambda _: []


_KINDS = {
    Compared: _Kind("comparison.html", lambda one: comparison_view(one, "comparison"),
                    lambda _: [], lambda _: [("comparison", "Comparison")]),
    Characterised: _Kind("characterisation.html", questions_view, lambda one: one.subjects,
                         question_links),
    Tuned: _Kind("tune.html", tune_view, lambda one: [one.application],
                 lambda _: [("tune", "Tune")]),
    Colocated: _Kind("colocation.html", colocation_view,
                     lambda one: [each.name for each in one.applications],
                     lambda _: [("colocation", "Colocation")]),
    Repeated: _Kind("study.html", study_view, lambda one: [one.preset]),
    BenchResult: _Kind("series.html", series_view, lambda one: [f"series {one.series.suite}"]),
    Examined: _Kind("doctor.html", doctor_view, lambda _: ["doctor"]),
}  # fmt: skip


def page(runs: Sequence[Analysis] = (), *documents: object) -> str:
    """Return the page of recorded runs and of documents, such as a `Compared`.

    Raises UserError where the charting library was not built in.
    """
    shown_as = [(_KINDS[type(one)], one) for one in documents]
    named = [str(run.record.application) for run in runs]
    named = [*named, *(name for kind, one in shown_as for name in kind.names(one))]
    executors = executors_of(runs)
    return str(
        _templates()
        .get_template("page.html")
        .render(
            title=f"hearth: {', '.join(dict.fromkeys(named)) or 'comparison'}",
            style=_resource("style.css"),
            library=_library() if runs else "",
            script=_resource("charts.js"),
            links=[*(link for kind, one in shown_as for link in kind.links(one)), *_links(runs)],
            documents=[(kind.template, kind.view(one)) for kind, one in shown_as],
            runs=[run_view(run, number, executors) for number, run in enumerate(runs)],
            side_by_side=side_by_side(runs),
            differences=differences(runs),
            threads=beside(runs, executors),
        )
    )


def _templates() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=PackageLoader("hearth.report.html"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": shown.number, "percent": shown.percent}
    environment.tests["absent"] = lambda value: isinstance(value, Absent)
    return environment


def _resource(name: str) -> Any:
    """Return one of this package's own files, to stand in the page as it is."""
    from markupsafe import Markup

    return Markup((resources.files("hearth.report.html") / name).read_text(encoding="utf-8"))


def _library() -> Any:
    try:
        return _resource("lib/echarts.min.js")
    except FileNotFoundError as error:
        raise UserError(
            f"the page's charting library is missing ({error.filename}): run 'make setup'"
        ) from None


def _links(runs: Sequence[Analysis]) -> Links:
    links = [("side", "Side by side")] if len(runs) > 1 else []
    for number, run in enumerate(runs):
        links.append((f"run{number}", label(run)))
        if len(runs) == 1:
            links += [(f"{key}{number}", words) for key, words in SECTIONS]
    return links
