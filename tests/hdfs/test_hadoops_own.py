"""Hadoop's own tests of its RPC, with hearth's engine in place of Hadoop's."""

import os
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from hadoop_servers import FIRST_COMPILER
from hearth.machine.paths import wire_jar
from support import JUCX, ROOT, require

pytestmark = pytest.mark.spark

JARS = ROOT / ".cache" / "hadoop-tests"
ENGINE = "io.hearth.hadoop.WireRpcEngine"
PROTOCOLS = (
    "TestRpcBase$TestRpcService",
    "TestProtoBufRpc$TestRpcService2",
    "TestProtoBufRpcServerHandoff$TestProtoBufRpcServerHandoffProtocol",
)
ALL = os.environ.get("HEARTH_HADOOP_TESTS") == "all"
STRICT = {"hearth.rpc.fallback": "false"}
#: They wait for seconds: HEARTH_HADOOP_TESTS=all runs them (`make test-hadoop`).
SLOW = (
    "TestRPC",
    "TestRPCWaitForProxy",
    "TestRPCServerShutdown",
    "TestReuseRpcConnections",
    "TestProtoBufRPCCompatibility",
)
QUICK = ("TestProtoBufRpc", "TestProtoBufRpcServerHandoff", "TestMultipleProtocolServer")
#: These count connections or sockets of TCP, of which a wire has none.
OF_TCP = {
    "testReaderExceptions",
    "testConnectionWithSocketFactory",
    "testDefaultRetryPolicyReuseConnections",
    "testRetryPolicyTryOnceThenFail",
}

#: In some of their cases the server has Hadoop's old engine, so that it has no wire.
OF_OLD_SERVERS = {"testProtoBufRpc", "testProtoBufRpc2"}


def failures(
    folder: Path, name: str, engine: str | None, *, tcp: bool = False
) -> tuple[set[str], int]:
    """Tests of the class that fail with this engine (None: Hadoop's), and how many passed.

    tcp: whether calls may go over TCP; else those that do fail.
    """
    folder.mkdir()
    properties = "".join(
        f"<property><name>rpc.engine.org.apache.hadoop.ipc.{protocol}</name>"
        f"<value>{engine}</value></property>"
        for protocol in (PROTOCOLS if engine else ())
    )
    if engine and not tcp:
        properties += "".join(
            f"<property><name>{name}</name><value>{value}</value></property>"
            for name, value in STRICT.items()
        )
    (folder / "core-site.xml").write_text(f"<configuration>{properties}</configuration>")
    options = [f"--add-opens=java.base/java.{part}=ALL-UNNAMED" for part in ("lang", "util")]
    if not ALL:  # `make test-hadoop` runs them with both compilers
        options.append(FIRST_COMPILER)
    done = subprocess.run(
        [
            *("java", *options, f"-Dtest.build.data={folder}"),
            *("-cp", f"{folder}:{wire_jar()}:{JUCX}:{JARS}/*"),
            *("org.junit.platform.console.ConsoleLauncher", "execute", "--disable-banner"),
            *(f"--select-class=org.apache.hadoop.ipc.{name}", f"--reports-dir={folder}/reports"),
        ],
        cwd=folder,
        env={**os.environ, "UCX_LOG_FILE": "stderr", "UCX_LOG_LEVEL": "fatal"},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    report = folder / "reports" / "TEST-junit-jupiter.xml"
    assert report.is_file(), (done.stdout + done.stderr)[-3000:]
    cases = list(ET.parse(report).iter("testcase"))
    failed = {
        case.attrib["name"].partition("(")[0]
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    }
    good = [case for case in cases if len(case.findall("*")) == len(case.findall("system-out"))]
    return failed, len(good)


def over_the_wire(folder: Path, name: str) -> tuple[set[str], int]:
    """Tests of the class that fail and do not count what is TCP's, and how many passed."""
    failed, good = failures(folder, name, ENGINE)
    if failed & OF_OLD_SERVERS:
        wrong, _ = failures(folder.with_name(f"{folder.name}-old"), name, ENGINE, tcp=True)
        failed -= OF_OLD_SERVERS - wrong
    return failed - OF_TCP, good


@pytest.mark.parametrize("name", [*QUICK, *SLOW])
def test_hadoops_own_tests_pass_over_the_wire_as_they_do_over_tcp(
    name: str, tmp_path: Path
) -> None:
    if not JARS.is_dir():
        require("hadoop", f"{JARS} is missing: run `tools/setup.sh test`")
    if name in SLOW and not ALL:
        pytest.skip(f"{name} waits for seconds: `make test-hadoop` runs it")
    failed, good = over_the_wire(tmp_path / "wire", name)
    if failed:  # perhaps on this machine in any case, or by chance
        failed -= failures(tmp_path / "hadoop", name, None)[0]
    if failed:
        failed &= over_the_wire(tmp_path / "again", name)[0]
    assert not failed
    assert good, "the tests ran"
    shutil.rmtree(tmp_path)
