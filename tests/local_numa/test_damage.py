"""The application does not depend on what hearth keeps for itself: a full disk, a crash."""

import re
from pathlib import Path

import pytest
from application import Outcome, Site
from test_bad_conditions import needs_own_mounts

pytestmark = pytest.mark.spark

# A file system for the state directory, seen by nobody else, gone with its last process.
MOUNTED = 'mount -t tmpfs -o "$0" none state && "$@"; code=$?; cp -r state kept; exit $code'


def mounted(options: str) -> tuple[str, ...]:
    return ("unshare", "-m", "sh", "-c", MOUNTED, options)


def warnings(outcome: Outcome) -> list[str]:
    return re.findall(r"WARN LocalNuma: (The application goes on, but .*)", outcome.log)


def test_a_state_directory_too_small_for_a_run_still_says_how_the_run_ended(site: Site):
    needs_own_mounts()
    outcome = site.run("chatty.py", "no", within=mounted("size=300k"))
    assert outcome.report == {"sum": 28}
    assert outcome.code == 5
    assert len(warnings(outcome)) <= 1
    assert "Lost task" not in outcome.log
    assert site.leftovers() == []
    # There is room for the end of the record, taken when it began.
    records = [run.read_text() for run in (site.root / "kept").glob("applications/*/run.json")]
    assert ['"finished"' in record for record in records] == [True]


def test_a_crash_of_an_executor_leaves_its_report(site: Site) -> None:
    outcome = site.run("chatty.py", "crash")
    assert (outcome.code, outcome.report) == (5, {"sum": 28}), outcome.log[-4000:]
    (report,) = set(
        re.findall(r"exit 134: .*; its report is (\S+?hs_err_pid\d+\.log)", outcome.log)
    )
    assert "SIGSEGV" in Path(report).read_text()
    assert site.leftovers() == []
