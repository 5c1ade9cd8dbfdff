"""The data server of the streaming jobs: started, asked, and ended with the run it feeds."""

import http.client
import json
import os
import select
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

from hearth.base.errors import UserError
from hearth.base.java import QUIET, own_directory, own_environment, reason_of
from hearth.base.processes import die_with
from hearth.machine import paths
from hearth.workloads import catalogue

_USER_ERROR = 2
_START_S = 60
_STOP_S = 10
_ANSWER_S = 10
# Little to compile and one thread that matters: quick to start, small.
_JVM = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", "-Xshare:auto"]
_JARS = ("scala-library-2.13*.jar", "jackson-core-2*.jar", "jackson-databind-2*.jar")
_ANNOTATIONS = "jackson-annotations-2*.jar"


def events_of(parameters: dict[str, str]) -> int:
    """Return how many events a run with these parameters of a streaming job takes in all."""
    seconds = int(parameters["duration-s"]) + int(parameters["ramp-up-s"])
    return int(parameters["rate"]) * seconds


class DataServer:
    """Sends one stream to one reader, at a steady rate, from the moment the reader connects.

    stream: text, clicks, tags, points or labelled. rate: events a second. events: how many in
    all. log: file that gets every event really sent, a line each. port: of the data; 0: any.

    Used as a context manager: entering starts the server and waits until its ports are open;
    leaving ends it. It ends with this process too, however that ends. Entering raises UserError
    where the server cannot start (port taken, log not writable).
    """

    def __init__(
        self, stream: str, rate: int, events: int, seed: int, log: Path | None, port: int = 0
    ) -> None:
        self._words = [stream, "--rate", str(rate), "--events", str(events), "--seed", str(seed)]
        self._words += ["--port", str(port)]
        if log is not None:
            self._words += ["--log", str(log)]
        self.port = self.control_port = self.pid = 0

    @property
    def source(self) -> str:
        """HOST:PORT of the events: the parameter `source` of a job."""
        return f"127.0.0.1:{self.port}"

    @property
    def control(self) -> str:
        """HOST:PORT of the status: the parameter `control` of a job."""
        return f"127.0.0.1:{self.control_port}"

    def __enter__(self) -> "DataServer":
        command = [
            str(paths.java()),
            *QUIET,
            *_JVM,
            "-cp",
            _class_path(),
            catalogue.MAIN,
            "serve",
            *self._words,
        ]
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            cwd=own_directory(),
            env=own_environment(),
            # With threads beside, as in tests: it makes two system calls and allocates nothing.
            preexec_fn=die_with(os.getpid()),  # noqa: PLW1509
        )
        try:
            ready = self._ready()
        except BaseException:
            self._end()
            raise
        self.port, self.control_port, self.pid = ready["port"], ready["control"], ready["pid"]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def status(self) -> dict[str, Any]:
        """Return the server's status: sent, unsent, done, late_ms_max, reader.

        Raises OSError where it is gone.
        """
        connection = http.client.HTTPConnection("127.0.0.1", self.control_port, timeout=_ANSWER_S)
        try:
            connection.request("GET", "/status")
            status: dict[str, Any] = json.loads(connection.getresponse().read())
            return status
        finally:
            connection.close()

    def _ready(self) -> dict[str, Any]:
        """Return the line that the server prints once its ports are open."""
        out = self._process.stdout
        assert out is not None
        if not select.select([out], [], [], _START_S)[0]:
            raise RuntimeError(f"the data server did not start within {_START_S} s")
        line = out.readline()
        if line:
            ready: dict[str, Any] = json.loads(line)
            return ready
        _, text = self._process.communicate(timeout=_STOP_S)
        if self._process.returncode == _USER_ERROR:
            raise UserError(
                f"data server: {text.strip().splitlines()[-1].removeprefix('workloads: ')}"
            )
        code = self._process.returncode
        raise RuntimeError(f"the data server ended with {code}: {reason_of(text)}")

    def _end(self) -> None:
        self._process.terminate()
        try:
            self._process.communicate(timeout=_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()


def _class_path() -> str:
    """Return the workloads' jar and the few of Spark's that the server needs."""
    spark = paths.spark_home() / "jars"
    jars = [paths.workloads_jar()]
    for pattern in (*_JARS, _ANNOTATIONS):
        matches = sorted(spark.glob(pattern))
        if not matches:
            raise UserError(f"no {pattern} in {spark}: hearth needs {paths.SPARK_VERSIONS}")
        jars.append(matches[-1])
    return ":".join(map(str, jars))
