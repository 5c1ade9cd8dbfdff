"""What a test needs of its surroundings, and what becomes of it where that is absent."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def required() -> set[str]:
    """The features that must not be skipped, from HEARTH_REQUIRE."""
    return set(filter(None, os.environ.get("HEARTH_REQUIRE", "").split(",")))


def require(feature: str, reason: str) -> None:
    """Skips the test, visibly; fails it where HEARTH_REQUIRE names the feature."""
    if feature in required():
        pytest.fail(f"HEARTH_REQUIRE names {feature}, but {reason}", pytrace=False)
    pytest.skip(f"needs {feature}: {reason}")
