"""Sets of kernel ids (CPUs, NUMA nodes) in the kernel's list format, such as `0-3,8`."""

from __future__ import annotations

from collections.abc import Iterable


def parse_ids(text: str) -> frozenset[int]:
    """The ids of a kernel list; blank text is the empty set.

    Raises ValueError where the text is not such a list.
    """
    ids: set[int] = set()
    for part in filter(None, (piece.strip() for piece in text.strip().split(","))):
        first, _, last = part.partition("-")
        ids.update(range(int(first), int(last or first) + 1))
    return frozenset(ids)


def format_ids(ids: Iterable[int]) -> str:
    """The kernel's list format of these ids; empty text for none."""
    runs: list[tuple[int, int]] = []
    for number in sorted(set(ids)):
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
