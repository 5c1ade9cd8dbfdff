"""What a native engine ran of a run's SQL, and what one would bring to a run without it."""

import re
from collections import Counter

from hearth.analysis.document import Analysis, EngineUse
from hearth.analysis.eventlog import EventLog
from hearth.base.absent import Absent, Measured
from hearth.spark.engines import PUBLISHED, advice

_PARQUET = re.compile(r"(File)?Scan parquet\b.*")
_MOST, _SHOWN = 10, 3
#: Ours: the part of the tasks' time from which on a run is said to be SQL over Parquet.
_MOSTLY = 0.5


def engine_use(log: Measured[EventLog]) -> EngineUse | None:
    """Return how much of the SQL Comet ran; None where it says nothing."""
    queries = [] if isinstance(log, Absent) else [*log.sql.values()]
    said = [query.accelerated for query in queries if query.accelerated is not None]
    if not said:
        return None
    often = Counter(pair for one in said for pair in one.left.items())
    left: dict[str, str] = {}
    for (name, reason), _ in often.most_common(_MOST):
        left.setdefault(name, reason)
    native, whole = sum(one.native for one in said), sum(one.operators for one in said)
    return EngineUse("comet", native, whole, left)


def engine_words(run: Analysis) -> str | None:
    """Return what the engine of a run did, or which one a run without could take."""
    return _use_words(run.engine) if run.engine else _advice(run)


def _use_words(use: EngineUse) -> str:
    title = PUBLISHED[use.engine].title if use.engine in PUBLISHED else use.engine
    shown = [f"{name} ({reason})" for name, reason in [*use.left.items()][:_SHOWN]]
    more = len(use.left) - len(shown)
    left = f"; not {', '.join(shown)}" if shown else ""
    many = f" and {more} more" if more else ""
    return f"{title} ran {use.native} of {use.operators} SQL operators{left}{many}"


def _advice(run: Analysis) -> str | None:
    """Name an engine for a run that was mostly SQL over Parquet."""
    if isinstance(run.stages, Absent):
        return None
    sql = [stage for stage in run.stages if stage.sql is not None]
    scans = {stage.sql for stage in sql if any(map(_PARQUET.fullmatch, stage.operators))}
    whole = sum(stage.time.run for stage in run.stages)
    share = sum(stage.time.run for stage in sql if stage.sql in scans) / (whole or 1)
    version = run.record.spark_version
    said = advice(version) if version and share > _MOSTLY else None
    return f"{share:.0%} of the tasks' time was SQL over Parquet; {said}" if said else None
