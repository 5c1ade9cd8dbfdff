"""Class-data archives: what makes a JVM start in a fraction of the time (JEP 350).

An archive is made once by a training run and reused until anything that it was made from changes.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hearth.base.errors import UserError
from hearth.base.java import own_directory, own_environment, reason_of
from hearth.base.private_files import ours, private_directory, write_private
from hearth.base.processes import die_with
from hearth.base.progress import answer_of
from hearth.base.temporary import working_directory
from hearth.machine import paths

#: Archives of a kind that stay: some 40 to 100 MB each.
_KEPT = 4
_LEFT_S = 3600
#: A failure to make one is remembered for a day: a disk that was full may have room again.
_REFUSED_S = 24 * 3600
# A truncated archive ends the JVM by a signal: that leaves neither a report nor a core file.
_STRICT = ["-Xshare:on", "-XX:+VerifySharedSpaces", "-XX:ErrorFile=/dev/null"]
_STRICT += ["-XX:-CreateCoredumpOnCrash"]
_REQUEST = b'{"machine": "2 packages, 2 nodes of 64 GB, 8 cores x 2 threads"}'


@dataclass(frozen=True)
class Training:
    """A recipe for an archive.

    name: the kind of archive. key: what it depends on. command: the training run, given the flag
    that makes the JVM write its archive. check: a short run with the same class path, given the
    flags to start from it. limit_s: how long each may take, in seconds.
    announcement: printed before a long run; empty for a short one. obstacle: looked for before the
    training run: why there can be no archive, or nothing.
    """

    name: str
    key: str
    command: Callable[[str], list[str]]
    check: Callable[[list[str]], list[str]]
    request: bytes = b""
    limit_s: float = 60
    announcement: str = ""
    obstacle: Callable[[], str] = lambda: ""


def archive_flags(java: Path, jvm: list[str], debug: bool) -> list[str]:
    """Return the flags by which hearth's own JVM side starts from its archive, which it makes."""
    training = Training(
        name="cli",
        key=key([java, paths.hearth_jar()], jvm),
        command=lambda flag: [str(java), flag, *jvm, "train"],
        check=lambda flags: [str(java), *flags, *jvm[:-1], "-version"],
        request=_REQUEST,
    )
    made = prepared(training, debug)
    return using(made) if made else []


def prepared(training: Training, debug: bool) -> Path | None:
    """Return the archive; made first where it is missing.

    If none can be made, that only costs time: None; the reason is kept and `--debug` shows it.
    """
    try:
        made, reason = _prepared(training)
    except (OSError, UserError) as error:  # a home that is another user's, or none at all
        made, reason = None, str(error)
    if debug and reason:
        print(f"hearth: no class-data archive: {reason}", file=sys.stderr)
    return made


def _prepared(training: Training) -> tuple[Path | None, str]:
    """Return the archive, or None and the reason."""
    archive = existing(training)
    if archive is not None:
        return archive, ""
    if _has_separator():
        return None, (
            f"'{paths.cache_home()}' has a colon, which separates archives in JVM options: set "
            "XDG_CACHE_HOME to a directory without one"
        )
    refusal = _file(training, "failed")
    if _is_fresh(refusal):
        why = refusal.read_text(errors="replace").strip()
        return None, f"{why} (delete {refusal})"
    private_directory(refusal.parent)
    if training.announcement:
        print(f"hearth: {training.announcement}", file=sys.stderr, flush=True)
    with _alone(refusal.parent):
        reason = "" if existing(training) else _make(training)
    if reason:
        write_private(refusal, reason + "\n")
    return existing(training), reason


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other process makes an archive in a folder: it may be making the same."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def is_missing(training: Training) -> bool:
    """Return whether there is none and making one has not failed lately."""
    return not (_has_separator() or existing(training) or _is_fresh(_file(training, "failed")))


def failures() -> list[tuple[str, str]]:
    """Return what could not be made within a day: the kind of archive, and the reason."""
    return [
        (file.name.rpartition("-")[0], " ".join(file.read_text(errors="replace").split()))
        for file in sorted(paths.cache_home().glob("*.failed"))
        if _is_fresh(file)
    ]


def _is_fresh(refusal: Path) -> bool:
    return refusal.is_file() and time.time() - refusal.stat().st_mtime < _REFUSED_S


