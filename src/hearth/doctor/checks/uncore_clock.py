"""The caches that all cores share, the memory's controllers and the links between processors have a
clock of their own: a limit on it takes bandwidth from every core.
"""

from hearth.doctor.check import Change, Check, Fine, Machine, Outcome, Problem
from hearth.doctor.tree import NotSeen

_FOLDER = "sys/devices/system/cpu/intel_uncore_frequency"
#: In kHz.
_MOST = 100_000_000


def _look(machine: Machine) -> Outcome:
    tree = machine.tree
    # Where dies have entries of their own (uncoreNN), that of their package stands for them all.
    parts = tree.names(_FOLDER, r"uncore\d{2,3}") or tree.names(
        _FOLDER, r"package_\d{2,3}_die_\d{2,3}"
    )
    first = {part: tree.number(f"{_FOLDER}/{part}/initial_max_freq_khz", _MOST) for part in parts}
    now = {part: tree.number(f"{_FOLDER}/{part}/max_freq_khz", _MOST) for part in parts}
    if not parts:
        raise NotSeen(f"there is nothing in /{_FOLDER}")
    cut = [part for part in parts if now[part] < first[part]]
    if not cut:
        return Fine("the clock of caches and memory is not limited below what it was at the start")
    one = cut[0]
    return Problem(
        f"the clock of caches and memory is limited to {now[one] / 1e6:.1f} of "
        f"{first[one] / 1e6:.1f} GHz on {len(cut)} of {len(parts)} dies",
        f"/{_FOLDER}/{one}",
        changes=tuple(Change(f"{_FOLDER}/{part}/max_freq_khz", str(first[part])) for part in cut),
    )


CHECK = Check(
    _look,
    group="memory",
    concerns="heaps",
    better="the highest clock that the processor had when the machine started",
    source="kernel: admin-guide/pm/intel_uncore_frequency_scaling; PerfSpect: uncore table",
    touches="power and heat, of which less is left for the cores' turbo",
)
