"""Messages between two guests over UCX and soft-RoCE; what the adapter counted is the evidence.

Once as they should go, and once where the adapter takes packets that UCX then drops: UCX 1.13 does
so with soft-RoCE between addresses of IPv4, which are the second of the adapter's.
"""

from __future__ import annotations

import json
import os
import subprocess
from functools import partial
from pathlib import Path

from numalab.guest import cable
from numalab.guest.waiting import wait_for

SIZES = (1, 1000, 100_000, 1_000_000)
PORT = 7100
LIMIT_SECONDS = 300.0
#: By the index of the adapter's address, with the transports that may be used.
WAYS = (("reachable", "UCX"), ("unreachable", "ANY"))
CLASSES = "/numalab/classes"


def collect(job: dict[str, object], evidence: Path) -> None:
    """The second guest asks the first, each way."""
    end = int(str(job["cable"]))
    with cable.both(end) as other:
        for index, (way, transports) in enumerate(WAYS):
            directory = evidence / way
            directory.mkdir()
            before = cable.counters()
            if end == 1:
                other.recv(1)
            process = _echo(end, index, transports, directory)
            try:
                if end == 0:
                    listens = partial(_listens, directory / "out")
                    wait_for("it listens", listens, LIMIT_SECONDS, process)
                    other.send(b"r")
                    other.recv(1)
                    (directory / "alive").write_text(str(process.poll() is None))
                    process.communicate(timeout=LIMIT_SECONDS)  # its input ends
                else:
                    process.wait(LIMIT_SECONDS)
                    other.send(b"d")
            finally:
                process.kill()
                (directory / "status").write_text(str(process.wait()))
            after = cable.counters()
            counted = {name: after[name] - before[name] for name in after}
            (directory / "counters.json").write_text(json.dumps(counted))


def _echo(end: int, index: int, transports: str, directory: Path) -> subprocess.Popen[bytes]:
    where = [cable.ADDRESSES[0], str(PORT + index)]
    words = [("serve", "ask")[end], transports, *where, *map(str, SIZES)]
    class_path = f"{CLASSES}:/numalab/wire.jar:/numalab/jucx.jar"
    command = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    command += ["-cp", class_path, "Echo"]
    settings = {"UCX_LOG_LEVEL": "info", "UCX_IB_GID_INDEX": str(index)}
    with (directory / "out").open("wb") as out, (directory / "err").open("wb") as err:
        return subprocess.Popen(
            [*command, *words],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=err,
            env={**os.environ, **settings},
        )


def _listens(out: Path) -> bool:
    return b"ready" in out.read_bytes()
