"""CPUs of an application that pauses work for another one's pending tasks, from two real Sparks."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from application import Site, end_all
from test_hand_over import cpusets, masks

from support import BOTH_CPUS, PATIENCE_S, TWO_CPUS, Command, eventually

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("two_cpus")]

ON = {
    "spark__hearth__neighbours": "avoid",
    "spark__hearth__handOver": "applications",
    "spark__executor__memory": "1g",  # which leaves memory for further tasks
}
OWN, ALL = [{str(cpu)} for cpu in TWO_CPUS], {BOTH_CPUS}


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The leases of this test's applications alone."""
    place = tmp_path / "leases"
    place.mkdir(mode=0o700)
    monkeypatch.setenv("HEARTH_LEASES", str(place))
    return place


@pytest.fixture
def lender(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A second place, beside the first one."""
    place = Site(tmp_path_factory.mktemp("lender"))
    yield place
    end_all(place)


def start(site: Site, role: str, folder: Path) -> tuple[subprocess.Popen[str], int]:
    """An application with one slot, and its executor's process."""
    process = site.start("lend.py", role, str(folder), master="local-numa[1x1]", **ON)
    eventually("an executor", lambda: len(site.executors()) == 1)
    return process, next(iter(site.executors()))


def cpus_of(pid: int) -> set[str]:
    """The different masks of an executor's threads and of all that it has started."""
    return set(masks(pid).values())


def pausing(site: Site, folder: Path) -> tuple[subprocess.Popen[str], int]:
    """A lender whose executor has had a task, and now has none."""
    folder.mkdir()
    (folder / "first-ends").touch()
    process, pid = start(site, "pauses", folder)
    eventually("a pause", (folder / "pauses-1").exists)
    return process, pid


def leases(hearth: Command) -> dict[str, Any]:
    return json.loads(hearth("status", "--leases", "--json").stdout)


def driver(site: Site) -> int:
    runs = sorted(
        (site.root / "state" / "applications").iterdir(), key=lambda run: run.stat().st_mtime
    )
    return json.loads((runs[-1] / "run.json").read_text())["driver_pid"]


def test_cpus_of_an_application_that_pauses_work_for_another_and_come_back_whoever_is_killed(
    site: Site, lender: Site, tmp_path: Path, registry: Path, hearth: Command
) -> None:
    work, rest = tmp_path / "work", tmp_path / "rest"
    work.mkdir()
    borrowing, pid = start(site, "works", work)
    _, idle = pausing(lender, rest)
    eventually("the lender's CPU for the borrower", lambda: cpus_of(pid) == ALL)
    eventually("a second task at a time", lambda: len(list(work.glob("*-runs"))) == 2)
    own = is_shown(site, lender, idle, hearth)
    has_no_barrier(work)
    eventually("the CPU again, for the next tasks", lambda: cpus_of(pid) == ALL)
    works_itself(lender, rest, pid, {own}, hearth)
    assert cpus_of(idle) == {own} and borrowing.poll() is None
    (rest / "turn-1-ends").touch()
    eventually("the CPU once more", lambda: cpus_of(pid) == ALL)
    os.kill(driver(lender), signal.SIGKILL)
    eventually("nobody's CPU is left alone", lambda: cpus_of(pid) in OWN)
    eventually("the lender's executor gone", lambda: lender.executors() == {})

    second = tmp_path / "second"
    lending, _ = pausing(lender, second)
    eventually("the next lender's CPU", lambda: cpus_of(pid) == ALL)
    os.kill(driver(site), signal.SIGKILL)
    eventually("the borrower's executor gone", lambda: site.executors() == {})
    eventually("no loan", lambda: leases(hearth)["loans"] == [])
    assert [offer["cpus"] for offer in leases(hearth)["offers"]] == [own]
    for turn in (1, 2):
        (second / f"work-{turn}").touch()
        (second / f"turn-{turn}-ends").touch()
    assert lending.wait(timeout=120) == 0
    assert leases(hearth)["leases"] == []
    borrowing.wait(timeout=PATIENCE_S)
    eventually("nothing left behind", lambda: site.leftovers() == [])


def is_shown(site: Site, lender: Site, idle: int, hearth: Command) -> str:
    """The lender's CPU: what is lent is in the leases, the borrower's record and its log."""
    (own,) = cpus_of(idle)
    (loan,) = leases(hearth)["loans"]
    app, other = (each.document("run.json")["app_id"] for each in (site, lender))
    assert (loan["cpus"], loan["to"]["app_id"], loan["from"]["app_id"]) == (own, app, other)
    shown = " ".join(hearth("status", "--leases").stdout.split())
    assert f"lent: CPUs {own} of {other} of " in shown
    *_, row = site.document("hand-over.json")["loans"]
    assert (row["cpus"], row["from_application"]["app_id"]) == (own, other)
    assert f"may use CPUs {own} too, which application {other} of " in site.log
    return own


def works_itself(lender: Site, folder: Path, pid: int, own: set[str], hearth: Command) -> None:
    (folder / "work-1").touch()
    eventually("the lender's task", (folder / "turn-1-runs").exists)
    eventually("its CPU back", lambda: cpus_of(pid) in OWN and cpus_of(pid) != own)
    assert leases(hearth)["offers"] == []
    lent = lender.document("hand-over.json")["lent_out"]
    assert {out["cpus"] for out in lent} == own and all("until" in out for out in lent)


def has_no_barrier(work: Path) -> None:
    """A stage in barrier mode waits for a slot of the executor's own."""
    (work / "barrier-starts").touch()
    time.sleep(1)
    (work / "two-ends").touch()
    time.sleep(1)
    assert not (work / "barrier-runs").exists(), "a barrier's task is on no borrowed slot"
    (work / "one-ends").touch()
    eventually("the barrier's task", (work / "barrier-runs").exists)
    (work / "barrier-ends").touch()


def test_a_containers_cpuset_is_opened_to_another_applications_cpus_and_closed_again(
    site: Site,
    lender: Site,
    registry: Path,
    tmp_path: Path,
    engine: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DOCKER_HOST", engine)
    work, rest = site.root / "work", tmp_path / "rest"
    work.mkdir()
    contained = {**ON, "spark__hearth__launcher": "docker"}
    borrowing = site.start("lend.py", "works", str(work), master="local-numa[1x1]", **contained)
    eventually("a task in the container", lambda: list(work.glob("*-runs")) != [])
    own = cpusets()
    lending, _ = pausing(lender, rest)
    eventually("the lender's CPU in its cpuset", lambda: cpusets() == {(BOTH_CPUS, "0")})
    eventually("a second task at a time", lambda: len(list(work.glob("*-runs"))) == 2)
    (rest / "work-1").touch()
    eventually("the CPU back", lambda: cpusets() == own)
    names = ("one", "two", "barrier", "three", "four", "five", "six")
    for name in ("barrier-starts", *(f"{name}-ends" for name in names)):
        (work / name).touch()
    for name in ("turn-1-ends", "work-2", "turn-2-ends"):
        (rest / name).touch()
    assert (borrowing.wait(timeout=120), lending.wait(timeout=120)) == (0, 0)
    assert [loan["cpus"] for loan in site.document("hand-over.json")["loans"]]
    assert site.document("placement.json")["executors"][0]["verdict"] == "as planned"
    eventually("nothing left behind", lambda: site.leftovers() == [])
    assert cpusets() == set()
