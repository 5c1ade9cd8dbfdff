"""Communication threads under hearth's agent near the guest's network device, by each policy.

The JVMs run side by side: each takes some seconds to start under emulation.
"""

from __future__ import annotations

import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from numalab.guest.capture import capture_process

POLICIES = ("near-threads:1", "near-all", "near-core", "o2acs", "o2ntc:1", "o2occ")
CLASSES = Path("/numalab/classes")
DEVICE = Path("/sys/class/net/eth0/device")  # virtio; the PCI function is above it
LIMIT_SECONDS = 240.0
#: From the agent's line to its threads' CPUs takes 100 ms; emulation is some 25 times slower, and a
#: busy host slower still. A policy may also leave all threads everywhere.
SETTLE_SECONDS, SETTLE_LIMIT_SECONDS = 4.0, 30.0
DUMP_SECONDS = 10.0


def collect(job: dict[str, object], evidence: Path) -> None:
    """Starts a JVM for each policy, captures all once their threads run, ends them."""
    (evidence / "numa_node").write_bytes((DEVICE.resolve().parent / "numa_node").read_bytes())
    jar = Path(str(job["jar"])).with_name("hearth-affinity.jar")
    running = []
    try:
        for policy in POLICIES:
            directory = evidence / policy.replace(":", "-")
            directory.mkdir()
            with (directory / "err").open("wb") as err, (directory / "out").open("wb") as out:
                options = f"policy={policy},device=eth0,first=0"
                words = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx32m"]
                words += [f"-javaagent:{jar}={options}", "-cp", str(CLASSES), "Talkers"]
                process = subprocess.Popen(words, stdout=out, stderr=err)
            running.append((process, directory))
        for process, directory in running:
            _await_ready(process, directory)
        _await_placed([process.pid for process, _ in running])
        for process, directory in running:
            capture_process(process.pid, directory)
    finally:
        for process, _ in running:
            process.kill()
            process.wait()


def _await_placed(pids: list[int]) -> None:
    """Waits until some thread of each is elsewhere than its main one, and then no thread moves."""
    end = time.monotonic() + SETTLE_LIMIT_SECONDS
    seen = [_places(pid) for pid in pids]
    while time.monotonic() < end:
        time.sleep(SETTLE_SECONDS)
        now = [_places(pid) for pid in pids]
        if now == seen and all(len(set(places)) > 1 for places in now):
            return
        seen = now


def _places(pid: int) -> list[str]:
    """Returns the CPUs that each thread may use."""
    places = []
    for file in sorted(Path(f"/proc/{pid}/task").glob("*/status")):
        with suppress(FileNotFoundError, ProcessLookupError):
            places.append(file.read_text().partition("Cpus_allowed_list:")[2].split()[0])
    return places


def _await_ready(process: subprocess.Popen[bytes], directory: Path) -> None:
    """The JVM itself may write warnings to either file."""
    end = time.monotonic() + LIMIT_SECONDS
    out, err = directory / "out", directory / "err"
    while b"ready\n" not in out.read_bytes() or b"hearth-affinity:" not in err.read_bytes():
        if process.poll() is not None or time.monotonic() > end:
            code = process.poll()
            process.send_signal(signal.SIGQUIT)  # its threads' stacks, to `out`
            time.sleep(DUMP_SECONDS)
            said = (err.read_bytes() + out.read_bytes()).decode(errors="replace")
            raise RuntimeError(f"{directory.name}: exit {code}: {said}")
        time.sleep(0.2)
