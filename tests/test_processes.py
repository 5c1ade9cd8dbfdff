"""What hearth leaves to be done when an application is over comes after whatever else runs."""

import os
import subprocess
import sys
from pathlib import Path

from support import eventually, require

AUTOGROUP = Path("/proc/self/autogroup")
WORK = """
import os, sys
from pathlib import Path
from hearth.base.processes import take_only_idle_time
take_only_idle_time()
part = Path(sys.argv[1] + ".part")
part.write_text(f"{os.sched_getscheduler(0)} {Path('/proc/self/autogroup').read_text()}")
part.rename(sys.argv[1])
"""
DETACHES = f"""
import sys
from hearth.base.processes import detached
detached([sys.executable, "-c", {WORK!r}, sys.argv[1]])
"""


def test_what_takes_only_idle_time_comes_after_all_other_sessions(tmp_path: Path) -> None:
    if not AUTOGROUP.exists():
        require("autogroup", "this kernel shares no CPU time among sessions")
    found = tmp_path / "found"
    subprocess.run([sys.executable, "-c", DETACHES, str(found)], check=True)
    eventually("the detached work is done", found.exists)
    policy, group, nice, value = found.read_text().split()
    assert policy == str(os.SCHED_IDLE)
    # Empty where this process is in no session but init's.
    assert [group] != AUTOGROUP.read_text().split()[:1], "a session of its own"
    assert (nice, value) == ("nice", "19"), "among sessions the policy does not count"
