"""A class-data archive fits one jar: those of an older one only take space."""

from hearth.base.sizes import show_bytes
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem, known

#: Ours: less is not worth a line.
_LEAST = 256 << 20


def _look(machine: Machine) -> Outcome:
    archives = known(machine.the_own().archives)
    stale = [one for one in archives if one.is_older_than_the_jar]
    size = sum(one.size_bytes for one in stale)
    what = f"{len(stale)} of {len(archives)} class-data archives are older than hearth's jar"
    if size < _LEAST:
        return Fine(f"{what}: {show_bytes(size)}")
    return Problem(
        f"{what} and cannot be used: {show_bytes(size)}",
        machine.the_own().cache,
        command="hearth cache --remove archives",
    )


CHECK = Check(
    _look,
    group="hearth",
    better="none",
    source="hearth: docs/files.md, class-data archives",
    touches="other installations of hearth that share the cache make theirs again",
)
