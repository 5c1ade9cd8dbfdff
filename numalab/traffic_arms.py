"""The ways to run the same work between which `numalab traffic` counts."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Arm:
    """Settings of Spark, the kernel's NUMA balancing, and one JVM or the shape's executors."""

    settings: dict[str, str] = field(default_factory=dict)
    balanced: bool = False
    one_jvm: bool = False


UNBOUND = {"spark.hearth.binding": "off"}
ARMS = {
    "one-jvm": Arm(one_jvm=True),
    "unbound": Arm(UNBOUND),
    "unbound-balanced": Arm(UNBOUND, balanced=True),
    "bound": Arm(),
}
