"""Each test's applications run in a directory of their own, and are gone when it ends."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from application import Site, end_all


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    place = Site(tmp_path)
    yield place
    end_all(place)
