"""Measure the size of the files that an application's command line names."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from hearth.base.sizes import show_bytes
from hearth.machine.plan import Reason

#: 200 partitions (Spark's own number for a shuffle) of 128 MB each. Up to there nothing is gained
#: by knowing the size: each query takes fewer partitions where it reads less.
LEAST_BYTES = 200 * (128 << 20)
#: Files that are looked at, in some 0.1 s; those behind them are not counted.
_MOST_FILES = 20_000


def large_input(words: Sequence[str]) -> int | None:
    """Return the bytes of all files that an application's arguments name, if they are many.

    A word may be a path, `name=path` or `file:` and a path. There is at least so much to read: an
    application may take other data too.
    """
    named = {path for word in words if (path := _path(word))}
    outer = [path for path in named if named.isdisjoint(path.parents)]
    files = (file for path in sorted(outer) for file in _files(path))
    size = sum(_size(file) for file in islice(files, _MOST_FILES))
    return size if size > LEAST_BYTES else None


def reason(size: int) -> Reason:
    """Return what the plan says of it."""
    because = "the files that the application's arguments name; --input says otherwise"
    return Reason("input", show_bytes(size), because, "hearth")


def _path(word: str) -> Path | None:
    """Return the existing file or directory that a word names."""
    for text in (word, word.partition("=")[2]):
        with contextlib.suppress(OSError):  # such as too long for a name
            path = Path(text.removeprefix("file:"))
            if text and path.exists():
                return path.resolve()
    return None


def _files(path: Path) -> Iterator[Path]:
    """Yield the files of a directory, without those behind links; or the file itself."""
    if not path.is_dir():
        yield path
    for folder, _, names in os.walk(path):
        yield from (Path(folder, name) for name in names)


def _size(file: Path) -> int:
    """Return 0 for what is not a file, or not to be read by this user."""
    with contextlib.suppress(OSError):
        return file.lstat().st_size if file.is_file() else 0
    return 0
