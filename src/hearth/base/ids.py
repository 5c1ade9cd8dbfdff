"""Set of CPU and node ids as the kernel writes them: `0-3,8` (cputopology.rst)."""

from collections.abc import Iterable

#: More than any kernel has CPUs: a list that names more is damaged.
_MOST = 1 << 17


def parse_ids(text: str) -> list[int]:
    """Return the ids of a list that hearth's JVM side wrote; the empty text is the empty list.

    Raises ValueError for any other text.
    """
    ids: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        span = range(int(first), int(last or first) + 1)
        if len(ids) + len(span) > _MOST:
            raise ValueError(f"'{part[:40]}': no machine has more than {_MOST} CPUs")
        ids.extend(span)
    return ids


def show_ids(ids: Iterable[int]) -> str:
    """Return the kernel's list format of some ids, in ascending order."""
    runs: list[list[int]] = []
    for number in sorted(ids):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)


def named(noun: str, ids: Iterable[int]) -> str:
    """Return such as `node 2` or `nodes 0-3,8`, a long list shortened."""
    some = set(ids)
    return f"{noun}{'' if len(some) == 1 else 's'} {brief_ids(show_ids(some))}"


def brief_ids(text: str, limit: int = 48) -> str:
    """Return a long list, shortened to what a person takes in: `0,8,16,...,184 (24 ids)`."""
    if len(text) <= limit:
        return text
    parts = text.split(",")
    tail = f",...,{parts[-1]} ({len(parse_ids(text))} ids)"
    shown = parts[0]
    for part in parts[1:-1]:
        if len(shown) + len(part) + len(tail) + 1 > limit:
            break
        shown += "," + part
    return shown + tail
