"""Whether the heavy cases have passed on this very code: one hash of all they run through.

An emulated Spark job takes minutes, so most of them run only where hearth's jar, this lab or its
judgements have changed.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from numalab.setup import PROJECT, hearth_jar

STAMP = PROJECT / "numalab" / "passed"
#: The lab and its judgements.
FOLDERS = ("numalab", "tests/numalab")
_NOT_CODE = (STAMP.name, "README.md")
#: What counts and judges nothing: see traffic.py.
_COUNTS_ONLY = "traffic"
_NOT_RUN = ("META-INF/maven/", "META-INF/licenses/", "META-INF/LICENSE", "META-INF/NOTICE")


def fingerprint(*jars: Path, project: Path = PROJECT) -> str:
    """Return the SHA-256 over what the jars run, and over FOLDERS."""
    digest = hashlib.sha256()
    for name, content in [*chain.from_iterable(map(_of_jar, jars)), *_of_lab(project)]:
        digest.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
    return digest.hexdigest()


def has_passed() -> bool:
    """Return whether the heavy cases passed on the code as it stands."""
    jars = _jars()
    return STAMP.is_file() and STAMP.read_text(encoding="ascii").strip() == fingerprint(*jars)


def write_down() -> None:
    """Write the stamp: to be called when every case has passed."""
    STAMP.write_text(fingerprint(*_jars()) + "\n", encoding="ascii")


def _jars() -> list[Path]:
    return [jar for jar in (hearth_jar(), hearth_jar("wire")) if jar]


def _of_jar(jar: Path) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(jar) as archive:
        for entry in sorted(archive.namelist()):
            if not entry.endswith("/") and not entry.startswith(_NOT_RUN):
                yield entry, archive.read(entry)


def _of_lab(project: Path) -> Iterator[tuple[str, bytes]]:
    for folder in FOLDERS:
        for file in sorted((project / folder).rglob("*")):
            named = file.name not in _NOT_CODE and not file.name.lower().startswith(_COUNTS_ONLY)
            if file.is_file() and named and "__pycache__" not in file.parts:
                yield str(file.relative_to(project)), file.read_bytes()
