"""List and limit hearth's caches: class-data archives, answers, workloads' data."""

import contextlib
import fcntl
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hearth.machine import class_data as archive
from hearth.machine import paths
from hearth.workloads.datasets import MANIFEST, data_home

#: A younger part of an archive may still be written: the training run takes minutes at most.
_PART_S = 3600
#: Kind: what it is, and what bounds it without this command.
KINDS = {
    "archives": ("class-data archives: Java starts faster", "the newest 4 of a sort"),
    "answers": ("what was asked of this machine and the jars", "some kB each"),
    "data": ("data sets of 'hearth lab run' and 'hearth lab bench'", "nothing: --limit, --remove"),
}


@dataclass(frozen=True)
class CacheEntry:
    """One thing that goes as a whole; changed: seconds since 1970."""

    kind: str
    path: Path
    size_bytes: int
    changed: float


def entries() -> list[CacheEntry]:
    """Return all of it, the oldest first.

    What is being made, and files of the user's, are left out.
    """
    listed = [*_files(paths.cache_home()), *_data_sets(data_home())]
    return sorted(listed, key=lambda entry: entry.changed)


def over(listed: list[CacheEntry], limit_bytes: int) -> list[CacheEntry]:
    """Return the oldest entries, as many as must go for the rest to fit."""
    total = sum(entry.size_bytes for entry in listed)
    gone = []
    for entry in listed:
        if total <= limit_bytes:
            break
        gone.append(entry)
        total -= entry.size_bytes
    return gone


def remove(entry: CacheEntry) -> bool:
    """Remove it; False where it stays, because another process makes or checks it now."""
    if entry.kind != "data":
        for file in (entry.path, _sum_of(entry.path)):
            archive.discard(file)
        return True
    with contextlib.suppress(FileNotFoundError), _lock_of(entry.path).open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        shutil.rmtree(entry.path)
        return True
    shutil.rmtree(entry.path)
    return True


def _lock_of(data_set: Path) -> Path:
    return data_set.with_name(f".{data_set.name}.lock")


def _sum_of(archive: Path) -> Path:
    return archive.with_name(archive.name + ".sum")


def _files(home: Path) -> Iterator[CacheEntry]:
    for file in home.iterdir() if home.is_dir() else ():
        kind = {".json": "answers", ".jsa": "archives", ".failed": "archives", ".part": "archives"}
        with contextlib.suppress(FileNotFoundError):  # another process did the same
            stat = file.lstat()
            writing = file.suffix == ".part" and time.time() - stat.st_mtime < _PART_S
            if file.suffix in kind and not file.is_symlink() and not writing:
                yield CacheEntry(kind[file.suffix], file, _size(file), stat.st_mtime)


def _data_sets(home: Path) -> Iterator[CacheEntry]:
    """Yield the folders with a manifest: HEARTH_DATA may name a folder of the user's."""
    for folder in home.iterdir() if home.is_dir() else ():
        if not folder.is_symlink() and (folder / MANIFEST).is_file():
            yield CacheEntry("data", folder, _size(folder), (folder / MANIFEST).stat().st_mtime)


def _size(path: Path) -> int:
    """Return bytes of a file, or of the files below a directory."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.lstat().st_size for file in files if file.is_file())
