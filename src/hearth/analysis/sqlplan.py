"""Read the physical plan of a query as Spark logs it: the names of its operators.

The tree is that of Spark's SQL page (SparkPlanInfo.scala), flattened from its root, each operator
with its depth.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hearth.analysis.event_checks import text

#: Of a plan, so many operators are read.
MOST_NODES = 300
_CODEGEN = re.compile(r"WholeStageCodegen \(\d+\)")
#: Operators that move rows from one form or thread to another: no help in a name.
_PLUMBING = ("InputAdapter", "ColumnarToRow", "Project", "AQEShuffleRead", "mapPartitionsInternal")


@dataclass(frozen=True)
class PlanNode:
    """An operator."""

    depth: int
    name: str


def read_plan(info: dict[str, Any]) -> list[PlanNode]:
    """Return the operators from the root down; ValueError, KeyError or TypeError for no plan."""
    operators: list[PlanNode] = []
    left = [(0, info)]
    while left and len(operators) < MOST_NODES:
        depth, node = left.pop()
        operators.append(PlanNode(depth, text(node, "nodeName").strip()))
        left += [(depth + 1, child) for child in reversed(node["children"])]
    return operators


def resolved(operators: Sequence[str], plan: Sequence[PlanNode]) -> list[str]:
    """Return a stage's operators with those that Spark compiled together named one by one."""
    names: list[str] = []
    for name in operators:
        parts = _compiled(name, plan) if _CODEGEN.fullmatch(name) else [name]
        names += [
            one for one in parts if one not in _PLUMBING and one != next(iter(names[-1:]), "")
        ]
    return names or list(operators)


def _compiled(name: str, plan: Sequence[PlanNode]) -> list[str]:
    """Return the operators inside a part that is compiled as one, from input to output."""
    at = next((number for number, node in enumerate(plan) if node.name == name), None)
    if at is None:
        return [name]
    inner: list[str] = []
    for node in plan[at + 1 :]:
        if node.depth <= plan[at].depth or node.name == "InputAdapter":
            break
        inner.append(node.name)
    return inner[::-1] or [name]
