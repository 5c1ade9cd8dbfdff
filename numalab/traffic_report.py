"""What was counted by traffic.py, as raw lines, as a table, and as a page."""

from __future__ import annotations

import html
import json
import string
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path

from numalab.shape import Shape
from numalab.traffic import Window

#: Cycles that a miss into local and into remote memory waits (Awan 2016, equations 1 and 2; a two-
#: socket Ivy Bridge).
LOCAL_CYCLES, REMOTE_CYCLES = 130, 310


@dataclass(frozen=True)
class Counted:
    """One arm of one round; misses are of user code, in the window.

    rounds: what the workload did meanwhile. local, remote: by node of the CPU, [node][0 or 1].
    moves: how many of thread_looks looks before the window found a thread on another node than the
    look before, a second earlier.
    """

    arm: str
    repeat: int
    rounds: int
    seconds: float
    accesses: int
    local: tuple[int, ...]
    remote: tuple[int, ...]
    kernel_misses: int
    moves: int
    thread_looks: int

    @property
    def remote_share(self) -> float:
        """The part of the misses that went to another node's memory."""
        return sum(self.remote) / (sum(self.local) + sum(self.remote))

    @property
    def cycles_per_miss(self) -> float:
        """What a miss waits on average by equations 1 and 2: an estimate, nothing measured."""
        return LOCAL_CYCLES + (REMOTE_CYCLES - LOCAL_CYCLES) * self.remote_share


def counted(shape: Shape, arm: str, repeat: int, window: Window, evidence: Path) -> Counted:
    """Join a window with what the guest noted of the same arm, in `evidence`/result.json."""
    noted = json.loads((evidence / "result.json").read_text(encoding="ascii"))
    local, remote = [0] * len(shape.nodes), [0] * len(shape.nodes)
    for cpu, counts in enumerate(window.cpus):
        node = shape.node_of(cpu)
        local[node] += counts.user[node]
        remote[node] += sum(counts.user[: len(shape.nodes)]) - counts.user[node]
    return Counted(
        arm,
        repeat,
        noted["rounds"],
        window.seconds,
        sum(cpu.accesses for cpu in window.cpus),
        tuple(local),
        tuple(remote),
        sum(sum(cpu.kernel) for cpu in window.cpus),
        noted["moves"],
        noted["thread_looks"],
    )


def raw_lines(shape: Shape, workload: str, found: Iterable[Counted]) -> str:
    """Return a JSON object a line."""
    of = {"shape": shape.name, "workload": workload}
    return "".join(json.dumps({**of, **asdict(one)}) + "\n" for one in found)


HEAD = ("arm", "remote misses", "by node", "moves between nodes", "cycles a miss, estimated")


def rows(found: Sequence[Counted]) -> list[tuple[str, ...]]:
    """Return a row for each arm of each repeat."""
    return [
        (
            f"{one.arm} #{one.repeat + 1}",
            f"{one.remote_share:.1%}",
            ", ".join(_by_node(one)),
            f"{one.moves} of {one.thread_looks}",
            f"{one.cycles_per_miss:.0f}",
        )
        for one in found
    ]


def _by_node(one: Counted) -> list[str]:
    return [
        f"{node}: {remote / (local + remote):.1%}" if local + remote else f"{node}: none"
        for node, (local, remote) in enumerate(zip(one.local, one.remote, strict=True))
    ]


_PAGE = string.Template("""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>$title</title>
<style>body { font: 16px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em }
td, th { padding: .2em .8em; text-align: left } #bars { height: ${height}px }</style>
<h1>$title</h1>
<p>Cache misses of user code by where the page lay, counted in an emulated machine (each CPU has a
cache of its own, 1 MiB). How often, not how fast: an emulator's time means nothing. Cycles a miss
are an estimate, by 130 cycles for local and 310 for remote memory (Awan 2016, equations 1, 2).</p>
<div id="bars" role="img" aria-label="Local and remote misses of each arm"></div>
<table><tr>$head</tr>$rows</table>
<script>$library</script>
<script>echarts.init(document.getElementById("bars")).setOption($option)</script>
</html>
""")


def page(title: str, found: Sequence[Counted]) -> str:
    """Return the table and its bars as one HTML document that loads nothing."""
    library = resources.files("hearth.report.html") / "lib/echarts.min.js"
    names = [row[0] for row in rows(found)]
    option = {
        "animation": False,
        "legend": {},
        "tooltip": {},
        "grid": {"left": 160},
        "xAxis": {"max": 100, "name": "%"},
        "yAxis": {"type": "category", "data": names, "inverse": True},
        "series": [
            _bars("local", [100 * (1 - one.remote_share) for one in found]),
            _bars("remote", [100 * one.remote_share for one in found]),
        ],
    }
    cells = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
        for row in rows(found)
    )
    return _PAGE.substitute(
        title=html.escape(title),
        height=120 + 36 * len(found),
        head="".join(f"<th>{html.escape(word)}</th>" for word in HEAD),
        rows=cells,
        library=library.read_text(encoding="utf-8"),
        option=json.dumps(option).replace("<", "\\u003c"),
    )


def _bars(name: str, shares: Sequence[float]) -> dict[str, object]:
    return {
        "name": name,
        "type": "bar",
        "stack": "misses",
        "data": [round(share, 1) for share in shares],
    }
