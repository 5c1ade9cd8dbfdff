"""Says which emulated machines boot, and writes down when everything has passed."""

import os
from collections.abc import Iterator

import pytest

from numalab import passed

_JUDGED = "test_each_executor_has_a_node_of_its_own"
_results: dict[str, str] = {}


@pytest.fixture(scope="module", autouse=True)
def users_jdk() -> Iterator[None]:
    """The guests get the JDK that users have, where the other tests run on one of their own."""
    with pytest.MonkeyPatch.context() as patch:
        if named := os.environ.get("HEARTH_USERS_JDK"):
            patch.setenv("JAVA_HOME", named)
        yield


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if "tests/numalab/" in report.nodeid and (report.when == "call" or report.outcome != "passed"):
        _results[report.nodeid] = report.outcome


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Of a run that left tests out by name nothing is written down."""
    ran = [name for name, outcome in _results.items() if outcome == "passed"]
    judged = {name.partition("[")[2].partition("]")[0] for name in ran if _JUDGED in name}
    chosen = session.config.option.keyword or session.config.option.deselect
    complete = judged >= {"two-nodes-before", "partial-cpuset-before"} and not chosen
    if complete and "failed" not in _results.values():
        passed.write_down()
