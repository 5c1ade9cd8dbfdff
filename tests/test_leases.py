"""Leases between processes and users, without Spark."""

import fcntl
import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hearth.base.ids import show_ids
from hearth.machine import jvm
from hearth.machine.jvm import Offer, offer
from support import Command, eventually, require

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NOBODY = 65534
#: As nobody: tries what it can on another's lease, then holds one that claims to be root's.
_STRANGER = """
import fcntl, os, struct, sys, time
theirs, own, text = sys.argv[1:]
for attempt in (lambda: os.open(theirs, os.O_RDWR), lambda: os.unlink(theirs),
                lambda: os.rename(theirs, own), lambda: os.chmod(theirs, 0o666)):
    try:
        attempt()
        print("done")
    except PermissionError:
        print("refused")
seen = os.open(theirs, os.O_RDONLY)
fcntl.flock(seen, fcntl.LOCK_EX)
fcntl.fcntl(seen, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 10, 0, 0))
forged = os.open(own, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
os.write(forged, text.encode())
fcntl.fcntl(forged, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 1, 0))
print("ready", flush=True)
sys.stdin.read()
"""


def lease(app: str, cpus: str = "0", **more: Any) -> str:
    """A lease as an application writes it."""
    document = {"schema": "hearth/lease/1", "boot": _BOOT.read_text().strip(), "state": "holds"}
    document |= {"app_id": app, "name": "a job", "cpus": cpus, "memory_bytes": {"0": 1 << 30}}
    numbers = {"pid": os.getpid(), "start_ticks": 1, "since": int(time.time())}
    return json.dumps(document | numbers | more)


#: As nobody: keeps a read lock on whatever of the directory it can open, until its input ends.
_READER = """
import fcntl, os, struct, sys, threading
folder, seen = sys.argv[1], []
lock = struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 0, 0, 0)
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
print("ready", flush=True)
while True:
    for name in os.listdir(folder):
        if name not in seen and name.endswith(".new"):
            seen.append(name)
            try:
                file = os.open(os.path.join(folder, name), os.O_RDONLY)
                fcntl.fcntl(file, fcntl.F_OFD_SETLK, lock)
            except OSError as error:
                print(error.errno, flush=True)
            else:
                print("locked", flush=True)
"""


@pytest.fixture
def registry() -> Iterator[Path]:
    """A directory as /run/lock is one, which every user can reach."""
    folder = Path(tempfile.mkdtemp(prefix="hearth-test-", dir="/tmp"))
    folder.chmod(0o1777)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def hold(registry: Path) -> Iterator[Callable[[str], int]]:
    """Holds a lease in this process; returns the descriptor."""
    held: list[int] = []

    def take(text: str) -> int:
        file = registry / f"hearth-lease-{len(held)}.json"
        held.append(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644))
        os.write(held[-1], text.encode())
        lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0)
        fcntl.fcntl(held[-1], fcntl.F_OFD_SETLK, lock)
        return held[-1]

    yield take
    for descriptor in held:
        os.close(descriptor)


