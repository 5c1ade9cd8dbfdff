"""Show on which CPUs communication threads may run."""

from typing import Any

from hearth.base.ids import brief_ids
from hearth.report.terminal.screen import Screen, table

_MOST_GROUPS = 16


def show_plan(plan: dict[str, Any], screen: Screen) -> list[str]:
    """Return the policy, the device and its place, the CPUs of each thread in turn, and remarks."""
    where = "this machine" if plan["source"] == "live" else plan["source"]
    lines = [f"{screen.title(plan['plain'])} ({plan['policy']}) on {where}: {plan['meaning']}"]
    device = plan.get("device")
    if device is None:
        lines.append("  device: none")
    else:
        lines.append(f"  device: {device['name']}, {device['why']}")
        if device["lowest"] != [device["name"]]:
            lines.append(f"  it sends through: {', '.join(device['lowest'])}")
        if device["nodes"]:
            place = f"node {device['nodes']}"
        else:
            place = f"CPUs {device['cpus']}" if device["cpus"] else "unknown"
        source = f" ({device['place']})" if place != device["place"] else ""
        lines.append(f"  place: {place}{source}")
    groups = plan["groups"]
    if len(groups) == 1:
        lines.append(f"  every communication thread: CPUs {groups[0]}")
    else:
        lines.append(f"  {len(groups)} sets of CPUs, which the threads take in turn:")
        lines += [f"    {group}" for group in groups[:_MOST_GROUPS]]
        if len(groups) > _MOST_GROUPS:
            lines.append(f"    ... {len(groups) - _MOST_GROUPS} more (--json shows all)")
    return lines + [screen.paragraph(f"note: {remark}", "  ", "    ") for remark in plan["remarks"]]


def show_defaults(document: dict[str, Any], screen: Screen) -> list[str]:
    """Return a row for each architecture, and one for each policy."""
    rows = [
        (d["architecture"], d["policy"], str(d["threads"]), d["basis"])
        for d in document["architectures"]
    ]
    lines = table(screen, ("architecture", "policy", "N", "basis"), rows, right="N")
    policies = [
        (p["plain"], "" if p["name"].startswith(p["plain"]) else p["name"], p["meaning"])
        for p in document["policies"]
    ]
    return [*lines, "", *table(screen, ("policy", "in Lu 2017", "a thread may use"), policies)]


def show_threads(document: dict[str, Any], screen: Screen) -> list[str]:
    """Return a row for each communication thread of a process, and how many others it has."""
    others = document["other_threads"]
    if not document["threads"]:
        return [
            f"none of the {others} threads of process {document['pid']} is a communication thread"
        ]
    rows = [
        (
            str(thread["tid"]),
            thread["name"],
            thread["software"],
            brief_ids(thread["cpus"], 24),
            str(thread["last_cpu"]),
            str(thread.get("node", "-")),
            f"{thread['node_moves_per_s']:.1f}",
        )
        for thread in document["threads"]
    ]
    head = ("tid", "thread", "software", "CPUs allowed", "last CPU", "node", "node moves/s")
    moves = f"moves seen in {document['looks']} samples over {document['seconds']} s"
    note = f"  {others} other threads; {moves}; names are cut to 15 characters"
    return [*table(screen, head, rows, right="tid last node"), note]
