"""hearth's jars among a Spark's own, as links: `local-numa` then needs no option anywhere."""

import contextlib
import errno
import os
import pwd
from collections.abc import Iterator
from pathlib import Path

from hearth.base.errors import UserError

_PATTERNS = ("hearth-spark_*.jar", "hearth-wire_*.jar")
_NOT_WRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS)


def install(home: Path, jars: list[Path]) -> str:
    """Link the jars into the Spark at `home` and take away older links; say what was done.

    Raises UserError where the folder cannot be written, where another user's link stands, and
    where a jar there is not a link: somebody put it there by hand.
    """
    wanted = {home / "jars" / jar.name: jar.resolve() for jar in jars}
    shown = " and ".join(map(str, wanted))
    present = {link: link.resolve() for link in _links(home) if link.is_symlink()}
    if present == wanted:
        works = f"--master local-numa works from every front end of {home}"
        return f"{shown} {'are' if len(wanted) > 1 else 'is'} already there: {works}"
    for old in _links(home):
        _refuse_others(old)
    replaced = [str(old.readlink()) for old in _links(home) if old not in wanted]
    with _writing(home):
        for old in _links(home):
            old.unlink()
        for link, jar in wanted.items():
            link.symlink_to(jar)
    instead = f", instead of the link to {' and '.join(replaced)}" if replaced else ""
    return (
        f"linked {shown}{instead}: --master local-numa now works from every front end of {home} "
        "('hearth install --undo' removes it)"
    )


def uninstall(home: Path) -> str:
    """Take hearth's links away from the Spark at `home`; say so. Raises like `install`."""
    links = _links(home)
    if not links:
        return f"no jar of hearth in {home}/jars: nothing to remove"
    for link in links:
        _refuse_others(link)
    with _writing(home):
        for link in links:
            link.unlink()
    return f"removed {', '.join(map(str, links))}"


def _links(home: Path) -> list[Path]:
    return [link for pattern in _PATTERNS for link in sorted((home / "jars").glob(pattern))]


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
