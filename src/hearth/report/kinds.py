"""Which blocks show a document, by its type, and what names it in a page's title."""

from collections.abc import Callable
from typing import Any

from hearth.doctor.examine import Examined
from hearth.report.blocks import Block
from hearth.report.characterisation import characterisation_blocks
from hearth.report.colocation import colocation_blocks
from hearth.report.comparison import comparison_blocks
from hearth.report.doctor import doctor_blocks
from hearth.report.series import series_blocks
from hearth.report.study import study_blocks
from hearth.report.terminal.blocks import show_blocks
from hearth.report.terminal.screen import Screen
from hearth.report.tune import tune_blocks
from hearth.studies.bench.result import BenchResult
from hearth.studies.characterise.result import Characterised
from hearth.studies.colocate.result import Colocated
from hearth.studies.compare.result import Compared
from hearth.studies.published.result import Repeated
from hearth.studies.tune.result import Tuned

_KINDS: dict[type, tuple[Callable[[Any], list[Block]], Callable[[Any], list[str]]]] = {
    Compared: (comparison_blocks, lambda _: []),
    Characterised: (characterisation_blocks, lambda one: one.subjects),
    Tuned: (tune_blocks, lambda one: [one.application]),
    Colocated: (colocation_blocks, lambda one: [each.name for each in one.applications]),
    Repeated: (study_blocks, lambda one: [one.title]),
    BenchResult: (series_blocks, lambda one: [f"series {one.series.suite}"]),
    Examined: (doctor_blocks, lambda _: ["doctor"]),
}


def blocks_of(document: object) -> list[Block]:
    """Return the blocks of a document, such as a `Compared`."""
    return _KINDS[type(document)][0](document)


def names_of(document: object) -> list[str]:
    """Return what names it in the title of a page."""
    return _KINDS[type(document)][1](document)


def show_document(document: object, screen: Screen, *, explain: bool = False) -> list[str]:
    """Return the lines of a document for the terminal; explain: with what explains it."""
    return show_blocks(blocks_of(document), screen, explain=explain)
