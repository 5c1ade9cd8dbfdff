"""Show on which CPUs communication threads may run."""

from typing import Any

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
