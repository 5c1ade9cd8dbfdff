"""Where the other Sparks and Javas are that tools/versions.sh fetches."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def fetched(kind: str) -> list[Path]:
    """Where the `sparks` or `javas` are; fetched first where they are missing."""
    words = [str(ROOT / "tools" / "versions.sh"), kind]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return [Path(line) for line in done.stdout.split()]
