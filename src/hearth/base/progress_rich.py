"""The lines of `hearth.base.progress` on a terminal, drawn by rich."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from hearth.base.progress import Work
from hearth.base.terminal import TerminalStream, beneath

_BAR_WIDTH = 24


@contextmanager
def below(work: Work) -> Iterator[None]:
    """Show the work below what stands on standard error already."""
    lines = getattr(sys.stderr, "lines", None)
    if isinstance(lines, _Lines):
        with lines.showing(work):
            yield
        return
    before = sys.stderr
    lines = _Lines(beneath(before))
    sys.stderr = TerminalStream(cast(TextIO, _Above(lines)))
    try:
        with lines.live, lines.showing(work):
            yield
    finally:
        sys.stderr.flush()
        sys.stderr = before


class _Lines:
    """The work in progress, the outermost first."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self._works: list[Work] = []
        self.console = _Console(file=stream, highlight=False)
        self.live = Live(
            get_renderable=self._table,
            console=self.console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    @contextmanager
    def showing(self, work: Work) -> Iterator[None]:
        self._works.append(work)
        self.live.refresh()
        try:
            yield
        finally:
            self._works.remove(work)
            self.live.refresh()

    def _table(self) -> Table:
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True, overflow="ellipsis")
        table.add_column()
        table.add_column(no_wrap=True, overflow="ellipsis")
        for work in filter(lambda work: work.title, self._works):
            bar = ProgressBar(work.total, work.done, _BAR_WIDTH) if work.total else ""
            table.add_row(Text(work.line), bar, Text(work.times, style="dim"))
        return table


class _Console(Console):
    """Leaves the cursor as it is: nothing would bring it back after a kill."""

    def show_cursor(self, show: bool = True) -> bool:
        return False


class _Above:
    """A stream for other output: whole lines of it go above the progress lines."""

    def __init__(self, lines: _Lines) -> None:
        self.lines, self._begun = lines, ""

    def redraw_lines(self) -> None:
        self.lines.live.refresh()

    def write(self, text: str) -> int:
        *whole, self._begun = (self._begun + text).split("\n")
        for line in whole:
            self.lines.console.print(Text.from_ansi(line), soft_wrap=True)
        return len(text)

    def flush(self) -> None:
        """Write an unfinished line only once no progress is shown any more."""
        if not self.lines.live.is_started:
            self.lines.stream.write(self._begun)
            self._begun = ""
        self.lines.stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.lines.stream, name)
