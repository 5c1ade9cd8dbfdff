"""Progress of long work on standard error: live lines on a terminal, nothing elsewhere.

The lines stand below what is printed meanwhile, work within work below the work that it is part of,
and are gone at the end, however it ends. No thread draws them: who waits calls `tick` a few times a
second. rich draws them (docs/decisions/0010-rich-shows-progress.md); it is loaded with the first.
"""

import contextlib
import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from hearth.base.durations import show_seconds
from hearth.base.terminal import escaped

T = TypeVar("T", str, bytes)


@dataclass
class Work:
    """Some work that goes on. left: the seconds that it still takes; None where nothing tells."""

    title: str
    done: int = 0
    total: int = 0
    left: Callable[[], float | None] | None = None
    clock: Callable[[], float] = time.monotonic
    started: float = field(init=False)

    def __post_init__(self) -> None:
        self.started = self.clock()

    def show(self, done: int, total: int) -> None:
        """Show how many parts are done; a total of 0 is not known yet."""
        self.done, self.total = done, total
        tick()

    @property
    def line(self) -> str:
        return " ".join(escaped(self.title).split())

    @property
    def times(self) -> str:
        """`1 min 20 s so far, about 6 min 00 s left`; none left before there is a basis for it."""
        passed = self.clock() - self.started
        left = self._left_s(passed)
        so_far = f"{show_seconds(passed, 0)} so far"
        return so_far if left is None else f"{so_far}, about {show_seconds(left, 0)} left"

    def _left_s(self, passed_s: float) -> float | None:
        if self.left is not None:
            return self.left()
        return passed_s / self.done * (self.total - self.done) if self.done else None


@contextmanager
def working(title: str, left: Callable[[], float | None] | None = None) -> Iterator[Work]:
    """Show some work while it goes on."""
    work = Work(title, left=left)
    if not sys.stderr.isatty():
        yield work
        return
    from hearth.base.progress_rich import below  # loads rich, for a terminal only

    with below(work):
        yield work


#: A wait has a word after so long, and looks so often.
_WORD_S, _LOOK_S = 1.0, 0.2


def answer_of(
    process: "subprocess.Popen[T]", text: T | None, title: str, limit_s: float | None = None
) -> tuple[T, T]:
    """Return what a process writes to its pipes; show what is waited for if that takes a second.

    Raises subprocess.TimeoutExpired after `limit_s` seconds.
    """
    ends = time.monotonic() + (math.inf if limit_s is None else limit_s)
    first_s = _WORD_S if limit_s is None else min(_WORD_S, limit_s)
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.communicate(text, timeout=first_s)
    with working(title):
        while time.monotonic() < ends:
            tick()
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.communicate(timeout=_LOOK_S)
    raise subprocess.TimeoutExpired(process.args, limit_s or 0.0)


def tick() -> None:
    """Draw the lines again, where there are any."""
    redraw = getattr(sys.stderr, "redraw_lines", None)
    if redraw is not None:
        redraw()
