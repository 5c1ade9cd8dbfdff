"""Two applications at once: each has its own CPUs, and executors know their own driver."""

import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from application import APPS, BIN, Outcome, Site, read_words

from support import TWO_CPUS, Command, confs, eventually
from test_limits import child_of, quota

pytestmark = pytest.mark.usefixtures("two_cpus")

AVOID = {"spark__hearth__neighbours": "avoid"}
SPARKS = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


@pytest.fixture
def other(tmp_path_factory: pytest.TempPathFactory, site: Site) -> Iterator[Site]:
    """A second place, whose applications go with the first one's.

    It is not below the first one, whose executors are told by its path.
    """
    place = Site(tmp_path_factory.mktemp("other"))
    yield place
    site.started.extend(place.started)


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which somebody listens who is no driver."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def submit(site: Site, *words: str, **conf: str) -> subprocess.Popen[str]:
    """`hearth submit`, as `Site.start` starts spark-submit."""
    settings = {**site.settings, **{key.replace("__", "."): value for key, value in conf.items()}}
    return site.launch([str(BIN / "hearth"), "submit", *confs(settings), *words])


def executor(site: Site) -> tuple[int, str]:
    """Process and driver's address of the one executor."""
    eventually("an executor", lambda: len(site.executors()) == 1)
    ((pid, words),) = site.executors().items()
    return pid, words["--driver-url"]


def cpus_of(pid: int) -> str:
    status = Path(f"/proc/{pid}/status").read_text()
    return re.findall(r"Cpus_allowed_list:\t(.*)", status)[0]


def port_of(url: str) -> int:
    return int(url.rsplit(":", 1)[1])


def test_two_applications_on_one_port_have_their_own_executors_on_their_own_cpus(
    site: Site, other: Site, taken: int, hearth: Command
) -> None:
    """The port that both are given is somebody else's already; each moves on to another.

    The second one sets keys in code, over its command line and over what hearth derived.
    """
    fixed = {"spark__driver__port": str(taken), "spark__driver__host": "127.0.0.1", **AVOID}
    end = site.root / "end"
    first = site.start("hold.py", str(end), master="local-numa[1x1]", **fixed)
    pid, address = executor(site)
    own = (
        "spark.executor.memory=600m",
        "spark.task.maxFailures=9",
        "spark.scheduler.revive.interval=7s",
    )
    second = submit(
        other, "--executors", "1", "--cores", "1", str(APPS / "hold.py"), str(end), *own,
        spark__task__maxFailures="2", **fixed,
    )  # fmt: skip
    other_pid, other_address = executor(other)
    assert {cpus_of(pid), cpus_of(other_pid)} == {str(cpu) for cpu in TWO_CPUS}
    assert "-Xmx600m" in read_words(Path(f"/proc/{other_pid}/cmdline"))
    assert len({taken, port_of(address), port_of(other_address)}) == 3
    third_is_told(hearth)
    eventually("a task", lambda: "Starting task" in site.log)
    turned_away(site, pid, address)
    does_not_register(Site(site.root / "stray"), site, port_of(address))
    does_not_share(Site(site.root / "namesake"), site)
    comes_back_when_it_can(site, pid)
    end.touch()
    for process, settings in ((second, own), (first, ())):
        output, _ = process.communicate(timeout=240)
        report = Outcome(process.returncode, output, site.log + other.log).report
        assert [f"{key}={value}" for key, value in report["read"].items()] == list(settings)
    assert "The program sets spark.executor.memory, on which the plan" in other.log
    assert other.document("plan.json")["executors"][0]["heap_mb"] == 600
    assert site.document("placement.json")["executors"][0]["verdict"] == "as planned"
    app = site.document("run.json")["app_id"]
    assert f"left alone: leased by {app} of " in other.log
    assert json.loads(hearth("status", "--leases", "--json").stdout)["leases"] == [], (
        "they have ended"
    )


def test_two_applications_under_one_cpu_quota_hold_cpus_of_their_own_and_end_well(
    site: Site, other: Site
) -> None:
    """Each is planned with the whole quota, which the other need not use."""
    end = site.root / "end"
    with ExitStack() as stack:
        group, unified = child_of("cpu", stack)
        quota(group, unified, 1.5)
        joined = ("sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh")
        both = [
            place.start("hold.py", str(end), master="local-numa[1x1]", within=joined, **AVOID)
            for place in (site, other)
        ]
        held = {cpus_of(executor(place)[0]) for place in (site, other)}
        end.touch()
        for process, place in zip(both, (site, other), strict=True):
            output, _ = process.communicate(timeout=240)
            assert Outcome(process.returncode, output, place.log).report["held"] == [str(end)]
            assert place.leftovers() == []
        eventually("nothing is left in it", lambda: not (group / "cgroup.procs").read_text())
    assert held == {str(cpu) for cpu in TWO_CPUS}


