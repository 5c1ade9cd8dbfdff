"""A scheduler that sorts requests costs a fast disk time, and spares a spinning one much of it."""

from hearth.doctor.check import Change, Check, Fine, Machine, Outcome, Problem
from hearth.doctor.disks import is_virtual, queue_of

_ALL = ("none", "mq-deadline", "bfq", "kyber", "noop", "deadline", "cfq")


def _look(machine: Machine) -> Outcome:
    for folder in machine.the_own().local_dirs:
        queue = queue_of(machine.tree, folder)
        if queue is None:
            continue
        now = machine.tree.choice(f"{queue}/scheduler", _ALL)
        spins = machine.tree.number(f"{queue}/rotational", 1)
        virtual = is_virtual(machine.tree, queue)
        better = "mq-deadline" if spins and not virtual and now in ("none", "noop") else ""
        better = "none" if not spins and now in ("bfq", "cfq") else better
        if better:
            kind = "spins" if spins else "does not spin"
            return Problem(
                f"scheduler of the disk of {folder}: {now}, and it {kind}",
                f"/{queue}/scheduler",
                changes=(Change(f"{queue}/scheduler", better),),
            )
    return Fine("schedulers suit the disks")


CHECK = Check(
    _look,
    group="files",
    concerns="files",
    better="none or mq-deadline for flash, mq-deadline or bfq for spinning disks",
    source="kernel: block/switching-sched; Redpanda: tuner disk_scheduler",
    touches="everything else on that disk",
)
