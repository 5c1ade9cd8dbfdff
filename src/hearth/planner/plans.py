"""Several plans from one start of the JVM: for questions that try many configurations."""

from collections.abc import Sequence
from typing import Any

from hearth.model.errors import UserError
from hearth.planner import jvm

Document = dict[str, Any]


def plans(requests: Sequence[Document], debug: bool = False) -> list[Document | UserError]:
    """The answer to each request of `plan_request`, in their order: the plan, or why there is none.

    All are made for the machine and its neighbours as they are at one moment. Raises UserError
    where none can be made at all.
    """
    if not requests:
        return []
    several = {"schema": "hearth/plan-requests/1", "requests": list(requests)}
    answers = jvm.call("plan", request=several, debug=debug)["plans"]
    return [answer["plan"] if "plan" in answer else UserError(answer["refused"])
            for answer in answers]  # fmt: skip
