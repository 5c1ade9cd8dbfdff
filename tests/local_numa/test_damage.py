"""The application does not depend on what hearth keeps for itself: a full disk, a damaged cache."""

import contextlib
import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from application import APPS, Outcome, Site, end_all
from test_bad_conditions import needs_own_mounts

from hearth.machine.paths import hearth_jar, spark_home
from hearth.spark.cds import driver_flags

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


def end_makers(cache: Path) -> None:
    """Ends what would make the driver's archives now that the application is over, for a minute."""
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            maker = b"hearth.spark.archive_maker" in (entry / "cmdline").read_bytes()
            if maker and str(cache).encode() in (entry / "environ").read_bytes():
                os.killpg(os.getpgid(int(entry.name)), signal.SIGKILL)


SMALL = ("--executors", "2", "--cores", "1", "--memory", "600m")


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Path, str]]:
    """A cache whose archive of the driver was cut off, used by `hearth profile`; its errors.

    The executors' archives are whole.
    """
    place = Site(tmp_path_factory.mktemp("damaged"))
    flags = driver_flags(spark_home(), hearth_jar(), make=True, debug=True)
    whole = Path(flags[0].partition("=")[2])
    cache = place.root / "cache" / "hearth"
    cache.mkdir(parents=True, mode=0o700)
    (cache / whole.name).write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    for archive in whole.parent.glob("executor-*"):
        shutil.copy(archive, cache)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache.parent))
        done = place.hearth("profile", "--no-summary", *SMALL, str(APPS / "tiny.py"))
        end_makers(cache.parent)
        shutil.copy(whole, cache)  # what comes next is of executors
        assert (done.code, done.report) == (0, {"sum": 140}), done.log[-4000:]
        yield place, cache, done.log
    end_all(place)


def said_of_archives(log: str) -> list[str]:
    """hearth's and the JVM's own lines."""
    said = [line for line in log.splitlines() if "archive" in line.lower()]
    return [line for line in said if not re.search(r" INFO | WARN LocalNuma", line)]


def test_a_driver_whose_archive_was_cut_off_starts_without_it(
    damaged: tuple[Site, Path, str],
) -> None:
    place, _, log = damaged
    (record,) = (place.root / "state" / "records").iterdir()
    head = json.loads((record / "record.json").read_text())
    assert "-XX:SharedArchiveFile=" not in "\n".join(head["command"])
    (said,) = said_of_archives(log)
    assert "makes class-data archives when this application is over" in said


def test_a_damaged_archive_of_executors_is_made_anew_and_a_crash_leaves_its_report(
    site: Site, damaged: tuple[Site, Path, str]
) -> None:
    _, cache, _ = damaged
    cut = {archive: archive.stat().st_size // 2 for archive in cache.glob("executor-*.jsa")}
    for archive, size in cut.items():
        archive.chmod(0o600)
        os.truncate(archive, size)
    outcome = site.run("chatty.py", "crash")
    assert (outcome.code, outcome.report) == (5, {"sum": 28}), outcome.log[-4000:]
    (report,) = set(
        re.findall(r"exit 134: .*; its report is (\S+?hs_err_pid\d+\.log)", outcome.log)
    )
    assert "SIGSEGV" in Path(report).read_text()
    # The one that fits is gone; another is there unless its writer was the executor that crashed.
    whole = [file for file, size in cut.items() if file.is_file() and file.stat().st_size == size]
    assert len(whole) == len(cut) - 1
    assert site.leftovers() == []