def third_is_told(hearth: Command) -> None:
    asked = ["--executors", "1", "--cores", "1"]
    third = hearth("submit", "--dry-run", *asked, "x.py")
    assert third.returncode == 0
    assert re.search(r"  beside  CPUs 0-1 shared: .* of \S+ \(process \d+\) on CPUs", third.stderr)
    planned = " ".join(hearth("plan", *asked).stdout.split())
    assert re.search(r"beside CPUs 0-1 shared: .* and nothing fits beside them", planned)
    refused = hearth("submit", "--when-full", "refuse", *asked, str(APPS / "hold.py"))
    assert refused.returncode == 2
    assert "known to be free: what this application needs is held by" in refused.stderr
    leases = json.loads(hearth("status", "--leases", "--json").stdout)["leases"]
    assert sorted(lease["cpus"] for lease in leases) == sorted(map(str, TWO_CPUS))
    assert {lease["state"] for lease in leases} == {"holds"}
    elsewhere = hearth("plan", *asked, "--machine", "1 node of 16 GB, 2 cores", "--json").stdout
    assert "neighbours" not in elsewhere


def turned_away(site: Site, pid: int, address: str) -> None:
    """An executor of another application that comes to a driver's address is turned away."""
    words = read_words(Path(f"/proc/{pid}/cmdline"))
    own = words[: words.index("-cp") + 2]
    foreign = [w for w in own if not w.startswith("-Dhearth.bound=")]
    foreign += [SPARKS, "--driver-url", address]
    foreign += ["--executor-id", "77", "--hostname", "127.0.0.1", "--cores", "1"]
    foreign += ["--app-id", "another", "--resourceProfileId", "0"]
    done = subprocess.run(
        foreign, cwd=site.root, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode != 0, done.stderr
    assert (
        "Refused to register: executor 77 on 127.0.0.1 does not belong to application" in site.log
    ), done.stderr


def does_not_register(stray: Site, first: Site, port: int) -> None:
    """Its driver listens on the same port of another address, and names the first one's."""
    stray.root.mkdir()
    outcome = stray.run(
        "hold.py", str(stray.root), master="local-numa[1x1]", spark__driver__port=str(port),
        spark__driver__host="127.0.0.1", spark__driver__bindAddress="127.0.0.2",
        spark__executor__maxNumFailures="1",
    )  # fmt: skip
    assert outcome.code != 0
    assert (
        f"at spark://CoarseGrainedScheduler@127.0.0.1:{port} another application's" in outcome.log
    )
    assert "exit 78: another application's driver answered" in outcome.log
    assert first.log.count("Registered executor") == 1


def does_not_share(namesake: Site, first: Site) -> None:
    """Another application of the same id, with records elsewhere, leaves the first one's alone."""
    namesake.root.mkdir()
    app, local = first.document("run.json")["app_id"], first.root / "local"
    outcome = namesake.run(
        "hold.py", str(namesake.root), spark__app__id=app, spark__local__dir=str(local),
    )  # fmt: skip
    assert outcome.code != 0
    directory = local / f"hearth-{app}"
    assert f"spark.app.id: an application with this id uses {directory} already" in outcome.log
    assert directory.is_dir()
    assert not namesake.executors()


def comes_back_when_it_can(site: Site, pid: int) -> None:
    """A killed executor whose successor has no scratch directory at first."""
    others = site.executors().keys() - {pid}
    (scratch,) = (site.root / "local").glob("hearth-*")
    aside = scratch.with_name("aside")
    scratch.rename(aside)
    scratch.touch()
    os.kill(pid, signal.SIGKILL)
    eventually("it is said", lambda: re.search(r"could not be .*tried again in \d+ s", site.log))
    assert site.executors().keys() <= others
    scratch.unlink()
    aside.rename(scratch)
    eventually("another executor", lambda: site.executors().keys() - others)
    eventually("what it wrote goes", lambda: {
        path.name for path in scratch.iterdir() if path.name.isdigit()
    } == {words["--executor-id"] for words in site.executors().values()})  # fmt: skip


def test_two_started_in_one_instant_have_different_cpus_and_a_third_gets_those_of_a_killed_one(
    site: Site, other: Site
) -> None:
    """kill -9 leaves a driver's lease to its executors, and they give it back when they end."""
    end = site.root / "end"
    third = Site(site.root / "third")
    third.root.mkdir()
    mine = "local-numa[1x1]"
    second, first = (place.start("hold.py", str(end), master=mine, **AVOID)
                     for place in (other, site))  # fmt: skip
    (kept, _), (lost, _) = executor(other), executor(site)
    its_cpus = cpus_of(lost)
    assert {cpus_of(kept), its_cpus} == {str(cpu) for cpu in TWO_CPUS}
    wait = {"spark__hearth__lease__whenFull": "wait", **AVOID}
    waiting = third.start("hold.py", str(end), master=mine, **wait)
    other.started.append(waiting)
    eventually("it waits", lambda: "Waiting for a lease: what this" in third.log)
    assert not third.executors()
    first.kill()
    eventually("an executor of its own", lambda: len(third.executors()) == 1)
    (pid,) = third.executors()
    assert site.executors().keys() == {pid}, "the killed one's has ended"
    assert other.executors().keys() == {kept}
    assert cpus_of(pid) == its_cpus
    end.touch()
    for process, place in ((second, other), (waiting, third)):
        output, _ = process.communicate(timeout=240)
        assert Outcome(process.returncode, output, place.log).report
        assert place.document("placement.json")["executors"][0]["verdict"] == "as planned"
