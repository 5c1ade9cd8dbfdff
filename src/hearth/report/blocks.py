"""What a report says, as blocks: the terminal and the page write the same ones.

Each kind of document has a module that makes them; `terminal/blocks` writes them as lines, and
`html/page` as HTML. A block says where the two differ: figures are on the page alone, and so or in
the terminal alone is what `only` names.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

#: What a cell of a table holds.
Cell = str | int | float
#: What a template is filled with, by the names that it uses.
View = dict[str, object]


@dataclass(frozen=True, kw_only=True)
class Block:
    """A part of a report. close: without a blank line above it in the terminal.

    only: where it is seen, if not everywhere; explained: in the terminal with --explain alone.
    """

    block: ClassVar[str]
    only: Literal["terminal", "page", "explained", ""] = ""
    close: bool = False


@dataclass(frozen=True)
class Heading(Block):
    """A title. section: the id of a section of the page that begins here; link: what leads there.

    mark: a word in front that says how grave it is.
    """

    block = "heading"
    text: str
    level: int = 2
    section: str = ""
    link: str = ""
    mark: Literal["harm", "advice", "note", ""] = ""


@dataclass(frozen=True)
class Texts(Block):
    """Sentences of one kind.

    A verdict and its reasons stand first in a section of the page, and where they are in the
    terminal, whose last lines are read first.
    """

    block = "texts"
    texts: Sequence[str]
    kind: Literal["text", "verdict", "reason", "warning", "note", "absent", "command"] = "text"

    @property
    def leads(self) -> bool:
        """Whether the page begins with it."""
        return self.kind in ("verdict", "reason")


@dataclass(frozen=True)
class Table(Block):
    """A table. right: names of the columns that are aligned on the right.

    most: rows that the terminal shows.
    """

    block = "table"
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str
    right: str = ""
    most: int | None = None


@dataclass(frozen=True)
class Figure(Block):
    """A picture of the page, which the macro of this name draws from its data.

    label: says it to those who cannot see it. names: of its colours.
    """

    block = "figure"
    drawn: Literal["intervals", "strip", "bars", "heat", "split"]
    data: object
    label: str
    caption: str = ""
    names: Sequence[str] = ()


def on_page(blocks: Iterable[Block]) -> list[Block]:
    """Return the blocks as those of the page alone."""
    return [replace(block, only="page") for block in blocks]
