"""The flame graph on the page: what the script draws, and the table beside it."""

from hearth.analysis.document import NOT_ASKED, Flame
from hearth.analysis.flame import ASYNC_PROFILER
from hearth.base.absent import Absent, Measured
from hearth.report.blocks import View
from hearth.report.html.axis import natural
from hearth.report.html.shown import executor_name

_MOST_METHODS = 25


def flame_view(flame: Measured[Flame]) -> View | Absent | None:
    """Return what the template shows; None if no flame graph was asked for."""
    if isinstance(flame, Absent):
        return None if flame == NOT_ASKED else flame
    names = sorted(flame.self_samples, key=natural)
    total = sum(flame.samples.values())
    return {
        "document": {
            "frames": flame.frames,
            "frame": flame.frame,
            "parent": flame.parent,
            "self_samples": [flame.self_samples[name] for name in names],
        },
        "names": [executor_name(name) for name in names],
        "total": f"{total:,}",
        "period_ms": flame.period_ms,
        "sampled_by": flame.sampled_by,
        "native": flame.sampled_by == ASYNC_PROFILER,
        "rows": [
            [name, samples, f"{samples / total:.1%}"] for name, samples in flame.top[:_MOST_METHODS]
        ],
        "absent": [(executor_name(name), why) for name, why in flame.absent.items()],
    }
