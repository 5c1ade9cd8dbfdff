"""The document of `hearth lab fleet plan`: `hearth schema fleet-plan`."""

from dataclasses import dataclass, field
from typing import Literal

from hearth.base.codec import LEFT_OUT
from hearth.base.limits import Count, NonEmpty, Positive, Share, Text
from hearth.doctor.rule import Severity
from hearth.machine.plan import Plan
from hearth.spark.clusters.shape import Shape


@dataclass(frozen=True)
class MachineClass:
    """Machines whose topology is equal, and whose nodes have the same memory but for 3 %."""

    machines: NonEmpty[Text]  #: the names of their captures
    summary: Text  #: packages, nodes, cores and CPUs in words
    executors: Positive  #: how many of the shape each machine has
    shape: Shape
    #: for the machine with the smallest plan, so that it fits all
    plan: Plan
    #: what sets it apart from the largest class with the same processor; empty where that is a
    #: matter of opinion
    unlike: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Fit:
    """How well executors of one shape use the machines of a class."""

    executors: Count  #: on each machine
    used: Share  #: of the task slots that the class's own plan has
    heap: Share  #: of its heaps and off-heap memory


@dataclass(frozen=True)
class Common:
    """One shape of executors for all classes."""

    shape: Shape
    fits: list[Fit]  #: in the order of the classes
    settings: dict[str, str]  #: for spark-defaults.conf


@dataclass(frozen=True)
class CommonFinding:
    """A finding of the doctor's that more than half of the machines share."""

    name: Text
    machines: Positive
    better: Text


@dataclass(frozen=True)
class RareFinding:
    """A finding that at most half of the machines share."""

    machine: Text
    name: Text
    severity: Severity
    seen: Text
    better: Text
    command: Text


@dataclass(frozen=True)
class Unread:
    """A capture that cannot be read, or for which nothing can be planned."""

    machine: Text
    reason: Text


@dataclass(frozen=True)
class FleetPlan:
    """Which classes of machine a folder of captures holds, the plan of each, and the odd ones.

    Written by `hearth lab fleet plan --json`.
    """

    classes: list[MachineClass]  #: the largest first
    usual: list[CommonFinding]
    odd: list[RareFinding]
    unread: list[Unread]
    common: Common | None = field(default=None, metadata=LEFT_OUT)
    #: why there is no shape for all
    no_common: str | None = field(default=None, metadata=LEFT_OUT)
    schema: Literal["hearth/fleet-plan/1"] = "hearth/fleet-plan/1"
