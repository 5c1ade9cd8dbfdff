"""docs/findings.md, from the rules themselves."""

from hearth.analysis.advice import STAGE_RULES
from hearth.analysis.findings import SKEW, SKEWED_JOIN
from hearth.analysis.next_steps import in_words
from support import filled

_HEAD = """# Findings about stages

`hearth profile` and `hearth report` say what of a run cost time. Beside what the samples show (time
without a task, garbage collection, remote memory, waiting, idle slots: [profiling](profiling.md))
they apply these rules to its stages. Where two of them would turn a setting both ways, the one with
less to gain leaves that step out. Each finding names its stage, and the place in the document
(`--json`) that it rests on. The limits are our judgement, unless
[advice.py](../src/hearth/analysis/advice.py) names a source.
"""


def page() -> str:
    """Return the text of the page."""
    join = (
        f"the longest task of a stage with a join took {SKEW:g} times the median or longer, and "
        "read more data"
    )
    return "".join([
        _HEAD, "\n", *(_item(r.id, r.when, in_words(r.steps)) for r in STAGE_RULES),
        _item("skew-N", join, in_words(SKEWED_JOIN)),
    ])  # fmt: skip


def _item(name: str, when: str, next_step: str) -> str:
    return filled(f"- **`{name}`**: {when}. *What to do*: {next_step}.", "  ") + "\n"
