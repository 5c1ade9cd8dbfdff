"""Says which emulated machines boot, and writes down when everything has passed."""

import re
from pathlib import Path

import pytest

from numalab import passed

_TESTS = Path(__file__).with_name("test_numalab.py")
#: Why a test may be left out of a run that is written down: `make test-lab` alone runs it.
_BEYOND = "=all runs"
_results: dict[str, str] = {}
_left_out: list[str] = []


@pytest.fixture(scope="module", autouse=True)
def guests_jdk(users_jdk: None) -> None:
    """The guests get the JDK that users have."""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if "tests/numalab/" not in report.nodeid:
        return
    test = report.nodeid.partition("@")[0]  # with pytest-xdist its group comes after it
    if report.outcome == "skipped" and _BEYOND not in str(report.longrepr):
        _left_out.append(test)
    elif report.outcome == "failed" or (report.outcome == "passed" and report.when == "call"):
        _results[test] = report.outcome


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Of a run that skipped a test, or left one out, nothing is written down."""
    if hasattr(session.config, "workerinput") or _left_out:
        return
    every = set(re.findall(r"^def (test_\w+)", _TESTS.read_text(encoding="utf-8"), re.MULTILINE))
    beyond = {name for name in every if only_for_all(name)}
    ran = {name.partition("::")[2].partition("[")[0] for name in _results}
    if every - beyond <= ran and "failed" not in _results.values():
        passed.write_down()


def only_for_all(name: str) -> bool:
    """Whether a test says that only HEARTH_NUMALAB=all runs it."""
    text = _TESTS.read_text(encoding="utf-8").partition(f"def {name}(")[2].partition(")")[0]
    return "all_wanted" in text
