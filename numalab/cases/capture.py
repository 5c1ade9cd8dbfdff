"""A capture of the guest, as `hearth topology --capture` makes it: what fixtures/machines holds."""

from __future__ import annotations

import subprocess
from pathlib import Path

LIMIT_SECONDS = 120


def collect(job: dict[str, object], evidence: Path) -> None:
    """Writes capture.tar.gz; raises CalledProcessError where the verb fails."""
    gather = f'exec java -Xshare:auto -cp "{job["jar"]}:$SPARK_HOME/jars/*" io.hearth.core.cli.Main'
    output = evidence / "capture.tar.gz"
    command = ["bash", "-c", f'{gather} gather --output "{output}"']
    subprocess.run(command, check=True, timeout=LIMIT_SECONDS)
