"""Files and directories that only their owner can read, from creation, whatever the umask.

Records, plans and logs hold command lines and settings. An existing directory must be this user's
own: where others can write, one made beforehand could lead anywhere. Nothing is kept below a
directory in which others can replace what is not theirs: one of another user's, or, without the
sticky bit (inode(7)), one that others can write to: everybody, its group, or whom an ACL names.
A user's private group, of the same name, is nobody else; the group of root has root's rights.
"""

import contextlib
import errno
import grp
import os
import pwd
import shlex
import stat
from pathlib import Path

_FILE = 0o600
_DIRECTORY = 0o700
_OVERFLOW = 65534
_ALL_IDS = ["0", "0", "4294967295"]


def private_directory(path: Path) -> Path:
    """Make a directory and missing parents; tighten an open one of this user's.

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
    """Make all below a private directory private too: Spark and the JVM choose their own modes.

    Not what is a link to a file of the user's, also a hard one.
    """
    for path in directory.rglob("*"):
        status = path.lstat()
        if stat.S_ISDIR(status.st_mode):
            path.chmod(_DIRECTORY)
        elif stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
            path.chmod(_FILE)


def ours(file: Path) -> bool:
    """Return whether the file exists and only this user or root can have written or replaced it."""
    try:
        status, folder = file.lstat(), file.parent.stat()
    except OSError:
        return False
    trusted = {status.st_uid, folder.st_uid} <= {os.geteuid(), 0}
    closed = not folder.st_mode & 0o077 or not (status.st_mode | folder.st_mode) & 0o022
    return trusted and closed and stat.S_ISREG(status.st_mode) and not replaceable(file)


def replaceable(path: Path) -> str:
    """Return why others can replace what is, or will be, at a path; empty if they cannot.

    Asks all existing directories above it, and above what it leads to by links.
    """
    path = path.absolute()
    for folder in dict.fromkeys([*path.parents, *Path(os.path.realpath(path)).parents]):
        try:
            reason = _weakness(folder, folder.lstat().st_uid, folder.stat())
        except OSError:
            continue
        if reason:
            return f"others can replace it: '{folder}' {reason}"
    return ""


def _weakness(folder: Path, links_owner: int, status: os.stat_result) -> str:
    """Return why others can rename or remove a directory's content; empty if they cannot."""
    mode = status.st_mode
    for owner in (links_owner, status.st_uid):
        if owner not in (0, os.geteuid()) and not _is_unknown(owner):
            return f"belongs to user {owner}; use a directory inside one of yours or root's"
    if mode & stat.S_ISVTX or not mode & (stat.S_IWOTH | stat.S_IWGRP):
        return ""
    who, bits = "", "o-w"
    if not mode & stat.S_IWOTH:
        who, bits = _other_group(folder, status.st_gid), "g-w"
        if not who:
            return ""
    shown = f"has mode {stat.S_IMODE(mode):o}{who}"
    return f"{shown} ('chmod +t {shlex.quote(str(folder))}' or 'chmod {bits}' fixes that)"


def _other_group(folder: Path, group: int) -> str:
    """Return whom the bits of the group stand for; empty where that is nobody else."""
    # With an ACL the bits of the group are the most that it gives to anybody (acl(5)).
    with contextlib.suppress(OSError):
        if os.getxattr(folder, "system.posix_acl_access"):
            return ", with an ACL"
    if group == 0:
        return ""
    name, user = str(group), str(os.geteuid())
    with contextlib.suppress(KeyError):  # one without a name
        name = grp.getgrgid(group).gr_name
    with contextlib.suppress(KeyError):
        user = pwd.getpwuid(os.geteuid()).pw_name
    return "" if name == user else f", group {name}"


def _is_unknown(user: int) -> bool:
    """Return whether a user is unknown to a container's user namespace (user_namespaces(7))."""
    with contextlib.suppress(OSError):
        return user == _OVERFLOW and Path("/proc/self/uid_map").read_text().split() != _ALL_IDS
    return False


def open_private(path: str, flags: int) -> int:
    """Open a file (`open(..., opener=open_private)`): private if new, and no link is followed."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, _FILE)


def write_private(file: Path, content: str | bytes) -> None:
    """Write a file completely or not at all; replace an existing one."""
    part = file.with_name(f".{file.name}.{os.getpid()}")
    part.unlink(missing_ok=True)  # of an earlier process of this id
    try:
        with open(part, "xb", opener=open_private) as output:
            output.write(content.encode() if isinstance(content, str) else content)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def _make(path: Path) -> None:
    """Make a directory and its parents, all private (pathlib sets only the last one's mode)."""
    if not path.parent.exists():
        _make(path.parent)
    path.mkdir(_DIRECTORY, exist_ok=True)


def _check_owner(path: Path) -> None:
    """Check a link itself, not its target: users may move their directories to another disk."""
    owner = path.lstat().st_uid
    if owner != os.geteuid():
        raise _not_ours(path, owner)


def _not_ours(path: Path, owner: int) -> PermissionError:
    reason = f"it belongs to user {owner}, not to {os.geteuid()}"
    return PermissionError(errno.EPERM, reason, str(path))
