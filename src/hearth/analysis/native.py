"""What a native engine would bring to a run without one."""

import re

from hearth.analysis.document import Analysis
from hearth.base.absent import Absent
from hearth.spark.engines import advice

_PARQUET = re.compile(r"(File)?Scan parquet\b.*")
#: Ours: the part of the tasks' time from which on a run is said to be SQL over Parquet.
_MOSTLY = 0.5


def engine_advice(run: Analysis) -> str | None:
    """Name an engine for a run that was mostly SQL over Parquet, and none of it on Comet."""
    if isinstance(run.stages, Absent):
        return None
    sql = [stage for stage in run.stages if stage.sql is not None]
    if any(name.startswith("Comet") for stage in sql for name in stage.operators):
        return None
    scans = {stage.sql for stage in sql if any(map(_PARQUET.fullmatch, stage.operators))}
    whole = sum(stage.time.run for stage in run.stages)
    share = sum(stage.time.run for stage in sql if stage.sql in scans) / (whole or 1)
    version = run.record.spark_version
    said = advice(version) if version and share > _MOSTLY else None
    return f"{share:.0%} of the tasks' time was SQL over Parquet; {said}" if said else None
