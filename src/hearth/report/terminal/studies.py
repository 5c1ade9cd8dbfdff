"""Any study's document as a person reads it in the terminal."""

from collections.abc import Callable
from typing import Any

from hearth.report.terminal.bench import show_series
from hearth.report.terminal.characterisation import show_characterisation
from hearth.report.terminal.colocate import show_colocation
from hearth.report.terminal.compare import show_comparison
from hearth.report.terminal.screen import Screen
from hearth.report.terminal.study import show_study
from hearth.report.terminal.tune import show_tune
from hearth.studies.bench.result import BenchResult
from hearth.studies.characterise.result import Characterised
from hearth.studies.colocate.result import Colocated
from hearth.studies.compare.result import Compared
from hearth.studies.published.result import Repeated
from hearth.studies.tune.result import Tuned

_WRITERS: dict[type, Callable[[Any, Screen], list[str]]] = {
    Compared: show_comparison,
    Characterised: show_characterisation,
    Tuned: show_tune,
    Colocated: show_colocation,
    Repeated: show_study,
    BenchResult: show_series,
}


def show_document(found: object, screen: Screen) -> list[str]:
    """Return the lines of a document, such as a `Compared`."""
    return _WRITERS[type(found)](found, screen)
