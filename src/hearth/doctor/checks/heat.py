"""A processor that gets too hot clocks down until it is cool: all its tasks are then late."""

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.frequency import CPUS
from hearth.doctor.tree import NotSeen

#: Ours, of the time since the machine started, most of which it may have been idle.
_MOST = 0.001
_KINDS = ("core", "package")


def _look(machine: Machine) -> Outcome:
    tree = machine.tree
    if tree.has("proc/self/mountinfo") and tree.mount_of("/proc/uptime").point == "/proc/uptime":
        raise NotSeen("/proc/uptime is the container's, and the counters are the machine's")
    up = tree.text("proc/uptime").split()
    if not up or not up[0].replace(".", "", 1).isdecimal() or float(up[0]) <= 0:
        raise NotSeen("could not read /proc/uptime: it holds no time")
    files = [
        f"{CPUS}/{cpu}/thermal_throttle/{kind}_throttle_total_time_ms"
        for cpu in tree.names(CPUS, r"cpu\d{1,6}")
        for kind in _KINDS
    ]
    times = {file: tree.number(file) for file in files if tree.has(file)}
    if not times:
        raise NotSeen(f"there is no /{CPUS}/cpu*/thermal_throttle: other makers count none")
    worst = max(times, key=lambda file: times[file])
    share = times[worst] / 1000 / float(up[0])
    what = f"slowed down by heat: {min(share, 1):.2%} of the time since the machine started"
    if share <= _MOST:
        return Fine(what)
    return Problem(
        what,
        f"/{worst}",
        command="look at fans, filters and air flow; turbostat shows clocks and temperatures "
        "while an application runs",
    )


CHECK = Check(
    _look,
    group="cpu",
    concerns="cpus",
    better="none: cooling that is enough for all cores at their highest clock",
    source="kernel: ABI/testing/sysfs-devices-system-cpu, thermal_throttle; ClickHouse: usage "
    "recommendations; the limit of 0.1 % is hearth's",
    touches="nothing",
)
