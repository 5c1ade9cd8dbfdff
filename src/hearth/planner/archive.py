"""The class-data archive of the JVM side: what makes `java` start in a fraction of the time.

Made once for each pair of jar and java, by a training run that plans for this machine; reused
until either changes (JEP 350, dynamic class-data archives).
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from hearth.planner import places

_TRAINING_LIMIT_S = 60
_REQUEST = b'{"machine": "2 packages, 2 nodes of 64 GB, 8 cores x 2 threads"}'


def archive_flags(java: Path, jvm: list[str], debug: bool) -> list[str]:
    """The flags that use the archive; made first where it is missing.

    An archive that cannot be made only costs time: hearth goes on without, `--debug` says why.
    """
    folder = places.cache_home()
    key = _key([java, places.hearth_jar()], jvm)
    archive, refusal = folder / f"cli-{key}.jsa", folder / f"cli-{key}.failed"
    if archive.is_file():
        return _using(archive)
    if refusal.is_file():
        _note(debug, f"no class-data archive: {refusal.read_text().strip()} (delete {refusal})")
        return []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        reason = _make(java, jvm, archive)
        if reason:
            refusal.write_text(reason + "\n")
    except OSError as error:
        reason = str(error)
    if reason:
        _note(debug, f"no class-data archive: {reason}")
        return []
    return _using(archive)


def _using(archive: Path) -> list[str]:
    return [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", "-Xlog:disable", "-Xlog:all=off"]


def _make(java: Path, jvm: list[str], archive: Path) -> str:
    """Makes the archive; the reason where it cannot be made, else the empty text."""
    part = archive.with_suffix(f".{os.getpid()}.part")
    command = [str(java), f"-XX:ArchiveClassesAtExit={part}", "-Xlog:disable", *jvm, "plan"]
    try:
        done = subprocess.run(
            command, input=_REQUEST, capture_output=True, timeout=_TRAINING_LIMIT_S, check=False
        )
        if done.returncode or not part.is_file():
            said = done.stderr.decode(errors="replace").strip().splitlines()
            return said[-1] if said else f"java ended with {done.returncode} and made no archive"
        for old in archive.parent.glob("cli-*"):
            if old != part and not old.name.endswith(".part"):
                old.unlink(missing_ok=True)
        part.replace(archive)
        return ""
    except subprocess.TimeoutExpired:
        return f"the training run took over {_TRAINING_LIMIT_S} s"
    finally:
        part.unlink(missing_ok=True)


def _key(files: list[Path], jvm: list[str]) -> str:
    stats = [(str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files]
    return hashlib.sha256(repr((stats, jvm)).encode()).hexdigest()[:16]


def _note(debug: bool, text: str) -> None:
    if debug:
        print(f"hearth: {text}", file=sys.stderr)
