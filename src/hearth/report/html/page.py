"""The page: one HTML document of studies, of recorded runs, or of what the doctor found.

Jinja2 fills the templates beside this file; what it fills in is text unless a template says
otherwise. The page contains its style, its script and the charting library, and loads nothing.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from hearth.analysis.document import Analysis
from hearth.base.absent import Absent
from hearth.base.errors import UserError
from hearth.report.blocks import Block, Heading, Texts
from hearth.report.html import shown
from hearth.report.html.axis import executors_of
from hearth.report.html.run import SECTIONS, label, run_view
from hearth.report.html.side_by_side import differences, side_by_side
from hearth.report.html.threads import beside
from hearth.report.kinds import blocks_of, names_of

Links = list[tuple[str, str]]


def page(runs: Sequence[Analysis] = (), *documents: object) -> str:
    """Return the page of recorded runs and of documents, such as a `Compared`.

    Raises UserError where the charting library was not built in.
    """
    named = [str(run.record.application) for run in runs]
    named = [*named, *(name for one in documents for name in names_of(one))]
    sections = [section for one in documents for section in _sections(blocks_of(one))]
    links = [(one.id, one.link) for one in sections if one.link]
    executors = executors_of(runs)
    return _with_whole_options(
        _templates()
        .get_template("page.html")
        .render(
            title=f"hearth: {', '.join(dict.fromkeys(named)) or 'comparison'}",
            style=_resource("style.css"),
            library=_library() if runs else "",
            script=_resource("charts.js"),
            links=[*links, *_links(runs)],
            sections=sections,
            runs=[run_view(run, number, executors) for number, run in enumerate(runs)],
            side_by_side=side_by_side(runs),
            differences=differences(runs),
            threads=beside(runs, executors),
        )
    )


#: The begin of an element without text of the page, a tag, or an option in its text.
_OPTION = re.compile(r"<(script|style|title|option)\b|<[^<>]*>|\B(--[a-z][\w-]*)")


def _with_whole_options(html: str) -> str:
    """Let no line end within an option: a browser breaks one at its dashes."""
    done, at = [], 0
    while found := _OPTION.search(html, at):
        end = found.end()
        if found[1]:
            end = html.find(f"</{found[1]}>", end)
            end = len(html) if end < 0 else end
        shown = f'<span class="whole">{found[2]}</span>' if found[2] else html[found.start() : end]
        done += [html[at : found.start()], shown]
        at = end
    return "".join([*done, html[at:]])


@dataclass
class _Section:
    """A section of the page; id, link: empty where nothing leads to it."""

    id: str = ""
    name: str = ""
    link: str = ""
    blocks: list[Block] = field(default_factory=list)


def _sections(blocks: Iterable[Block]) -> list[_Section]:
    """Return a document's blocks by section, the verdict of each behind its headings."""
    sections = [_Section()]
    for block in blocks:
        if block.only == "terminal":
            continue
        if isinstance(block, Heading) and (block.section or block.level == 2):
            sections.append(_Section(block.section, block.text, block.link))
        sections[-1].blocks.append(block)
    for section in sections:
        section.blocks.sort(key=_turn)
    return sections


def _turn(block: Block) -> int:
    if isinstance(block, Heading) and (block.section or block.level == 2):
        return 0
    if isinstance(block, Texts) and block.leads:
        return 1 if block.kind == "verdict" else 2
    return 3


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
