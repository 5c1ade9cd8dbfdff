"""hearth's jar among a Spark's own, as a link: `local-numa` then needs no option anywhere."""

import contextlib
import errno
import os
import pwd
from collections.abc import Iterator
from pathlib import Path

from hearth.base.errors import UserError

_PATTERN = "hearth-spark_*.jar"
_NOT_WRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS)


def install(home: Path, jar: Path) -> str:
    """Link `jar` into the Spark at `home` and take away an older link; say what was done.

    Raises UserError where the folder cannot be written, where another user's link stands, and
    where the jar there is not a link: somebody put it there by hand.
    """
    there = sorted((home / "jars").glob(_PATTERN))
    link = home / "jars" / jar.name
    if there == [link] and link.is_symlink() and link.resolve() == jar.resolve():
        return f"{link} is already there: --master local-numa works from every front end of {home}"
    for old in there:
        _refuse_others(old)
    replaced = [str(old.readlink()) for old in there]
    part = link.with_suffix(".part")
    with _writing(home):
        part.unlink(missing_ok=True)
        part.symlink_to(jar.resolve())
        for old in there:
            old.unlink()
        part.rename(link)
    instead = f", instead of the link to {' and '.join(replaced)}" if replaced else ""
    return (
        f"linked {link}{instead}: --master local-numa now works from every front end of {home} "
        "('hearth install --undo' removes it)"
    )


def uninstall(home: Path) -> str:
    """Take hearth's links away from the Spark at `home`; say so. Raises like `install`."""
    there = sorted((home / "jars").glob(_PATTERN))
    if not there:
        return f"no jar of hearth in {home}/jars: nothing to remove"
    for old in there:
        _refuse_others(old)
    with _writing(home):
        for old in there:
            old.unlink()
    return f"removed {', '.join(map(str, there))}"


def _refuse_others(link: Path) -> None:
    if not link.is_symlink():
        raise UserError(
            f"'{link}' is not a link, so 'hearth install' did not create it: remove it yourself, "
            "or keep using it"
        )
    owner = link.lstat().st_uid
    if owner != os.geteuid() and os.geteuid() != 0:
        raise UserError(
            f"'{link}' is a link to '{link.readlink()}' that belongs to {_name(owner)}: keep "
            f"using it, or ask {_name(owner)} to run "
            f"'hearth install --undo --spark-home {link.parents[1]}'"
        )


def _name(uid: int) -> str:
    with contextlib.suppress(KeyError):
        return pwd.getpwuid(uid).pw_name
    return f"user {uid}"


@contextlib.contextmanager
def _writing(home: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        if problem.errno not in _NOT_WRITABLE:
            raise
        owner = _name((home / "jars").stat().st_uid)
        raise UserError(
            f"you cannot change '{home}/jars' ({problem.strerror}): ask {owner} to do it, or "
            'give each command --jars "$(hearth jar)"'
        ) from problem
