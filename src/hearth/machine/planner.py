"""What the JVM side answers of machines and plans, as dataclasses."""

from collections.abc import Sequence
from typing import Any

from hearth.base.codec import typed
from hearth.base.errors import UserError
from hearth.machine import jvm
from hearth.machine.plan import Plan
from hearth.machine.topology import Topology

Document = dict[str, Any]


def topology(of: str | None = None, debug: bool = False) -> Topology:
    """This machine, or one that `--machine` names: a capture or a description. Raises UserError."""
    words = [] if of is None else ["--machine", of]
    return typed(jvm.call("topology", *words, debug=debug), Topology)


def plan(
    request: Document,
    debug: bool = False,
    words: Sequence[str] = (),
    inherits: tuple[int, ...] = (),
) -> Plan:
    """The answer to a request of `plan_request`; words, inherits: of a lease that is offered.

    Raises UserError where nothing fits.
    """
    return typed(jvm.call("plan", *words, request=request, debug=debug, inherits=inherits), Plan)


def plans(requests: Sequence[Document], debug: bool = False) -> list[Plan | UserError]:
    """The answer to each request of `plan_request`, in their order: the plan, or why there is none.

    All are made, by one start of the JVM, for the machine and its neighbours as they are at one
    moment. Raises UserError where none can be made at all.
    """
    if not requests:
        return []
    several = {"schema": "hearth/plan-requests/1", "requests": list(requests)}
    answers = jvm.call("plan", request=several, debug=debug)["plans"]
    return [typed(answer["plan"], Plan) if "plan" in answer else UserError(answer["refused"])
            for answer in answers]  # fmt: skip
