"""Whether the heavy cases have passed on this very code: a fingerprint of what they depend on.

An emulated Spark job takes minutes, so it runs where what it tests has changed, and always with
`make test-lab`, which writes the fingerprint down once everything has passed.
"""

import hashlib
import json
import re
from pathlib import Path

from numalab.setup import PROJECT

STAMP = PROJECT / "numalab" / "passed.json"
_CORE = "jvm/core/src/main/scala/io/hearth/core"
#: What decides where executors and their memory are put, and the lab itself.
PATHS = (
    "jvm/pom.xml",
    "jvm/affinity/src/main",
    "jvm/core/pom.xml",
    *(f"{_CORE}/{package}" for package in ("affinity", "launch", "placement", "topology")),
    "jvm/spark/pom.xml",
    "jvm/spark/src/main",
    "jvm/transport/src/main",
    "numalab",
)
_NOT_CODE = (STAMP.name, "passed.py", "README.md")


def fingerprint(project: Path = PROJECT) -> str:
    """SHA-256 over names and contents of all files in PATHS, in the order of their names."""
    digest = hashlib.sha256()
    for file in sorted(_files(project)):
        # Which other modules there are decides nothing.
        code = re.sub(rb"<modules>.*?</modules>", b"", file.read_bytes(), flags=re.DOTALL)
        content = hashlib.sha256(code).hexdigest()
        digest.update(f"{file.relative_to(project)} {content}\n".encode())
    return digest.hexdigest()


def has_passed() -> bool:
    """Whether the heavy cases passed on the code as it stands."""
    if not STAMP.is_file():
        return False
    known = json.loads(STAMP.read_text(encoding="utf-8"))
    return bool(known["fingerprint"] == fingerprint())


def write_down() -> None:
    """To be called when every case has passed."""
    STAMP.write_text(json.dumps({"fingerprint": fingerprint()}) + "\n", encoding="utf-8")


def _files(project: Path) -> list[Path]:
    found: list[Path] = []
    for name in PATHS:
        place = project / name
        inside = place.rglob("*") if place.is_dir() else [place]
        found += [f for f in inside if f.is_file() and _is_code(f)]
    return found


def _is_code(file: Path) -> bool:
    return file.name not in _NOT_CODE and "__pycache__" not in file.parts
