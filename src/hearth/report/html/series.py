"""A series of `hearth lab bench` on the page: what its template shows."""

from hearth.base.sizes import counted
from hearth.report.html.figures import seconds_strip
from hearth.report.html.shown import View
from hearth.report.terminal import bench
from hearth.studies.bench.result import BenchResult
from hearth.studies.compare.result import Compared


def series_view(found: BenchResult) -> View:
    """Return the runs of each job on a scale of seconds, and the tables of the terminal."""
    return {
        "title": f"Series {found.series.suite}",
        "sentence": _sentence(found),
        "warnings": bench.warnings(found),
        "jobs": [_job(job) for job in found.jobs],
        "head": bench.HEAD,
        "rows": bench.rows(found),
        "stream_head": bench.STREAM_HEAD,
        "streams": bench.stream_rows(found),
        "note": bench.note(found),
    }


def _job(job: Compared) -> View:
    without = [arm for arm in job.arms if not arm.seconds]
    return {
        "name": job.application,
        "seconds": seconds_strip([(arm.name, arm.seconds) for arm in job.finished]),
        "absent": [(arm.name, bench.without_times(arm)) for arm in without],
    }


def _sentence(found: BenchResult) -> str:
    """Return in how many jobs each master is faster or slower than the first."""
    first, *others = found.series.masters
    said = []
    for master in others:
        arms = [arm for job in found.jobs for arm in job.arms if arm.name == master and arm.ratio]
        kinds = [arm.against if arm.against in _KINDS else "" for arm in arms]
        parts = [
            f"{words} in {counted(kinds.count(kind), 'job')}"
            for kind, words in _KINDS.items()
            if kind in kinds
        ]
        said.append(f"{master} against {first}: {', '.join(parts)}." if parts else "")
    return " ".join(filter(None, said))


_KINDS = {"faster": "faster", "slower": "slower", "": "not told apart"}
