"""How many of the executors' cache misses go to another NUMA node, counted in an emulated machine?

    .venv/bin/python -m numalab traffic two-nodes scan

leaves the raw lines in build/numalab/two-nodes-traffic/. An emulator's time means nothing, so none
is told; see numalab/README.md.
"""

from collections.abc import Sequence

from results import Row, table


def remote_share(row: Row) -> float:
    """Return the part of user code's misses that went to another node's memory."""
    local, remote = sum(row["local"]), sum(row["remote"])
    return float(remote / (local + remote))


def page(rows: Sequence[Row]) -> list[str]:
    """Return a table with a row for each arm."""
    heads = ("Arm", "Misses counted", "Remote", "of node 0", "of node 1", "Threads that moved")
    return table(heads, [_row(row) for row in rows])


def _row(row: Row) -> list[str]:
    by_node = [
        remote / (local + remote) for local, remote in zip(row["local"], row["remote"], strict=True)
    ]
    return [
        row["arm"],
        f"{(sum(row['local']) + sum(row['remote'])) / 1e6:.1f} million",
        *(f"{100 * share:.1f} %" for share in (remote_share(row), *by_node)),
        f"{row['moves']} of {row['thread_looks']}",
    ]
