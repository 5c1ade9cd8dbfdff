"""Whether the heavy cases have passed on this very code: a fingerprint of all they ran through.

An emulated Spark job takes minutes, so most of them run where what they run through has changed.
The guests' JVMs say which classes they load; the stamp holds those that are in hearth's jar, and a
digest of their bytes, of the jar's other content, of this lab and of its judgements.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from numalab.setup import PROJECT, hearth_jar

STAMP = PROJECT / "numalab" / "passed.json"
#: A case leaves here, in its evidence, the names of the classes that its JVMs loaded.
LOADED = "loaded.txt"
#: The lab and its judgements.
FOLDERS = ("numalab", "tests/numalab")
_NOT_CODE = (STAMP.name, "README.md")
#: What counts and judges nothing: see traffic.py.
_COUNTS_ONLY = "traffic"
_NOT_RUN = ("META-INF/maven/", "META-INF/licenses/", "META-INF/LICENSE", "META-INF/NOTICE")


def fingerprint(classes: Iterable[str], jar: Path, project: Path = PROJECT) -> str:
    """Return the SHA-256 over these classes of the jar, what is no class in it, and FOLDERS."""
    digest = hashlib.sha256()
    for name, content in [*_of_jar(set(classes), jar), *_of_lab(project)]:
        digest.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
    return digest.hexdigest()


def has_passed() -> bool:
    """Return whether the heavy cases passed on the code as it stands."""
    jar = hearth_jar()
    if not STAMP.is_file() or jar is None:
        return False
    known = json.loads(STAMP.read_text(encoding="utf-8"))
    return bool(known["fingerprint"] == fingerprint(known["classes"], jar))


def write_down(evidence: Path, cases: list[str]) -> None:
    """Write the stamp. To be called when every case has passed, with the names of the tests.

    evidence: where the cases' LOADED files are. Raises ValueError if they name no class of the jar.
    """
    jar = hearth_jar()
    if jar is None:
        raise ValueError("there is no hearth jar")
    classes = loaded(evidence, jar)
    if not classes:
        raise ValueError(f"no {LOADED} below '{evidence}' names a class of {jar.name}")
    stamp = {
        "date": datetime.now(UTC).date().isoformat(),
        "cases": sorted(cases),
        "fingerprint": fingerprint(classes, jar),
        "classes": classes,
    }
    STAMP.write_text(json.dumps(stamp, indent=0) + "\n", encoding="utf-8")


def loaded(evidence: Path, jar: Path) -> list[str]:
    """Return the entries of the jar that hold the classes which the cases loaded."""
    names: set[str] = set()
    for file in evidence.rglob(LOADED):
        names.update(file.read_text(encoding="utf-8").split())
    with zipfile.ZipFile(jar) as archive:
        return sorted({f"{name.replace('.', '/')}.class" for name in names} & {*archive.namelist()})


def _of_jar(classes: set[str], jar: Path) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(jar) as archive:
        entries = {entry for entry in archive.namelist() if not entry.endswith("/")}
        others = {entry for entry in entries if not entry.endswith(".class")}
        run = {entry for entry in others if not entry.startswith(_NOT_RUN)}
        for entry in sorted(classes | run):
            yield entry, archive.read(entry) if entry in entries else b"gone"


def _of_lab(project: Path) -> Iterator[tuple[str, bytes]]:
    for folder in FOLDERS:
        for file in sorted((project / folder).rglob("*")):
            named = file.name not in _NOT_CODE and not file.name.lower().startswith(_COUNTS_ONLY)
            if file.is_file() and named and "__pycache__" not in file.parts:
                yield str(file.relative_to(project)), file.read_bytes()
