"""Copy what an application's driver keeps of its executors' placement to the record."""

from pathlib import Path

from hearth.base.codec import load_document
from hearth.base.private_files import write_private

_KEPT = ("placement.json", "hand-over.json")


class PlacementCopy:
    """Keeps the latest placement proof, and the hand-overs of CPUs; none on other masters."""

    def __init__(self, runs: Path, record: Path) -> None:
        self._runs = runs
        self._record = record
        self._run: Path | None = None
        self._copied_ns: dict[str, int] = {}

    def look(self, driver_pid: int) -> None:
        """Copy what is newer than its copy."""
        self._run = self._run or self._find(driver_pid)
        if self._run is None:
            return
        for source in (self._run / name for name in _KEPT):
            name = source.name
            if not source.is_file():
                continue
            changed_ns = source.stat().st_mtime_ns
            if changed_ns != self._copied_ns.get(name):
                write_private(self._record / name, source.read_bytes())
                self._copied_ns[name] = changed_ns

    def keep_bindings(self, bindings: Path) -> None:
        """Copy what executors that bind themselves have reported; the event log names the app."""
        names = " ".join(log.name for log in (self._record / "eventlog").iterdir())
        for file in bindings.glob("*.json"):
            if file.stem in names:
                write_private(self._record / "binding.json", file.read_bytes())

    def _find(self, driver_pid: int) -> Path | None:
        for file in self._runs.glob("*/run.json"):
            try:
                record = load_document(file, dict)
            except (OSError, ValueError):
                continue  # swept, or another run's damage: not ours to judge here
            if record.get("driver_pid") == driver_pid and record.get("state") == "running":
                return file.parent
        return None
