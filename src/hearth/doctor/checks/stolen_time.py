"""Time in which a virtual CPU wanted to run and its host ran something else."""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.tree import NotSeen

_FILE = "proc/stat"
#: Ours, of the time that CPUs were not idle.
_MOST = 0.05
#: Ours, in hundredths of a second: a minute of work.
_LEAST = 6000


def _look(machine: Machine) -> Outcome:
    words = machine.tree.table(_FILE)[0].split()
    if (
        words[:1] != ["cpu"]
        or len(words) < 9
        or not all(w.isascii() and w.isdigit() for w in words[1:])
    ):
        raise NotSeen(f"could not read /{_FILE}: its first line is not that of all CPUs")
    user, nice, system, _idle, _wait, hard, soft, steal = map(int, words[1:9])
    busy = user + nice + system + hard + soft + steal
    if busy < _LEAST:
        raise NotSeen("this machine has been busy for less than a minute since it started")
    share = steal / busy
    what = f"stolen by the host: {share:.1%} of the busy time since the machine started"
    if share <= _MOST:
        return Fine(what)
    return Problem(
        what, f"/{_FILE}", command="move the virtual machine, or give it CPUs of its own"
    )


CHECK = Check(
    _look,
    group="cpu",
    concerns="cpus",
    better="none: as many virtual CPUs as the host has to give",
    source="kernel: filesystems/proc, stat; the limit of 5 % is hearth's",
    touches="other virtual machines of that host",
)