def existing(training: Training) -> Path | None:
    """Return the archive, if it has been made; a damaged one is removed."""
    if _has_separator():
        return None
    for archive in sorted(paths.cache_home().glob(f"{training.name}-{training.key}.*.jsa")):
        with contextlib.suppress(OSError):
            if ours(archive) and archive == name_of(training, archive):
                return archive
            archive.unlink()
    return None


def _has_separator() -> bool:
    """Return whether a JVM would read the archive's name as several: it ends if over two."""
    return ":" in str(paths.cache_home())


def using(archive: Path) -> list[str]:
    """Return the flags by which a JVM starts from an archive; one that does not fit is ignored."""
    return [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto"]


def key(files: list[Path], words: list[str]) -> str:
    """Change with the path, time and size of each file, and with each word."""
    stats = [(str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files]
    return hashlib.sha256(repr((stats, words)).encode()).hexdigest()[:16]


def _file(training: Training, end: str) -> Path:
    return paths.cache_home() / f"{training.name}-{training.key}.{end}"


def name_of(training: Training, content: Path) -> Path:
    """Return the archive with this content: its name has the size and Adler-32.

    A JVM that starts from a truncated or changed archive crashes sooner or later.
    """
    total = 1
    with content.open("rb") as file:
        while part := file.read(1 << 20):
            total = zlib.adler32(part, total)
    return _file(training, f"{content.stat().st_size:x}-{total:08x}.jsa")


def _make(training: Training) -> str:
    """Make the archive; the reason where it cannot be made, else the empty text.

    A JVM that is asked to end writes its archive yet: into a directory that goes with hearth.
    """
    if reason := training.obstacle():
        return reason
    naming = {"prefix": f"{training.name}-{training.key}.", "suffix": ".part"}
    with working_directory(False, parent=paths.cache_home(), **naming) as folder:
        return _made(training, folder / "archive")


def _without_warnings(output: bytes) -> str:
    """Return the text without the JVM's warnings of single classes: none ends it."""
    lines = output.decode(errors="replace").splitlines()
    return "\n".join(line for line in lines if "[warning][cds" not in line)


def _made(training: Training, part: Path) -> str:
    try:
        code, said = _trained(training, part)
        if code or not part.is_file():
            reason = reason_of(*map(_without_warnings, said))
            return reason or f"java ended with {code} and made no archive"
        if not _sound(training, part):
            return "java rejects the archive that it has just written"
        part.replace(name_of(training, part))
        _drop_oldest(paths.cache_home(), training.name)
        return ""
    except subprocess.TimeoutExpired:
        return f"the training run took over {training.limit_s} s"


def _trained(training: Training, part: Path) -> tuple[int, tuple[bytes, bytes]]:
    """Return how the training run ended, and what it said: as errors, and else."""
    with subprocess.Popen(
        training.command(f"-XX:ArchiveClassesAtExit={part}"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=own_directory(),
        env=own_environment(),
        preexec_fn=die_with(os.getpid(), signal.SIGKILL),  # noqa: PLW1509 - one thread
    ) as process:
        try:
            title = "preparing quick starts, once"
            out, err = answer_of(process, training.request, title, training.limit_s)
        except BaseException:
            process.kill()
            raise
    return process.returncode, (err, out)


def _sound(training: Training, archive: Path) -> bool:
    """Return whether a JVM starts from a new archive.

    It compares the checksums that it wrote into it.
    """
    flags = [f"-XX:SharedArchiveFile={archive}", *_STRICT]
    done = subprocess.run(
        training.check(flags),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=training.limit_s,
        check=False,
        cwd=own_directory(),
        env=own_environment(),
        preexec_fn=die_with(os.getpid()),
    )
    return done.returncode == 0


def _drop_oldest(folder: Path, name: str) -> None:
    """Remove all but the newest few: each jar, each JVM and each checkout has its own.

    Unfinished ones stay too, except old ones, which a killed command left.
    """
    files = list(folder.glob(f"{name}-*"))
    finished = [file for file in files if file.suffix != ".part"]
    with contextlib.suppress(FileNotFoundError):  # another process did the same
        parts = [file for file in files if file.suffix == ".part"]
        abandoned = [file for file in parts if time.time() - file.stat().st_mtime > _LEFT_S]
        for old in [*sorted(finished, key=lambda file: -file.stat().st_mtime)[_KEPT:], *abandoned]:
            discard(old)


def discard(archive: Path) -> None:
    """Remove an archive, or the directory in which one was being made."""
    if archive.is_dir() and not archive.is_symlink():
        shutil.rmtree(archive, ignore_errors=True)
    else:
        archive.unlink(missing_ok=True)
