"""A /proc of its own for each worker of pytest-xdist.

hearth plans around the bound executors that it sees in /proc. A worker in a PID namespace
(pid_namespaces(7)) sees only what its own tests have started, so tests that plan for this machine
can run beside others that start executors.
"""

import functools
import os
import shlex
import subprocess
import sys
from pathlib import Path

# Process 1 is a shell: it reaps orphans. Killing `unshare` kills all that is in the namespace.
_ENTER = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c")
#: Where JVMs keep a file each, named by process id; of two with one name one warns on its output.
JVMS = "/tmp/hsperfdata_root"
# Process ids start far from those of other workers: files in a shared cache are named by them too.
_FIRST_PROCESS = (
    f"mkdir -p {JVMS} && mount -t tmpfs -o mode=0755 none {JVMS} && "
    'echo "$0" >/proc/sys/kernel/ns_last_pid && "$@"; exit $?'
)
_MARK = "HEARTH_OWN_PROCESSES"  # 1 in such workers; off: no worker is to be one


def inside() -> bool:
    """Whether this process sees its own worker's processes only."""
    return os.environ.get(_MARK) == "1"


@functools.cache
def refused() -> str | None:
    """Why workers cannot have processes of their own here; None where they can."""
    if os.environ.get(_MARK) == "off":
        return f"{_MARK}=off"
    try:
        tried = subprocess.run(
            [*_ENTER, _FIRST_PROCESS, "300", "true"], capture_output=True, text=True, check=False
        )
    except OSError as problem:
        return str(problem)
    return tried.stderr.strip() or None


def python(number: int, workers: int) -> str:
    """The command that starts the Python of worker `number` (from 0), as execnet splits it."""
    most = int(Path("/proc/sys/kernel/pid_max").read_text())
    first = 300 + number * ((most - 300) // workers)
    words = [*_ENTER, _FIRST_PROCESS, str(first), "env", f"{_MARK}=1", sys.executable]
    return shlex.join(words)
