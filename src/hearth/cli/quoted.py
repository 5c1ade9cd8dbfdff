"""Choose the doctor's findings that `submit`, `profile` and `compare` quote before a run."""

from collections.abc import Collection, Mapping
from pathlib import Path

from hearth.doctor.brief import findings_in_brief
from hearth.doctor.check import Worth
from hearth.machine import paths
from hearth.machine.plan import Plan
from hearth.studies.engine.store import COMPARE


def quoted(
    settings: Mapping[str, str], plan: Plan | None, application: str | None = None
) -> list[str]:
    """Return the one or two findings that matter to the run, a line each."""

    def measured(names: Collection[str]) -> Mapping[str, Worth]:
        home = paths.state_home()
        if not _compared(home, names):
            return {}
        from hearth.studies.compare.fixes import measured_fixes  # what it imports takes a second

        return measured_fixes(home, Path(application).stem if application else None)[0]

    return findings_in_brief(settings, plan, measured)


def _compared(home: Path, names: Collection[str]) -> bool:
    """Return whether a comparison has fixed one of these findings."""
    try:
        heads = [(one / COMPARE.head).read_bytes() for one in COMPARE.kept(home)]
    except OSError:
        return False
    return any(f'"fixed:{name}"'.encode() in head for head in heads for name in names)