def as_nobody(*words: str, program: str) -> subprocess.Popen[str]:
    """A Python program of a second user, with pipes."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        require("root", "a second user is played by root with setpriv")
    stranger = ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"]
    python = shutil.which("python3", path="/usr/bin:/bin") or "python3"
    return subprocess.Popen(
        [*stranger, python, "-c", program, *words],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/",
    )  # fmt: skip


def leases_in(hearth: Command, registry: Path) -> dict[str, Any]:
    done = hearth("status", "--leases", "--json", environment={"HEARTH_LEASES": str(registry)})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_leases_of_a_machine_are_shown_with_its_map_and_what_is_not_counted(
    hearth: Command, registry: Path, hold: Callable[[str], int]
) -> None:
    """A lease that Python locks is one that the JVM side sees, larger than the machine or not."""
    hold(lease("app-big", "0-4000", memory_bytes={"0": 1 << 50, "99": 1}))
    hold(lease("app-later", "", state="waits", ticket=3))
    hold("{")
    done = hearth("status", "--leases", environment={"HEARTH_LEASES": str(registry)})
    assert done.returncode == 0, done.stderr
    assert f"leases in {registry}: 1 held, 1 waiting" in done.stdout
    assert "app-big" in done.stdout and "waits (ticket 3)" in done.stdout
    words = " ".join(done.stdout.split())
    assert "a letter is a core of that application" in words and "node 0 aa" in words
    assert "not counted:" in words and "it is not JSON" in words


def test_a_colocation_on_cpus_that_somebody_holds_says_who(
    hearth: Command, registry: Path, hold: Callable[[str], int], tmp_path: Path, two_cpus: object
) -> None:
    (tmp_path / "a.py").touch()
    words = ["colocate", "--dry-run", "--split", "1-1", "a.py", "--", "a.py"]
    where = {"HEARTH_LEASES": str(registry)}
    assert "leased" not in hearth(*words, environment=where).stderr
    hold(lease("theirs", show_ids(os.sched_getaffinity(0))))
    done = hearth(*words, environment=where)
    assert done.returncode == 0
    assert re.search(r"CPUs \S+ are leased by .* of \S+: results measured there", done.stderr)


def test_a_registry_that_cannot_be_read_is_an_error_of_leases_and_a_note_of_a_plan(
    hearth: Command, tmp_path: Path
) -> None:
    absent = {"HEARTH_LEASES": str(tmp_path / "absent")}
    done = hearth("status", "--leases", environment=absent)
    assert done.returncode == 2 and "HEARTH_LEASES can name another directory" in done.stderr
    planned = hearth("plan", environment=absent)
    assert planned.returncode == 0
    assert f"leases cannot be kept: NoSuchFile {tmp_path}" in " ".join(planned.stdout.split())


def test_one_jvm_of_plain_spark_holds_a_lease_through_what_its_driver_inherits(
    hearth: Command, registry: Path, monkeypatch: pytest.MonkeyPatch, two_cpus: object
) -> None:
    monkeypatch.setenv("HEARTH_LEASES", str(registry))
    request = {"schema": "hearth/plan-request/1", "limits": {"conf": {}}}
    with offer("my job") as offered:
        assert isinstance(offered, Offer)
        plan = jvm.call("plan", *offered.words, request=request, inherits=offered.inherits)
        inherited = offered.settle()
    assert plan["mode"] == "native" and inherited == (offered.fd,)
    driver = subprocess.Popen(["sleep", "600"], pass_fds=inherited)
    try:
        os.close(offered.fd)
        (held,) = leases_in(hearth, registry)["leases"]
        assert held["name"] == "my job" and held["ours"]
        assert held["cpus"] == plan["executors"][0]["cpus"]
        beside = jvm.call("plan", request=request)
        reason = next(r for r in beside["reasons"] if r["decision"] == "sharing")
        assert f"one-jvm-{os.getpid()} of " in reason["because"]
    finally:
        driver.kill()
        driver.wait()
    assert leases_in(hearth, registry)["leases"] == []


def test_an_offer_that_no_plan_takes_leaves_nothing(
    registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEARTH_LEASES", str(registry))
    with offer("x") as offered:
        assert offered.inherits and offered.settle() == ()
    assert list(registry.iterdir()) == []
    monkeypatch.setenv("HEARTH_LEASES", str(registry / "absent"))
    with offer("x") as offered:
        assert not offered.inherits and "absent" in offered.words[1]


def test_what_an_application_does_where_all_is_held_is_its_users_choice(
    hearth: Command, registry: Path, hold: Callable[[str], int]
) -> None:
    """One JVM of plain Spark cannot wait by itself: then its driver is local-numa's, which can."""
    hold(lease("app-all", "0-4000"))
    environment = {"HEARTH_LEASES": str(registry)}

    def submit(*words: str) -> subprocess.CompletedProcess[str]:
        return hearth("submit", "--dry-run", *words, "x.py", environment=environment)

    shared = submit()
    assert shared.returncode == 0 and "shared: leased by app-all of" in shared.stderr
    refused = submit("--when-full", "refuse")
    assert refused.returncode == 2 and "held by app-all of" in refused.stderr
    waiting = submit("--when-full", "wait")
    assert "--conf spark.hearth.lease.whenFull=wait" in waiting.stdout
    assert "it starts when enough is free" in waiting.stderr and "unbound" not in waiting.stderr
    assert re.search(r"--master '?local-numa", waiting.stdout)
    ignored = submit("--conf", "spark.hearth.neighbours=ignore")
    assert "app-all" not in ignored.stderr


