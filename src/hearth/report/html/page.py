"""The page: one HTML document of runs, of a comparison, a characterisation, a tune, a colocation.

Jinja2 fills the templates beside this file; what it fills in is text unless a template says
otherwise. The page contains its style, its script and the charting library, and loads nothing.
"""

from collections.abc import Sequence
from importlib import resources
from typing import Any

from hearth.analysis.document import Analysis
from hearth.base.absent import Absent
from hearth.base.errors import UserError
from hearth.report.html import shown
from hearth.report.html.axis import executors_of
from hearth.report.html.colocation import colocation_view
from hearth.report.html.comparison import comparison_view, questions_view
from hearth.report.html.run import SECTIONS, label, run_view
from hearth.report.html.series import series_view
from hearth.report.html.shown import View
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


def page(
    runs: Sequence[Analysis] = (),
    comparison: Compared | None = None,
    characterisation: Characterised | None = None,
    tune: Tuned | None = None,
    colocation: Colocated | None = None,
    study: Repeated | None = None,
    series: BenchResult | None = None,
) -> str:
    """Return the page; raise UserError where the charting library was not built in."""
    names = [str(run.record.application) for run in runs]
    questions = [] if characterisation is None else questions_view(characterisation)
    if characterisation is not None:
        names += characterisation.subjects
    names += [tune.application] if tune is not None else []
    names += [one.name for one in colocation.applications] if colocation is not None else []
    names += [study.preset] if study is not None else []
    names += [f"series {series.series.suite}"] if series is not None else []
    executors = executors_of(runs)
    return str(
        _templates()
        .get_template("page.html")
        .render(
            title=f"hearth: {', '.join(dict.fromkeys(names))}" if names else "hearth: comparison",
            style=_resource("style.css"),
            library=_library() if runs else "",
            script=_resource("charts.js"),
            links=_links(runs, comparison, questions, tune, colocation),
            runs=[run_view(run, number, executors) for number, run in enumerate(runs)],
            comparison=None if comparison is None else comparison_view(comparison, "comparison"),
            characterisation=questions,
            tune=None if tune is None else tune_view(tune),
            colocation=None if colocation is None else colocation_view(colocation),
            study=None if study is None else study_view(study),
            series=None if series is None else series_view(series),
            doctor=None,
            side_by_side=side_by_side(runs),
            differences=differences(runs),
            threads=beside(runs, executors),
        )
    )


def doctor_page(doctor: View) -> str:
    """Return the page of what the doctor found."""
    return str(
        _templates()
        .get_template("page.html")
        .render(title="hearth: doctor", style=_resource("style.css"), links=[], doctor=doctor,
                comparison=None, characterisation=[], tune=None, colocation=None, study=None,
                series=None, runs=[])
    )  # fmt: skip


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


def _links(
    runs: Sequence[Analysis],
    comparison: Compared | None,
    questions: list[Any],
    tune: Tuned | None,
    colocation: Colocated | None,
) -> list[tuple[str, str]]:
    """Return the id and the title of each section that can be jumped to."""
    links = [("comparison", "Comparison")] if comparison else []
    links += [("tune", "Tune")] if tune else []
    links += [("colocation", "Colocation")] if colocation else []
    links += [(q["id"], q["link"]) for _, group in questions for q in group]
    links += [("side", "Side by side")] if len(runs) > 1 else []
    for number, run in enumerate(runs):
        links.append((f"run{number}", label(run)))
        if len(runs) == 1:
            links += [(f"{key}{number}", words) for key, words in SECTIONS]
    return links
