"""Shuffle blocks between executors over hearth's wire, in a real Spark."""

import ctypes.util
import socket
from pathlib import Path
from typing import Any

import pytest
from application import Outcome, Site

from support import require

pytestmark = pytest.mark.spark

JUCX = Path.home() / ".m2/repository/org/openucx/jucx/1.18.1/jucx-1.18.1.jar"


def run(site: Site, *words: str, **settings: str) -> Outcome:
    """An application whose executors do not read each other's files."""
    counted = site.root / "metrics"
    counted.mkdir()
    sink = "spark__metrics__conf__executor__sink__csv__"
    everywhere: dict[str, Any] = {
        "spark__shuffle__manager": "org.apache.spark.shuffle.wire.WireShuffleManager",
        "spark__shuffle__readHostLocalDisk": "false",
        "spark__hearth__classDataArchive": "false",
        "spark__ui__enabled": "true",
        "spark__ui__port": "0",
        f"{sink}class": "org.apache.spark.metrics.sink.CsvSink",
        f"{sink}directory": str(counted),
        f"{sink}period": "1",
    }
    return site.run("wire.py", *words, **{**everywhere, **settings})


def executors_said(site: Site, text: str) -> list[str]:
    logs = (site.only_run() / "executors").glob("*/stderr")
    return [line for log in logs for line in log.read_text().splitlines() if text in line]


def assert_right(outcome: Outcome) -> dict[str, Any]:
    assert outcome.code == 0, outcome.log[-4000:]
    report = outcome.report
    assert (report["executors"], report["grouped"], report["sorted"]) == (2, True, True)
    assert report["lengths"]
    assert report["remote"] > 10**6
    return report


def test_blocks_come_by_shared_memory_and_a_killed_executor_is_recovered(site: Site) -> None:
    if not JUCX.is_file() or ctypes.util.find_library("ucp") is None:
        require("ucx", "jucx or libucx is missing: mvn -f jvm test, apt-get install libucx0")
    outcome = run(
        site,
        "kill",
        spark__executor__extraClassPath=str(JUCX),
        spark__executorEnv__UCX_LOG_LEVEL="error",
        spark__hearth__shuffle__carriers="ucx",
        spark__authenticate="true",
        spark__authenticate__secret="a secret of tests",
        spark__io__encryption__enabled="true",
    )
    report = assert_right(outcome)
    assert (report["ucx"], report["tcp"], report["handed_over"]) == (report["remote"], 0, 0)
    assert report["blocks"] > 10
    assert report["right_after_kill"] and report["lost"]
    assert executors_said(site, "come over hearth's wire, by ucx")
    assert site.leftovers() == []


def test_an_executor_without_a_wire_is_read_over_sparks_own_transfer(site: Site) -> None:
    """Two executors of one host cannot have one port: the second has no wire."""
    with socket.create_server(("", 0)) as free:
        port = free.getsockname()[1]
    outcome = run(
        site,
        spark__hearth__hosts="machine",
        spark__hearth__shuffle__carriers="tcp",
        spark__hearth__shuffle__port=str(port),
    )
    report = assert_right(outcome)
    # Who has a wire asks one who has none; that one counts nothing.
    assert (report["ucx"], report["tcp"]) == (0, 0) and report["handed_over"] > 0
    (why,) = executors_said(site, "Spark's own transfer brings all shuffle blocks")
    assert "Address already in use" in why and f":{port}" in why
    (peer,) = executors_said(site, "come over Spark's own transfer: ")
    assert "Address already in use" in peer


def test_whoever_asks_for_encryption_gets_sparks_own_transfer_with_one_line(site: Site) -> None:
    outcome = run(
        site,
        spark__authenticate="true",
        spark__authenticate__secret="a secret of tests",
        spark__network__crypto__enabled="true",
    )
    report = assert_right(outcome)
    assert (report["ucx"], report["tcp"]) == (0, 0)
    lines = executors_said(site, "Spark's own transfer brings all shuffle blocks")
    assert len(lines) == 2, "one line for each executor"
    assert all("spark.network.crypto.enabled asks for encryption" in line for line in lines)
    assert executors_said(site, "hearth's wire for shuffle blocks listens") == []