def test_who_is_to_be_refused_is_where_leases_cannot_be_kept(
    hearth: Command, registry: Path
) -> None:
    """The sticky bit is lost; or the directory takes no file, as a full or read-only one."""
    registry.chmod(0o777)
    lost = {"HEARTH_LEASES": str(registry)}
    submit = ("submit", "--when-full", "refuse", "x.py")
    start = ("workers", "start", "spark://127.0.0.1:9", "--name", "test")
    for words, where, why in (
        (submit, lost, "chmod +t"),
        (start, lost, "chmod +t"),
        (submit, {"HEARTH_LEASES": "/proc/self/fdinfo"}, "No such file or directory"),
    ):
        done = hearth(*words, environment=where)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        assert "spark.hearth.lease.whenFull: 'refuse'" in done.stderr and why in done.stderr


def test_another_user_can_neither_end_nor_imitate_nor_keep_a_lease(
    hearth: Command, registry: Path, hold: Callable[[str], int]
) -> None:
    descriptor = hold(lease("app-root"))
    theirs = registry / "hearth-lease-0.json"
    own = registry / "hearth-lease-forged.json"
    text = lease("app-forged", "1", user="root")
    with as_nobody(str(theirs), str(own), text, program=_STRANGER) as process:
        assert process.stdout is not None
        try:
            assert [process.stdout.readline() for _ in range(5)] == ["refused\n"] * 4 + ["ready\n"]
            seen = {one["app_id"]: one for one in leases_in(hearth, registry)["leases"]}
            assert seen["app-root"]["user"] == "root" and seen["app-root"]["ours"]
            assert seen["app-forged"]["user"] == "nobody" and not seen["app-forged"]["ours"]
            unlock = struct.pack("hhqqi4x", fcntl.F_UNLCK, os.SEEK_SET, 0, 0, 0)
            fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, unlock)  # as when the holder ends
            left = leases_in(hearth, registry)["leases"]
            assert [one["app_id"] for one in left] == ["app-forged"], "a stranger's locks keep none"
        finally:
            process.kill()
    eventually("it is gone", lambda: not leases_in(hearth, registry)["leases"])


def test_what_another_user_writes_changes_no_figure_and_no_line_of_anybodys(
    hearth: Command, registry: Path, hold: Callable[[str], int]
) -> None:
    """Numbers that overflow sums and calendars, line breaks, thousands of files and of nodes."""
    hold(lease("app-real", ""))
    hold(lease("app-huge", "", memory_bytes={"0": 2**63 - 1, "7": 2**63 - 1}))
    hold(lease("app-late", "", since=2**63 - 1))
    forged = registry / "hearth-lease-x\nleases in here: none; nothing is held.json"
    (registry / "hearth-lease-2.json").rename(forged)
    os.write(hold("{"), b"")
    (registry / "hearth-lease-3.json").rename(registry / "hearth-lease-y\nforged.json")
    hold(lease("app-wide", "", memory_bytes={f"{node}": 1 << 30 for node in range(1500)}))
    for number in range(10_000):
        (registry / f"hearth-lease-junk{number}.json").touch()
        if os.geteuid() == 0:
            os.chown(registry / f"hearth-lease-junk{number}.json", _NOBODY, _NOBODY)
    where = {"HEARTH_LEASES": str(registry)}
    shown = hearth("status", "--leases", environment=where)
    assert shown.returncode == 0, shown.stderr
    assert "app-real" in shown.stdout and "app-huge" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) < 300, "a lease of 1,500 nodes widens no line"
    assert "since" in shown.stdout and "app-late" not in shown.stdout
    planned = hearth("submit", "--dry-run", "x.py", environment=where)
    assert planned.returncode == 0, planned.stderr
    assert " TB" not in planned.stderr and "memory shared" in planned.stderr
    for text in (shown.stdout, planned.stderr):
        assert "forged" not in text and "leases in here" not in text


def test_another_users_read_lock_keeps_nobody_from_a_lease(
    hearth: Command, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is open to its owner alone until it is locked."""
    if len(os.sched_getaffinity(0)) > 4:
        require("few CPUs", "the plan is one JVM on a small machine")
    monkeypatch.setenv("HEARTH_LEASES", str(registry))
    request = {"schema": "hearth/plan-request/1", "limits": {"conf": {}}}
    with as_nobody(str(registry), program=_READER) as reader, offer("mine") as offered:
        try:
            assert reader.stdout is not None and isinstance(offered, Offer)
            assert [reader.stdout.readline() for _ in range(2)] == ["ready\n", "13\n"]
            jvm.call("plan", *offered.words, request=request, inherits=offered.inherits)
            assert offered.settle() == (offered.fd,)
            (held,) = leases_in(hearth, registry)["leases"]
            assert held["name"] == "mine"
            os.close(offered.fd)
        finally:
            reader.kill()
