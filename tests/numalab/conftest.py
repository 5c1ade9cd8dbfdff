"""What the tests of emulated machines share."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def guests_jdk(users_jdk: None) -> None:
    """The guests get the JDK that users have."""
