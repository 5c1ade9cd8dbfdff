"""From 32 GB on each reference takes 8 bytes instead of 4: a slightly larger heap holds less."""

from hearth.base.errors import UserError
from hearth.base.sizes import parse_mb, show_mb
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem, published
from hearth.doctor.tree import NotSeen

_KEYS = ("spark.driver.memory", "spark.executor.memory")
#: Up to here the wider references eat what the larger heap gives; the upper end is hearth's.
_FROM_MB, _TO_MB = 32 << 10, 48 << 10


def _look(machine: Machine) -> Outcome:
    settings, told = machine.the_own().settings, []
    for key in _KEYS:
        if key not in settings:
            continue
        try:
            heap = parse_mb(settings[key], key)
        except UserError:
            raise NotSeen(f"{key} in spark-defaults.conf is not a size with a unit") from None
        if _FROM_MB <= heap < _TO_MB:
            return Problem(
                f"{key} = {show_mb(heap)}", "spark-defaults.conf", command=f"{key} 31g there"
            )
        told.append(f"{key} = {show_mb(heap)}")
    return Fine(", ".join(told) or "no heap size in spark-defaults.conf")


CHECK = Check(
    _look,
    group="spark",
    concerns="heaps",
    better="31 GB or less, in more executors; or 48 GB and more",
    source="Awan 2016; Oracle: java command, -XX:+UseCompressedOops",
    worth=published(
        "K-Means and a Gaussian mixture were up to 36 % faster in six executors of four cores than "
        "in one of 50 GB (Awan 2016, no second threads)",
        36,
    ),
    touches="nothing",
)
