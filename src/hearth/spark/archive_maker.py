"""Make Spark's class-data archives when an application is over.

It is run as a program, `python -m hearth.spark.archive_maker`, so that `ps` does not show it as
the application. One works at a time, on idle CPU time, and it does not outlive its limit.
"""

import fcntl
import os
import signal
import sys
import time
from pathlib import Path

from hearth.base.private_files import private_directory
from hearth.base.processes import cpu_s, take_only_idle_time
from hearth.machine import paths
from hearth.spark import cds

_LOOK_S = 0.5
#: Less than a driver needs until it has a Spark session: 4 s and more were measured. One that has
#: used less did not run, and the same would keep an archive from being made.
_STARTED_S = 1.0


def main(owner: int, ticks: int, limit_s: int, spark_home: Path, jar: Path | None) -> None:
    """Make the archives when the process `owner` that started at `ticks` is over.

    limit_s: seconds from then on; after that this process and all that it has started end.
    """
    with (private_directory(paths.cache_home()) / ".training.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return  # another process waits for its application, and makes the same
        if _cpu_s_at_its_end(owner, ticks) < _STARTED_S:
            return
        signal.signal(signal.SIGALRM, lambda *_: os.killpg(0, signal.SIGKILL))
        signal.alarm(limit_s)
        take_only_idle_time()
        cds.driver_flags(spark_home, jar, make=True, debug=False, limit_s=limit_s)


def _cpu_s_at_its_end(owner: int, ticks: int) -> float:
    used = 0.0
    while (now_s := cpu_s(owner, ticks)) is not None:
        used = now_s
        time.sleep(_LOOK_S)
    return used


if __name__ == "__main__":
    given, started, limit, home, *jars = sys.argv[1:]
    main(int(given), int(started), int(limit), Path(home), Path(jars[0]) if jars else None)
