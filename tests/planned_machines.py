"""Machines and plans for tests, from the part of them that matters there."""

from typing import Any

from hearth.base.codec import typed
from hearth.machine.plan import Plan
from hearth.machine.topology import Topology

_NOWHERE = {"memory_nodes": "", "off_heap_mb": 0, "overhead_mb": 0, "java_options": []}


def a_machine(document: dict[str, Any]) -> Topology:
    """Of a topology document in which much may be missing."""
    cpus = document["allowed"]["cpus"]
    empty = {"source": "a test", "cpus": cpus, "packages": [], "caches": [], "devices": []}
    return typed(
        {
            **empty,
            **document,
            "allowed": {"nodes": "", **document["allowed"]},
            "nodes": _each(document["nodes"], {"memory_bytes": 0, "distances": {}}),
            "cores": _each(document["cores"], {"package": 0}),
            "packages": _each(document.get("packages", []), {"dies": []}),
        },
        Topology,
    )


def a_plan(document: dict[str, Any]) -> Plan:
    """Of a plan document in which much may be missing."""
    place = {"cpus": "", "heap_mb": 0, "task_slots": 0, **_NOWHERE}
    return typed(
        {
            "master": "local-numa",
            "reasons": [],
            **document,
            "executors": _each(document.get("executors", []), place),
            "driver": {
                "cpus": "", "memory_nodes": "", "bound": False, "heap_mb": 0, "overhead_mb": 0,
                **document.get("driver", {}),
            },
        },
        Plan,
    )  # fmt: skip


def _each(documents: list[dict[str, Any]], filled: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"id": at, **filled, **one} for at, one in enumerate(documents)]
