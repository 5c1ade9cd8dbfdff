"""Text for a terminal: colours if wanted, tables, trees, wrapped paragraphs."""

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TextIO

_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "reverse": "7"}
# Eight hues that stay apart on dark and on light backgrounds (256-colour palette).
HUES = (39, 208, 70, 170, 178, 37, 203, 105)
_PIPE_WIDTH = 100


@dataclass(frozen=True)
class Screen:
    """How wide to write and whether to colour: decided once, from the stream."""

    width: int = _PIPE_WIDTH
    colour: bool = False

    @staticmethod
    def of(stream: TextIO | None = None) -> "Screen":
        """Colour only on a terminal, never where NO_COLOR is set (no-color.org) or TERM is dumb."""
        if not (stream or sys.stdout).isatty():
            return Screen(int(os.environ.get("COLUMNS") or _PIPE_WIDTH), colour=False)
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        columns = shutil.get_terminal_size((_PIPE_WIDTH, 24)).columns
        return Screen(max(columns, 40), colour=not plain)

    def paint(self, text: str, style: str) -> str:
        """Return the text in a named style, where colours are wanted."""
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self.colour and text else text

    def hue(self, text: str, number: int) -> str:
        """Return the text in the hue of an executor; the hues repeat."""
        code = HUES[number % len(HUES)]
        return f"\x1b[38;5;{code}m{text}\x1b[0m" if self.colour else text

    def title(self, text: str) -> str:
        return self.paint(text, "bold")

    def paragraph(self, text: str, indent: str = "", hanging: str | None = None) -> str:
        """Wrap text; a paragraph wider than 100 columns is tiring to read."""
        return textwrap.fill(
            text,
            width=min(self.width, 100),
            initial_indent=indent,
            subsequent_indent=indent if hanging is None else hanging,
            break_long_words=False,
            break_on_hyphens=False,
        )


def shown_width(text: str) -> int:
    """Return columns that a text takes: escape sequences take none."""
    return len(_ESCAPES.sub("", text))


def pad(text: str, width: int, right: bool = False) -> str:
    space = " " * (width - shown_width(text))
    return space + text if right else text + space


def table(
    screen: Screen, head: Sequence[str], rows: Iterable[Sequence[str]], right: str = ""
) -> list[str]:
    """Return a plain table: dim head, two blanks between columns.

    `right` names the columns to align on the right; the last column is cut to the screen.
    """
    body = [list(row) for row in rows]
    widths = [max(map(shown_width, column)) for column in zip(head, *body, strict=True)]
    aligned = [name in right.split() for name in head]

    def line(cells: Sequence[str]) -> str:
        padded = zip(cells, widths, aligned, strict=True)
        return "  " + "  ".join(pad(cell, width, side) for cell, width, side in padded).rstrip()

    return [screen.paint(line(head), "dim"), *(line(row) for row in body)]


@dataclass
class Branch:
    """A node of a tree: one line of text and its children."""

    text: str
    below: list["Branch"] = field(default_factory=list)

    def add(self, text: str) -> "Branch":
        child = Branch(text)
        self.below.append(child)
        return child


def tree(root: Branch) -> list[str]:
    """Return the tree, drawn with lines."""
    return [root.text, *_limbs(root, "")]


def _limbs(branch: Branch, indent: str) -> list[str]:
    lines: list[str] = []
    for child in branch.below:
        last = child is branch.below[-1]
        lines.append(f"{indent}{'└─ ' if last else '├─ '}{child.text}")
        lines.extend(_limbs(child, indent + ("   " if last else "│  ")))
    return lines


def sentence(text: str) -> str:
    """Capitalise a text and end it with one full stop; leave an empty text empty."""
    return f"{text[0].upper()}{text[1:].rstrip('.')}." if text else ""
