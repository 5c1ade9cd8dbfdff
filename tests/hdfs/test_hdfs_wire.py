"""A real NameNode, DataNode and client of HDFS whose RPC goes over hearth's wire."""

import hashlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from hadoop_servers import FIRST_COMPILER, Extra, Hdfs, hdfs_in
from hearth.machine.paths import wire_jar
from support import JUCX, eventually

#: Races of the wire show with both of the JVM's compilers.
pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("users_jdk")]

PROTOCOLS = ("ClientNamenodeProtocolPB", "DatanodeProtocolPB", "NamenodeProtocolPB")
ENGINE = {
    f"rpc.engine.org.apache.hadoop.hdfs.protocolPB.{name}": "io.hearth.hadoop.WireRpcEngine"
    for name in PROTOCOLS
}


@pytest.fixture(scope="module", autouse=True)
def ucx_away_from_output() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UCX_LOG_FILE", "stderr")
        yield


@pytest.fixture(scope="module")
def wire() -> Extra:
    """As docs/shuffle.md#hadoops-rpc says; a call that would go over TCP fails."""
    jars = [wire_jar(), *([JUCX] if JUCX.is_file() else [])]
    return Extra(["-Xmx512m"], jars, {**ENGINE, "hearth.rpc.fallback": "false"})


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory, wire: Extra) -> Iterator[Hdfs]:
    with hdfs_in(tmp_path_factory.mktemp("wire"), wire) as running:
        said = running.namenode_log.read_text()
        assert re.search(r"RPC of port \d+ by hearth's wire on port \d+", said)
        yield running


def run(command: list[str], **how: object) -> subprocess.CompletedProcess[bytes]:
    settings = {"capture_output": True, "timeout": 120, **how}
    return subprocess.run(command, check=False, **settings)  # type: ignore[call-overload,no-any-return]


def test_files_are_written_listed_read_and_removed(hdfs: Hdfs, wire: Extra) -> None:
    content = os.urandom(4 << 20)
    put = run(hdfs.client("-put", "-", "/a file", extra=wire), input=content)
    assert put.returncode == 0, put.stderr.decode()[-2000:]
    assert b"/a file" in run(hdfs.client("-ls", "/", extra=wire)).stdout
    read = run(hdfs.client("-cat", "/a file", extra=wire)).stdout
    assert hashlib.sha256(read).digest() == hashlib.sha256(content).digest()
    assert run(hdfs.client("-rm", "/a file", extra=wire)).returncode == 0
    missing = run(hdfs.client("-cat", "/a file", extra=wire))
    assert missing.returncode == 1
    assert b"No such file or directory" in missing.stderr


def test_without_a_place_for_ucxs_messages_the_wire_is_tcp_and_output_stays_the_programs(
    hdfs: Hdfs, wire: Extra, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UCX_LOG_FILE")
    assert run(hdfs.client("-put", "-", "/words", extra=wire), input=b"words").returncode == 0
    assert run(hdfs.client("-cat", "/words", extra=wire)).stdout == b"words"


def test_killed_clients_leave_the_namenode_nothing_and_the_next_is_served(
    hdfs: Hdfs, wire: Extra
) -> None:
    def descriptors() -> int:
        return len([*Path(f"/proc/{hdfs.namenode}/fd").iterdir()])

    log = hdfs.namenode_log
    before = descriptors()
    for turn in range(2):
        file = f"/cut-{turn}"
        command = hdfs.client("-put", "-", file, extra=wire)
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as writer:
            assert writer.stdin is not None
            writer.stdin.write(b"x" * 200_000)
            writer.stdin.flush()
            eventually("a block is begun", lambda file=file: file in log.read_text())
            os.kill(writer.pid, signal.SIGKILL)
    eventually(
        f"descriptors of the NameNode, {before} before", lambda: descriptors() <= before + 2, 20
    )
    assert run(hdfs.client("-ls", "/", extra=wire)).returncode == 0


def test_a_client_without_hearth_is_served_and_one_of_a_killed_namenode_ends_with_an_error(
    tmp_path: Path, wire: Extra
) -> None:
    options = [*wire.options, FIRST_COMPILER]  # races show in the servers of the other tests
    quick = Extra(options, wire.jars, {**wire.settings, "ipc.client.connect.max.retries": "1"})
    with ExitStack() as stack:
        hdfs = stack.enter_context(hdfs_in(tmp_path, quick, stores=False))
        assert run(hdfs.client("-mkdir", "/plain")).returncode == 0
        assert b"/plain" in run(hdfs.client("-ls", "/")).stdout
        command, pipe = hdfs.client("-put", "-", "/file", extra=quick), subprocess.PIPE
        writer = stack.enter_context(subprocess.Popen(command, stdin=pipe, stderr=pipe))
        assert writer.stdin is not None and writer.stderr is not None
        said = hdfs.namenode_log
        eventually("the file is begun", lambda: "/file" in said.read_text())
        os.kill(hdfs.namenode, signal.SIGKILL)
        time.sleep(0.5)
        writer.stdin.close()
        stderr = writer.stderr.read().decode()
        assert writer.wait(100) in (1, 255), "as Hadoop's shell ends: 255 where an exception did it"
        causes = r"Connection re(fused|set)|EOFException|ended"
        assert re.search(causes, stderr), stderr[-2000:]
