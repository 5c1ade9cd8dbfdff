"""Communication threads of a real NameNode, DataNode and client of HDFS under hearth's agent."""

import hashlib
import os
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from hadoop_servers import Extra, Hdfs, hdfs_in
from hearth.machine.paths import affinity_jar
from support import eventually, require

pytestmark = pytest.mark.spark

#: Beginnings of the names of communication threads, as docs/affinity.md lists them.
TALKING = (
    *("Socket Reader #", "IPC Server hand", "IPC Server Resp", "IPC Server list", "IPC Client ("),
    *(
        "IPC Parameter S",
        "DataXceiver for",
        "PacketResponder",
        "DataStreamer fo",
        "ResponseProcess",
    ),
)


@pytest.fixture(scope="module")
def agent() -> Extra:
    return Extra([f"-javaagent:{affinity_jar()}=policy=o2ntc:1,first=0"])


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory, agent: Extra) -> Iterator[Hdfs]:
    if len(os.sched_getaffinity(0)) == 1:
        require("cpus", "one CPU only: nothing to bind to")
    with hdfs_in(tmp_path_factory.mktemp("hdfs"), agent) as running:
        yield running


def cpus_by_thread(pid: int) -> dict[str, set[str]]:
    """CPUs allowed of each thread of a process, by the thread's name, from the kernel."""
    found = defaultdict(set)
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            status = (task / "status").read_text(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        name = re.search(r"^Name:\t(.*)$", status, re.MULTILINE)
        cpus = re.search(r"^Cpus_allowed_list:\t(.*)$", status, re.MULTILINE)
        assert name and cpus
        found[name[1]].add(cpus[1])
    return found


def strays(pid: int) -> dict[str, set[str]]:
    """Communication threads that have more than one CPU, and others that have not all."""
    everything = Path("/proc/self/status").read_text()
    all_cpus = re.search(r"^Cpus_allowed_list:\t(.*)$", everything, re.MULTILINE)
    assert all_cpus
    return {
        name: cpus
        for name, cpus in cpus_by_thread(pid).items()
        if any(listed.isdigit() != name.startswith(TALKING) for listed in cpus)
        or (not name.startswith(TALKING) and cpus != {all_cpus[1]})
    }


def has(pid: int, *names: str) -> bool:
    seen = cpus_by_thread(pid)
    return all(any(thread.startswith(name) for thread in seen) for name in names)


def test_the_rpc_threads_of_namenode_and_datanode_have_their_cpu_and_no_other_thread_has(
    hdfs: Hdfs,
) -> None:
    for pid in (hdfs.namenode, hdfs.datanode):
        assert has(pid, "Socket Reader #", "IPC Server list", "IPC Server hand", "IPC Server Resp")
        eventually(f"strays of {pid}: {strays(pid)}", lambda pid=pid: not strays(pid))
    assert has(hdfs.datanode, "IPC Client (", "IPC Parameter S")


def test_the_threads_of_a_transfer_have_theirs_while_it_runs_and_the_file_is_right(
    hdfs: Hdfs, agent: Extra
) -> None:
    content = os.urandom(4 << 20)
    process = subprocess.Popen(
        hdfs.client("-put", "-", "/file", extra=agent),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert process.stdin is not None
        process.stdin.write(content)
        process.stdin.flush()
        threads = ("DataStreamer fo", "ResponseProcess")
        eventually("the client sends", lambda: has(process.pid, *threads))
        assert has(hdfs.datanode, "DataXceiver for", "PacketResponder")
        for pid in (process.pid, hdfs.datanode):
            eventually(f"strays: {strays(pid)}", lambda pid=pid: not strays(pid))
        process.stdin.close()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
    read = subprocess.run(
        hdfs.client("-cat", "/file"), capture_output=True, check=True, timeout=240
    )
    assert hashlib.sha256(read.stdout).digest() == hashlib.sha256(content).digest()
