"""A Docker engine for the tests: the one that answers here, else one of their own."""

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

_START_S = 60.0
_LOG_LINES = 5


class NoEngineError(Exception):
    """Why there is no engine and none can be started."""


@contextlib.contextmanager
def docker_engine(own: bool = False) -> Iterator[str]:
    """The address for DOCKER_HOST; an engine that is started here ends with the block.

    own: not the one that answers. It tells process ids that mean nothing in another PID namespace.
    """
    if shutil.which("docker") is None:
        raise NoEngineError("there is no docker command: apt-get install docker.io")
    if not own and answers(os.environ.get("DOCKER_HOST", "")):
        yield os.environ.get("DOCKER_HOST", "")
        return
    if shutil.which("dockerd") is None or os.geteuid() != 0:
        raise NoEngineError("no engine answers, and only root with dockerd can start one")
    with (
        tempfile.TemporaryDirectory(prefix="hearth-dockerd-") as folder,
        started(Path(folder)) as at,
    ):
        yield at


def answers(host: str) -> bool:
    words = ["docker", "version", "--format", "{{.Server.Version}}"]
    environment = {**os.environ, "DOCKER_HOST": host}
    return subprocess.run(words, env=environment, capture_output=True, check=False).returncode == 0


@contextlib.contextmanager
def started(folder: Path) -> Iterator[str]:
    """dockerd without a network of its own and without rules in the firewall.

    Its process id is in the folder's `pid`.
    """
    host = f"unix://{folder}/docker.sock"
    places = ["--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec"]
    words = ["dockerd", "--host", host, "--pidfile", f"{folder}/pid", *places]
    words += ["--iptables=false", "--ip6tables=false", "--bridge=none"]
    log = folder / "log"
    with log.open("wb") as output:
        engine = subprocess.Popen(words, stdout=output, stderr=output, start_new_session=True)
    try:
        deadline = time.monotonic() + _START_S
        while not answers(host):
            if engine.poll() is not None or time.monotonic() > deadline:
                last = log.read_text(errors="replace").splitlines()[-_LOG_LINES:]
                raise NoEngineError("dockerd did not start: " + " ".join(last))
            time.sleep(0.2)
        yield host
    finally:
        engine.terminate()
        engine.wait(timeout=60)
        # It leaves the network namespace that containers shared; a killed one leaves its mounts and
        # the process that held each container.
        subprocess.run(["pkill", "--full", f"containerd-shim.*{folder}/"], check=False)
        for mount in ("exec/netns/default", "data"):
            words = ["umount", "--recursive", folder / mount]
            subprocess.run(words, capture_output=True, check=False)
