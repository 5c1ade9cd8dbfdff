"""A series of `hearth lab bench` on the page: what its template shows."""

from hearth.base.sizes import counted
from hearth.report.html.figures import seconds_strip
from hearth.report.html.shown import View
from hearth.report.terminal import bench
from hearth.studies.bench.result import BenchResult, JobSummary


def series_view(found: BenchResult) -> View:
    """Return the runs of each job on a scale of seconds, and the tables of the terminal."""
    rows = found.rows
    return {
        "title": f"Series {found.series.suite}",
        "sentence": _sentence(found),
        "warnings": [f"{warned.label}: {warned.sentence}." for warned in found.warnings],
        "jobs": [_job(found, label) for label in dict.fromkeys(row.label for row in rows)],
        "head": bench.HEAD,
        "rows": [bench.cells(row) for row in rows],
        "stream_head": bench.STREAM_HEAD,
        "streams": bench.stream_cells(rows),
        "note": bench.note(rows, found.series.settings),
    }


def _job(found: BenchResult, label: str) -> View:
    seconds: dict[str, list[float]] = {}
    for trial in found.cases:
        if trial.turn.subject == label and trial.counted_s is not None:
            seconds.setdefault(trial.arm, []).append(trial.counted_s)
    rows = [row for row in found.rows if row.label == label]
    ran = [(row.master, seconds[row.master]) for row in rows if row.master in seconds]
    return {"name": label, "seconds": seconds_strip(ran),
            "absent": [(row.master, row.reason or "not run") for row in rows
                       if row.seconds is None]}  # fmt: skip


def _sentence(found: BenchResult) -> str:
    """Return in how many jobs each master is faster or slower than the first."""
    first, *others = found.series.masters
    said = []
    for master in others:
        rows = [row for row in found.rows if row.master == master]
        kinds = [_kind(row) for row in rows]
        known = (("faster", "faster"), ("slower", "slower"), ("open", "not told apart"))
        parts = [f"{words} in {counted(kinds.count(kind), 'job')}" for kind, words in known
                 if kind in kinds]  # fmt: skip
        said.append(f"{master} against {first}: {', '.join(parts)}." if parts else "")
    return " ".join(filter(None, said))


def _kind(row: JobSummary) -> str | None:
    if row.ratio is None:
        return None
    low, high = row.ratio.interval or (0.0, float("inf"))
    return "faster" if high < 1 else "slower" if low > 1 else "open"
