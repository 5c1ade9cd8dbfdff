"""An event log that the user keeps in a directory of their own: linked into the record.

A hard link is made as soon as the file is seen, so that it is in the record whatever ends the run;
where that cannot be (another file system), the file is copied at the end.
"""

import os
import shutil
from pathlib import Path
from urllib.parse import unquote, urlparse

from hearth.base.private_files import open_private
from hearth.base.regular_files import open_regular
from hearth.record.store import RecordWriter

_START_BYTES = 1 << 20


class UsersEventLog:
    """Finds the run's own file in the user's directory: the new one that names the record.

    It does so by the GC log's path, among the settings that Spark writes first. A compressed or
    rolling log cannot be looked into; it is taken where it is the only new one of this user.
    """

    def __init__(self, writer: RecordWriter, directory: str) -> None:
        self._writer = writer
        self._folder = _local(directory)
        self._target = writer.directory / "eventlog"
        self._before = set(self._names())
        self._linked: Path | None = None
        if self._folder is None:
            writer.warn(
                f"the event log goes to {directory}, which is not a local directory",
                f"copy it to {self._target} when the application has ended",
            )

    def look(self, *, final: bool) -> None:
        """Link the file once it is there; at the end copies what could not be linked."""
        if self._folder is None or self._linked is not None:
            return
        new = [self._folder / name for name in sorted(set(self._names()) - self._before)]
        fresh = [path for path in new if _owner(path) == os.geteuid()]  # all users log there
        logs = [path for path in fresh if path.is_file() and self._is_ours(path)]
        if not logs and final and len(fresh) == 1:
            logs = fresh
        for path in logs:
            self._take(path, final)

    def _names(self) -> list[str]:
        if self._folder is None or not self._folder.is_dir():
            return []
        return [path.name for path in self._folder.iterdir() if not path.name.startswith(".")]

    def _is_ours(self, path: Path) -> bool:
        with open_regular(path) as file:
            return self._writer.directory.name.encode() in file.read(_START_BYTES)

    def _take(self, path: Path, final: bool) -> None:
        target = self._target / path.name.removesuffix(".inprogress")
        if path.is_dir():
            shutil.copytree(path, target, copy_function=_copy)
            target.chmod(0o700)
        else:
            try:
                os.link(path, target)
            except OSError:
                if not final:
                    return  # another file system: copied when it is whole
                _copy(path, target)
        self._linked = target


def _owner(path: Path) -> int | None:
    try:
        return path.lstat().st_uid
    except OSError:  # renamed meanwhile
        return None


def _copy(source: str | Path, target: str | Path) -> None:
    with open_regular(Path(source)) as log, open(target, "wb", opener=open_private) as copy:
        shutil.copyfileobj(log, copy)


def _local(directory: str) -> Path | None:
    """Return the local directory that `spark.eventLog.dir` names; None for another scheme."""
    url = urlparse(directory)
    if url.scheme not in ("", "file"):
        return None
    return Path(unquote(url.path) if url.scheme else directory)
