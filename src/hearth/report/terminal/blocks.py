"""Write the blocks of a report as lines of a terminal."""

from collections.abc import Sequence

from hearth.report.blocks import Block, Heading, Table, Texts
from hearth.report.terminal.screen import Screen, table

_COLOURS = {"harm": "red", "advice": "yellow", "note": "dim"}


def show_blocks(blocks: Sequence[Block], screen: Screen, *, explain: bool = False) -> list[str]:
    """Return the lines of all blocks but the page's; those without content have none.

    explain: whether to show those too that explain the others.
    """
    hidden = {"page"} if explain else {"page", "explained"}
    lines: list[str] = []
    for block in blocks:
        written = [] if block.only in hidden else _written(block, screen)
        if written and lines and not block.close:
            lines.append("")
        lines += written
    return lines


def _written(block: Block, screen: Screen) -> list[str]:
    if isinstance(block, Heading):
        return [_heading(block, screen)]
    if isinstance(block, Texts):
        return [_text(text, block.kind, screen) for text in block.texts]
    if isinstance(block, Table) and block.rows:
        rows = [[str(cell) for cell in row] for row in block.rows]
        more = len(rows) - (block.most or len(rows))
        lines = table(screen, block.head, rows[: block.most], block.right)
        return [*lines, *([f"  ... and {more} more"] if more > 0 else [])]
    return []  # a figure, or a table without rows


def _heading(block: Heading, screen: Screen) -> str:
    if not block.mark:
        return screen.title(block.text)
    mark = screen.paint(block.mark, _COLOURS[block.mark])
    return screen.paragraph(f"{mark} {block.text}", "", "  ")


def _text(text: str, kind: str, screen: Screen) -> str:
    if kind == "verdict":
        return screen.paragraph(screen.title(text), "  ")
    if kind == "note":
        return screen.paragraph(screen.paint(text, "dim"), "  ", "    ")
    if kind == "command":  # whole, to be copied
        return f"    {text}"
    prefix = {"reason": "- ", "warning": "warning: "}.get(kind, "")
    return screen.paragraph(f"{prefix}{text}", "  ", "    ")
