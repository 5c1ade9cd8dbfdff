"""A second hint to Intel's processors, beside the energy preference: towards power they clock up
late.
"""

from hearth.doctor.check import Change, Check, Fine, Machine, Outcome, Problem

_FILE = "sys/devices/system/cpu/cpu{}/power/energy_perf_bias"
#: From 0, performance, to 15, power; 6 is normal, and what is above saves power.
_NORMAL, _LAST = 6, 15


def _look(machine: Machine) -> Outcome:
    cpus = sorted(machine.the_topology().usable_cpus)
    found = {cpu: machine.tree.number(_FILE.format(cpu), _LAST) for cpu in cpus}
    most = max(found.values(), default=0)
    if most <= _NORMAL:
        return Fine(f"energy bias: at most {most} of {_LAST}")
    first = next(cpu for cpu, value in found.items() if value == most)
    return Problem(
        f"energy bias: {most} of {_LAST}, towards saving power",
        f"/{_FILE.format(first)}",
        changes=tuple(Change(_FILE.format(c), "0") for c, v in found.items() if v > _NORMAL),
    )


CHECK = Check(
    _look,
    group="cpu",
    concerns="cpus",
    better="0, performance, or 6, normal",
    source="kernel: admin-guide/pm/intel_epb; tuned: profile throughput-performance; PerfSpect",
    touches="power and heat, also when idle",
)
