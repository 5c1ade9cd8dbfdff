"""Files and directories that only their owner can read, from creation, whatever the umask.

Records, plans and logs hold command lines and settings. An existing directory must be this user's
own: where others can write, one made beforehand could lead anywhere. Nothing is kept below a
directory in which others can replace what is not theirs: one that they can write to, without the
sticky bit (inode(7)).
"""

import errno
import os
import shlex
import stat
from pathlib import Path

_FILE = 0o600
_DIRECTORY = 0o700


def private_directory(path: Path) -> Path:
    """Makes a directory and missing parents; tightens an open one of this user's.

    Raises PermissionError, with the reason, if it or a link to it belongs to another user, or if
    others can replace it.
    """
    path = path.absolute()
    if reason := replaceable(path):
        raise PermissionError(errno.EPERM, reason, str(path))
    if not path.parent.exists():
        _make(path.parent)
    try:
        path.mkdir(_DIRECTORY)
        return path
    except FileExistsError:
        _check_owner(path)
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if os.fstat(directory).st_uid != os.geteuid():
            raise _not_ours(path, os.fstat(directory).st_uid)
        if os.fstat(directory).st_mode & 0o077:
            os.fchmod(directory, _DIRECTORY)
    finally:
        os.close(directory)
    return path


def close_to_others(directory: Path) -> None:
    """Makes all below a private directory private too: Spark and the JVM choose their own modes.

    Not what is a link to a file of the user's, also a hard one.
    """
    for path in directory.rglob("*"):
        seen = path.lstat()
        if stat.S_ISDIR(seen.st_mode):
            path.chmod(_DIRECTORY)
        elif stat.S_ISREG(seen.st_mode) and seen.st_nlink == 1:
            path.chmod(_FILE)


def ours(file: Path) -> bool:
    """Whether the file exists and only this user or root can have written or replaced it."""
    try:
        seen, folder = file.lstat(), file.parent.stat()
    except OSError:
        return False
    trusted = {seen.st_uid, folder.st_uid} <= {os.geteuid(), 0}
    closed = not folder.st_mode & 0o077 or not (seen.st_mode | folder.st_mode) & 0o022
    return trusted and closed and stat.S_ISREG(seen.st_mode) and not replaceable(file)


def replaceable(path: Path) -> str:
    """Why others can replace what is, or will be, at a path; empty if they cannot.

    Asks all existing directories above it, and above what it leads to by links.
    """
    path = path.absolute()
    for folder in dict.fromkeys([*path.parents, *Path(os.path.realpath(path)).parents]):
        try:
            mode = folder.stat().st_mode
        except OSError:
            continue
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            return (
                f"others can replace it: '{folder}' has mode {stat.S_IMODE(mode):o}"
                f" ('chmod +t {shlex.quote(str(folder))}' or 'chmod o-w' mends that)"
            )
    return ""


def open_private(path: str, flags: int) -> int:
    """For `open(..., opener=open_private)`: a new file is private, a link is not followed."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, _FILE)


def write_private(file: Path, content: str | bytes) -> None:
    """Writes a file completely or not at all; replaces an existing one."""
    part = file.with_name(f".{file.name}.{os.getpid()}")
    part.unlink(missing_ok=True)  # of an earlier process of this id
    try:
        with open(part, "xb", opener=open_private) as output:
            output.write(content.encode() if isinstance(content, str) else content)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def _make(path: Path) -> None:
    """Like mkdir -p, each directory private (pathlib gives the mode to the last one only)."""
    if not path.parent.exists():
        _make(path.parent)
    path.mkdir(_DIRECTORY, exist_ok=True)


def _check_owner(path: Path) -> None:
    """Checks a link itself, not its target: users may move their directories to another disk."""
    owner = path.lstat().st_uid
    if owner != os.geteuid():
        raise _not_ours(path, owner)


def _not_ours(path: Path, owner: int) -> PermissionError:
    reason = f"it belongs to user {owner}, not to {os.geteuid()}"
    return PermissionError(errno.EPERM, reason, str(path))
