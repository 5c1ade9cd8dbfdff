"""Who holds what of a machine, as a table and a map."""

import time
from collections.abc import Sequence

from hearth.base.ids import brief_ids, parse_ids, show_ids
from hearth.base.sizes import counted, show_bytes
from hearth.machine.leases import Lease, Leases
from hearth.machine.topology import Topology
from hearth.report.terminal.plan import letter, machine_map
from hearth.report.terminal.screen import Screen, table

#: Of one lease, each in words of its own.
_NODES = 4
_HEAD = ["", "application", "name", "user", "driver", "since", "CPUs", "memory", "state"]


def show_leases(registry: Leases, screen: Screen) -> list[str]:
    """Show the leases, the machine with a letter for each holder, and what is not believed."""
    leases = registry.leases
    holders = [lease for lease in leases if lease.state == "holds"]
    lines = [f"leases in {registry.directory}: " + (_count(leases) or "none; nothing is held")]
    if leases:
        rows = [_row(lease, holders, screen) for lease in leases]
        lines += ["", *table(screen, _HEAD, rows, "driver")]
    if holders:
        lines += ["", screen.title("map"), *_map(holders, registry.topology, screen)]
    for problem in registry.problems:
        head = screen.paint("not counted: ", "yellow")
        lines.append(screen.paragraph(head + problem, "  ", "    "))
    return lines


def _count(leases: Sequence[Lease]) -> str:
    states = [lease.state for lease in leases]
    words = {"holds": "held", "shares": "sharing", "waits": "waiting"}
    return ", ".join(
        f"{states.count(state)} {word}" for state, word in words.items() if state in states
    )


def _row(lease: Lease, holders: Sequence[Lease], screen: Screen) -> list[str]:
    number = next((at for at, holder in enumerate(holders) if holder is lease), None)
    turn = f" (ticket {lease.ticket})" if lease.ticket is not None else ""
    return [
        "" if number is None else screen.hue(letter(number), number),
        lease.app_id,
        lease.name,
        lease.user,
        str(lease.pid),
        time.strftime("%d %b %H:%M", time.localtime(lease.since)),
        brief_ids(lease.cpus, 24) or "-",
        _memory(lease) or "-",
        f"{lease.state}{turn}",
    ]


def _memory(lease: Lease) -> str:
    """Return the memory on the first nodes, and on all others in one sum: anybody writes leases."""
    nodes = sorted(lease.memory_bytes.items(), key=lambda each: int(each[0]))
    shown = [f"{show_bytes(size)} of node {node}" for node, size in nodes[:_NODES]]
    if more := nodes[_NODES:]:
        rest = show_bytes(sum(size for _, size in more))
        shown.append(f"{rest} of {counted(len(more), 'further node')}")
    return ", ".join(shown)


def _map(holders: Sequence[Lease], machine: Topology, screen: Screen) -> list[str]:
    """Return the map of a plan, with applications for executors.

    Ids that do not exist are left out.
    """
    known = {cpu for core in machine.cores for cpu in parse_ids(core.cpus)}
    held = [(at, show_ids(known & set(parse_ids(lease.cpus)))) for at, lease in enumerate(holders)]
    *rows, _ = machine_map(held, machine, screen)
    legend = "a letter is a core of that application; . free, - not allowed, + shared"
    return [*rows, screen.paint(f"  {legend}", "dim")]
