"""Spark's standalone cluster on two guests that a cable joins, its shuffle over soft-RoCE.

Three executors, one of which finds no jucx. One of the second guest's two is killed on the way.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import ExitStack
from pathlib import Path

from numalab.guest import cable
from numalab.guest.waiting import wait_for

MASTER_PORT = 7077
MASTER = f"spark://{cable.ADDRESSES[0]}:{MASTER_PORT}"
JUCX = "/numalab/jucx.jar"
WIRE = "/numalab/wire.jar"
WORKERS = (1, 2)  # of each guest; the last of them finds no jucx
LIMIT_SECONDS = 600.0
DAEMON = "org.apache.spark.deploy"
#: Emulated JVMs spend most of their start on verifying and compiling classes.
JAVA_OPTIONS = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
APPLICATION = Path(__file__).with_name("two_machines_app.py")


def collect(job: dict[str, object], evidence: Path) -> None:
    """The first guest has the master, a worker and the driver; the second two workers."""
    end = int(str(job["cable"]))
    (evidence / "metrics").mkdir()
    before = cable.counters()
    with cable.both(end) as other, ExitStack() as running:
        master = ["--host", cable.ADDRESSES[0], "--port", str(MASTER_PORT), "--webui-port", "0"]
        if end == 0:
            process = _start(running, evidence, end, "master", [f"{DAEMON}.master.Master", *master])
            log = evidence / "master.log"
            started = "Starting Spark master"
            wait_for("it starts", lambda: started in log.read_text(), LIMIT_SECONDS, process)
            other.send(b"m")
        elif not other.recv(1):
            raise RuntimeError("the first guest has given up")
        for number in range(WORKERS[end]):
            place = ["--host", cable.ADDRESSES[end], "-c", "1", "-m", "1g", "--webui-port", "0"]
            place += ["-d", str(evidence / f"work-{number}"), MASTER]
            worker = [f"{DAEMON}.worker.Worker", *place]
            _start(running, evidence, end, f"worker-{number}", worker, hidden=number > 0)
        if end == 0:
            application = _submit(running, evidence, str(job["jar"]))
            wanted = (evidence / "kill").exists
            wait_for("the application wants a loss", wanted, LIMIT_SECONDS, application)
            other.send(b"k")
            application.wait(LIMIT_SECONDS)
            (evidence / "status").write_text(str(application.returncode), encoding="ascii")
        elif other.recv(1):
            (victim,) = _executors_with_jucx()
            os.kill(victim, signal.SIGKILL)
            other.recv(1)
    after = cable.counters()
    counted = {name: after[name] - before[name] for name in after}
    (evidence / "counters.json").write_text(json.dumps(counted), encoding="ascii")


def _start(
    running: ExitStack, evidence: Path, end: int, name: str, words: list[str], hidden: bool = False
) -> subprocess.Popen[bytes]:
    """Starts a daemon of Spark, which writes `NAME.log`; hidden: for whose executors jucx is."""
    command = [f"{os.environ['SPARK_HOME']}/bin/spark-class", *words]
    if hidden:
        among_own_mounts = f'mount --bind /dev/null {JUCX} && exec "$@"'
        command = ["unshare", "-m", "sh", "-c", among_own_mounts, "sh", *command]
    settings = {
        "SPARK_LOCAL_IP": cable.ADDRESSES[end],
        "SPARK_DAEMON_MEMORY": "192m",
        "SPARK_DAEMON_JAVA_OPTS": f"{JAVA_OPTIONS} -Dspark.rpc.askTimeout=600s",
        "SPARK_SCALA_VERSION": "2.13",
    }
    return _open(running, command, evidence / f"{name}.log", settings)


def _submit(running: ExitStack, evidence: Path, jar: str) -> subprocess.Popen[bytes]:
    sink = "spark.metrics.conf.executor.sink.csv"
    settings = {
        "spark.executor.memory": "512m",
        "spark.driver.memory": "512m",
        "spark.ui.enabled": "false",
        "spark.driver.extraClassPath": f"{jar}:{WIRE}",
        "spark.executor.extraClassPath": f"{jar}:{WIRE}:{JUCX}",
        "spark.driver.extraJavaOptions": JAVA_OPTIONS,
        "spark.executor.extraJavaOptions": JAVA_OPTIONS,
        "spark.shuffle.manager": "org.apache.spark.shuffle.wire.WireShuffleManager",
        "spark.executorEnv.UCX_LOG_LEVEL": "info",
        # UCX 1.13 drops soft-RoCE's datagrams between addresses of IPv4.
        "spark.executorEnv.UCX_IB_GID_INDEX": "0",
        f"{sink}.class": "org.apache.spark.metrics.sink.CsvSink",
        f"{sink}.directory": str(evidence / "metrics"),
        f"{sink}.period": "1",
        "spark.sql.shuffle.partitions": "6",
        "spark.sql.adaptive.enabled": "false",
        "spark.shuffle.reduceLocality.enabled": "false",
        "spark.speculation": "false",
    }
    options = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    command = ["spark-submit", "--master", MASTER, *options, str(APPLICATION), str(evidence)]
    environment = {"SPARK_LOCAL_IP": cable.ADDRESSES[0], "SPARK_SCALA_VERSION": "2.13"}
    return _open(running, command, evidence / "driver.log", environment)


def _open(
    running: ExitStack, command: list[str], log: Path, settings: dict[str, str]
) -> subprocess.Popen[bytes]:
    output = running.enter_context(log.open("wb"))
    process = subprocess.Popen(
        command, stdout=output, stderr=subprocess.STDOUT, env={**os.environ, **settings}
    )
    running.callback(process.wait)
    running.callback(process.kill)
    return process


def _executors_with_jucx() -> list[int]:
    """Those of this guest that find the jar with something in it."""
    pids = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and b"--executor-id" in (entry / "cmdline").read_bytes():
            jar = Path(f"{entry}/root{JUCX}")
            if jar.is_file() and jar.stat().st_size:
                pids.append(int(entry.name))
    return pids
