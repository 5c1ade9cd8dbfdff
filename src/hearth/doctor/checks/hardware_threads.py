"""With SMT off, a core waits for memory instead of running the other thread meanwhile."""

from hearth.doctor.check import Change, Check, Fine, Machine, Outcome, Problem, published

_FILE = "sys/devices/system/cpu/smt/control"
_ALL = ("on", "off", "forceoff", "notsupported", "notimplemented")


def _look(machine: Machine) -> Outcome:
    state = machine.tree.choice(_FILE, _ALL)
    if state not in ("off", "forceoff"):
        return Fine(f"SMT: {state}")
    if state == "forceoff":
        return Problem(
            "SMT: forceoff", f"/{_FILE}", command="remove nosmt=force from the boot options"
        )
    return Problem("SMT: off", f"/{_FILE}", changes=(Change(_FILE, "on"),))


CHECK = Check(
    _look,
    group="cpu",
    concerns="cpus",
    better="on, unless it is off because threads of strangers share cores (see mitigations of "
    "L1TF and MDS)",
    source="Awan 2016; kernel: admin-guide/hw-vuln",
    worth=published(
        "a second thread made two cores 39.5 % faster, and less beyond four cores (Awan 2016)", 39.5
    ),
    touches="safety between programs that do not trust each other",
)
