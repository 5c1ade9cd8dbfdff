"""Progress on standard error: a bar on a terminal, one line elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from hearth.model.terminal import redraw

_WIDTH = 28


@dataclass
class Bar:
    """One piece of work of a known number of parts.

    Elsewhere than on a terminal only the title is said, once: a log wants no moving bar.
    """

    title: str
    started: float = field(default_factory=time.monotonic)
    terminal: bool = field(default_factory=sys.stderr.isatty)

    def __post_init__(self) -> None:
        print(f"hearth: {self.title} ...", file=sys.stderr, flush=True)

    def show(self, done: int, total: int) -> None:
        """Draws the bar; nothing where the total is not known yet."""
        if self.terminal and total > 0:
            redraw(self.text(done, total))

    def text(self, done: int, total: int) -> str:
        """`[#######.....]  25 %  12 of 48 parts, 30 s left`."""
        full = _WIDTH * done // total
        bar = f"[{'#' * full}{'.' * (_WIDTH - full)}] {100 * done // total:3d} %"
        passed = time.monotonic() - self.started
        left = f", about {passed / done * (total - done):.0f} s left" if done else ""
        return f"{bar}  {done} of {total} parts{left}"

    def close(self) -> None:
        if self.terminal:
            redraw("")


@contextmanager
def seconds_shown(title: str) -> Iterator[Callable[[], None]]:
    """Work of unknown length: what it gives, called meanwhile, shows the seconds so far.

    On a terminal only, and gone at the end.
    """
    started = time.monotonic()

    def show() -> None:
        if sys.stderr.isatty():
            redraw(f"hearth: {title}, {time.monotonic() - started:.0f} s")

    show()
    try:
        yield show
    finally:
        if sys.stderr.isatty():
            redraw("")
