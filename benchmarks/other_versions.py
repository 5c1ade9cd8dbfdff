"""Where the other Sparks, Javas and engines are that tools/versions.sh fetches."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def fetched(kind: str) -> list[Path]:
    """Where the `sparks`, `javas` or `engines` are; fetched first where they are missing."""
    words = [str(ROOT / "tools" / "versions.sh"), kind]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return [Path(line) for line in done.stdout.split()]


def comet_jar() -> Path:
    """Comet's, for Spark 4.1."""
    (jar,) = fetched("engines")
    return jar
