"""The placement proof of a `local-numa` run, copied from the cluster manager's run directory."""

from pathlib import Path

from hearth.model.documents import load_document
from hearth.model.private import write_private


class PlacementCopy:
    """Keeps the latest proof in the record while the run lasts; there is none on other masters."""

    def __init__(self, runs: Path, record: Path) -> None:
        self._runs = runs
        self._target = record / "placement.json"
        self._run: Path | None = None
        self._copied_ns = 0

    def look(self, driver_pid: int) -> None:
        """Copies the proof if it is newer than the copy."""
        self._run = self._run or self._find(driver_pid)
        source = self._run / "placement.json" if self._run else None
        if source is None or not source.is_file():
            return
        changed_ns = source.stat().st_mtime_ns
        if changed_ns != self._copied_ns:
            write_private(self._target, source.read_bytes())
            self._copied_ns = changed_ns

    def _find(self, driver_pid: int) -> Path | None:
        for file in self._runs.glob("*/run.json"):
            try:
                record = load_document(file, dict)
            except (OSError, ValueError):
                continue  # swept, or another run's damage: not ours to judge here
            if record.get("driver_pid") == driver_pid and record.get("state") == "running":
                return file.parent
        return None
