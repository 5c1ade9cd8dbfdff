"""docs/findings.md, from the rules themselves."""

from hearth.analysis.advice import PLAN_RULES, STAGE_RULES
from hearth.analysis.findings import SKEW, SKEWED_JOIN

_HEAD = """# Findings about stages and plans

`hearth profile`, `hearth report` and `hearth runs show` say what of a run cost time. Beside what
the samples show (garbage collection, remote memory, waiting, idle slots: [profiling](profiling.md))
they apply these rules to its stages and to the physical plans of its queries. A rule about a plan
needs the event log of a query that ended. Each finding names its stage or query, and the place in
the document (`--json`) that it rests on. The limits are our judgement, unless
[advice.py](../src/hearth/analysis/advice.py) names a source.
"""
_TABLE = "\n| Finding | When | What to do |\n|---|---|---|\n"


def page() -> str:
    """Return the text of the page."""
    join = (
        f"the longest task of a stage with a join took {SKEW:g} times the median or longer, and "
        "read more data"
    )
    return "".join([
        _HEAD, "\n## Stages\n", _TABLE, *(_row(r.id, r.when, r.next_step) for r in STAGE_RULES),
        _row("skew-N", join, SKEWED_JOIN),
        "\n## Plans of queries\n", _TABLE, *(_row(r.id, r.when, r.next_step) for r in PLAN_RULES),
    ])  # fmt: skip


def _row(name: str, when: str, next_step: str) -> str:
    return f"| `{name}` | {when} | {next_step} |\n"
