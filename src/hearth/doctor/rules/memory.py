"""Memory: huge pages, nodes, swapping, and what is left for heaps."""

from statistics import median

from hearth.base.absent import Absent
from hearth.base.sizes import show_bytes, show_mb
from hearth.doctor import cgroups
from hearth.doctor.java import java_options
from hearth.doctor.machine import Machine
from hearth.doctor.rule import UNKNOWN, Fine, Outcome, Problem, Rule, Worth, published
from hearth.machine.plan import Plan
from hearth.machine.switch import Change
from hearth.machine.tree import NotSeen

_VM = "proc/sys/vm"
_MEMINFO = "proc/meminfo"
_HUGE = "sys/kernel/mm/transparent_hugepage"
_RESERVED = "sys/kernel/mm/hugepages"
_BALANCING = "proc/sys/kernel/numa_balancing"
_NODES = "/sys/devices/system/node"

#: Ours: the page tables of a smaller heap take 32 MB or less.
_HUGE_FROM_MB = 16 << 10
#: Ours: less than this share of the memory is not worth a line.
_IDLE_SHARE = 0.02
#: The bit of NUMA balancing that moves pages to threads; the other moves them up from slow memory.
_MOVES = 1
_ON_AMD = published(
    "some loads were up to 20 % slower without it on AMD's processors; it does not say which "
    "(tuned, pull request 283)",
    20,
)
#: What tuned's profile throughput-performance sets.
_MOST_SWAPPINESS = 10
#: Ours: what one disk of 500 MB/s writes in half a minute.
MOST_DIRTY_BYTES = 16 << 30
#: Ours: a node's own kernel structures and firmware take some percent.
_UNEVEN = 0.20


def _huge_pages(machine: Machine) -> Outcome:
    chosen = machine.tree.choice(f"{_HUGE}/enabled", ("always", "madvise", "never"))
    if chosen != "never":
        return Fine(f"transparent huge pages: {chosen}")
    heap_mb = max(each.heap_mb for each in machine.require_plan().executors)
    if heap_mb < _HUGE_FROM_MB:
        return Fine(f"transparent huge pages: never, with heaps of at most {show_mb(heap_mb)}")
    return Problem(
        f"transparent huge pages: never, with heaps of {show_mb(heap_mb)}",
        changes=(Change(f"{_HUGE}/enabled", "madvise"),),
    )


def _huge_pages_defrag(machine: Machine) -> Outcome:
    choices = ("always", "defer", "defer+madvise", "madvise", "never")
    chosen = machine.tree.choice(f"{_HUGE}/defrag", choices)
    enabled = machine.tree.choice(f"{_HUGE}/enabled", ("always", "madvise", "never"))
    seen = f"defragmentation for huge pages: {chosen}"
    if chosen != "always" or enabled == "never":
        return Fine(seen)
    return Problem(seen, changes=(Change(f"{_HUGE}/defrag", "defer+madvise"),))


def _reserved_huge_pages(machine: Machine) -> Outcome:
    tree, idle, reserved = machine.tree, 0, []
    for name in tree.names(_RESERVED, r"hugepages-\d{1,9}kB"):
        size = int(name.removeprefix("hugepages-").removesuffix("kB")) << 10
        free = tree.number(f"{_RESERVED}/{name}/free_hugepages", 1 << 40)
        idle += free * size
        if free:
            reserved.append(f"{_RESERVED}/{name}/nr_hugepages")
    total = tree.field(_MEMINFO, "MemTotal") << 10
    if idle > total:
        raise NotSeen(f"could not read /{_RESERVED}: it holds more than the machine's memory")
    if idle <= _IDLE_SHARE * total:
        return Fine(f"unused explicit huge pages: {show_bytes(idle)}")
    if not isinstance(machine.user, Absent) and "+UseLargePages" in java_options(machine):
        return Fine(f"explicit huge pages: {show_bytes(idle)}, and Java's options ask for them")
    return Problem(
        f"explicit huge pages: {show_bytes(idle)} of {show_bytes(total)} reserved and unused",
        changes=tuple(Change(path, "0") for path in reserved),
    )


def _numa_balancing(machine: Machine) -> Outcome:
    value, plan = machine.tree.number(_BALANCING, 3), machine.require_plan()
    seen = f"kernel.numa_balancing = {value}"
    if len(machine.require_topology().usable_nodes) < 2:
        return Fine(f"{seen}, on one usable node")
    if value & _MOVES and not plan.is_native:
        return Problem(
            f"{seen}, and the plan binds executors to nodes",
            changes=(Change(_BALANCING, str(value & ~_MOVES)),),
            worth=UNKNOWN,
        )
    if not value and plan.is_native:
        return Problem(
            f"{seen}, and the plan binds nothing",
            changes=(Change(_BALANCING, "1"),),
            better="1: nothing else moves memory to threads",
            worth=_worth_of_balancing(machine),
        )
    return Fine(seen)


def _worth_of_balancing(machine: Machine) -> Worth:
    """Return what turning it on is worth: a figure is known of one maker's processors."""
    try:
        is_amd = "AuthenticAMD" in "".join(machine.tree.table("proc/cpuinfo")[:2])
    except NotSeen:
        is_amd = False
    return _ON_AMD if is_amd else UNKNOWN


def _zone_reclaim(machine: Machine) -> Outcome:
    value = machine.tree.number(f"{_VM}/zone_reclaim_mode", 7)
    seen = f"vm.zone_reclaim_mode = {value}"
    if not value:
        return Fine(seen)
    return Problem(seen, changes=(Change(f"{_VM}/zone_reclaim_mode", "0"),))


def _swappiness(machine: Machine) -> Outcome:
    value = machine.tree.number(f"{_VM}/swappiness", 200)
    seen = f"vm.swappiness = {value}"
    if not machine.tree.field(_MEMINFO, "SwapTotal"):
        return Fine(f"{seen}, without swap")
    if value <= _MOST_SWAPPINESS:
        return Fine(seen)
    return Problem(f"{seen}, with swap", changes=(Change(f"{_VM}/swappiness", "1"),))


def _overcommit(machine: Machine) -> Outcome:
    mode = machine.tree.number(f"{_VM}/overcommit_memory", 2)
    if mode != 2:
        return Fine(f"vm.overcommit_memory = {mode}")
    memory = machine.tree.fields(_MEMINFO)
    if "CommitLimit" not in memory or "Committed_AS" not in memory:
        raise NotSeen(f"could not read /{_MEMINFO}: it has no commit limit")
    left = max(0, memory["CommitLimit"] - memory["Committed_AS"]) << 10
    heaps_mb = _heaps_mb(machine.require_plan())
    seen = f"vm.overcommit_memory = 2 leaves {show_bytes(left)}, "
    seen += f"the plan's heaps take {show_mb(heaps_mb)}"
    if heaps_mb << 20 <= left:
        return Fine(seen)
    return Problem(seen, "harm", (Change(f"{_VM}/overcommit_memory", "0"),))


def _heaps_mb(plan: Plan) -> int:
    return sum(one.heap_mb + one.off_heap_mb for one in plan.executors)


def _dirty_pages(machine: Machine) -> Outcome:
    by_share, by_bytes = f"{_VM}/dirty_background_ratio", f"{_VM}/dirty_background_bytes"
    total = machine.tree.field(_MEMINFO, "MemTotal") << 10
    fixed, share = machine.tree.number(by_bytes), machine.tree.number(by_share, 100)
    size = fixed or total * share // 100
    seen = f"the kernel starts writing at {show_bytes(size)} of unwritten data"
    if size <= MOST_DIRTY_BYTES:
        return Fine(seen)
    change = Change(by_bytes, str(1 << 30), counterpart=by_share)
    return Problem(seen, changes=(change,), reads=f"/{by_bytes if fixed else by_share}")


def _uneven_nodes(machine: Machine) -> Outcome:
    nodes = [one for one in machine.require_topology().nodes if one.cpus and one.memory_bytes]
    if len(nodes) < 2:
        return Fine("one node with CPUs and memory")
    middle = median(one.memory_bytes for one in nodes)
    uneven = [one for one in nodes if abs(one.memory_bytes - middle) > _UNEVEN * middle]
    if not uneven:
        return Fine(f"{len(nodes)} nodes of about {show_bytes(int(middle))}")
    listed = ", ".join(f"node {one.id} has {show_bytes(one.memory_bytes)}" for one in uneven[:4])
    return Problem(
        f"{listed}; the median of nodes with CPUs is {show_bytes(int(middle))}",
        "note",
        how=_modules_or_settings(
            machine,
            "move modules so that every node has the same",
            "give its nodes the same memory (libvirt: <numa>)",
        ),
    )


def _modules_or_settings(machine: Machine, hardware: str, settings: str) -> str:
    """Return what to do about memory: to a virtual machine's settings, else to the hardware."""
    try:
        return settings if machine.is_virtual() else hardware
    except NotSeen:
        return f"{hardware}; in a virtual machine: {settings}"


def _past_kills(machine: Machine) -> Outcome:
    tree = machine.tree
    on_machine = tree.field("proc/vmstat", "oom_kill")
    try:
        folder = cgroups.own_group(tree)
        in_group = tree.field(f"{folder}/memory.events", "oom_kill")
    except NotSeen:  # version 1, or the root group, which counts none
        folder, in_group = "", 0
    killed = "processes killed for memory"
    if in_group:
        seen = f"{killed} in this control group: {in_group}"
        return Problem(seen, reads=f"/{folder}/memory.events")
    if folder == cgroups.MOUNT:  # a container's: what the machine counts are others' processes
        return Fine("no process of this container killed for memory")
    if on_machine:
        return Problem(f"{killed} on this machine since it started: {on_machine}")
    return Fine("no process killed for memory since the machine started")


def _free_memory(machine: Machine) -> Outcome:
    free = machine.tree.field(_MEMINFO, "MemAvailable") << 10
    plan = machine.require_plan()
    seen = f"available memory: {show_bytes(free)}, the plan takes up to {show_mb(plan.memory_mb)}"
    if plan.memory_mb << 20 <= free:
        return Fine(seen)
    return Problem(seen, "harm" if _heaps_mb(plan) << 20 > free else "advice")


MEMORY = {
    "huge-pages": Rule(
        _huge_pages,
        why="Heaps of many gigabytes miss in the TLB less with huge pages; `never` keeps the JVM "
        "from asking.",
        reads=f"/{_HUGE}/enabled",
        better="madvise: programs that ask for huge pages get them, such as a JVM with "
        "-XX:+UseTransparentHugePages",
        source="kernel: admin-guide/mm/transhuge; Oracle: java command, "
        "-XX:+UseTransparentHugePages",
        touches="every program that asks for huge pages by madvise(2); no other",
    ),
    "huge-pages-defrag": Rule(
        _huge_pages_defrag,
        why="With `always`, a thread that touches new memory waits while the kernel moves pages "
        "to make room.",
        reads=f"/{_HUGE}/defrag",
        better="defer+madvise: only programs that ask wait, for others a kernel thread makes room",
        source="kernel: admin-guide/mm/transhuge",
        touches="how soon programs that do not ask get huge pages",
    ),
    "reserved-huge-pages": Rule(
        _reserved_huge_pages,
        why="Memory reserved for explicit huge pages serves no heap and no cache of files.",
        reads=f"/{_RESERVED}",
        better="none, unless a program on this machine (a database, a virtual machine) is about "
        "to use them",
        source="kernel: admin-guide/mm/hugetlbpage; the limit of 2 % is hearth's",
        touches="programs that map explicit huge pages fail if there are none",
    ),
    "numa-balancing": Rule(
        _numa_balancing,
        why="The kernel unmaps pages to see which node uses them, and moves them there: of no use "
        "to executors bound to a node, and all that moves memory where nothing is bound.",
        reads=f"/{_BALANCING}",
        better="0 if executors are bound, 1 if they are not; 'hearth compare' has an arm for each",
        source="kernel: admin-guide/sysctl/kernel, numa_balancing; tuned: pull request 283",
        worth=_ON_AMD,
        touches="every other program on the machine that is not bound",
    ),
    "zone-reclaim": Rule(
        _zone_reclaim,
        why="A node then drops its cache of files before it takes memory of another node.",
        reads=f"/{_VM}/zone_reclaim_mode",
        better="0: Spark's input and shuffle files profit from the cache",
        source="kernel: admin-guide/sysctl/vm, zone_reclaim_mode",
        touches="where programs that are not bound get memory once their node is full",
    ),
    "swappiness": Rule(
        _swappiness,
        why="A collection visits the whole heap: what of it was swapped out is read back page by "
        "page.",
        reads=f"/{_VM}/swappiness",
        better="1: the kernel drops cached files first, and swaps only to avoid killing",
        source="kernel: admin-guide/sysctl/vm, swappiness; Redpanda: tuner swappiness",
        touches="idle programs stay in memory, so less is left for the cache of files",
    ),
    "overcommit": Rule(
        _overcommit,
        why="With strict accounting a JVM cannot reserve a heap beyond the commit limit, even if "
        "memory is free.",
        reads=f"/{_VM}/overcommit_memory, /{_MEMINFO}",
        better="0, or a vm.overcommit_ratio that leaves room for the heaps",
        source="kernel: mm/overcommit-accounting; ClickHouse: usage recommendations",
        touches="programs that rely on being refused memory rather than being killed",
    ),
    "dirty-pages": Rule(
        _dirty_pages,
        why="On a large memory a share of it is many seconds of the disk: writers of shuffle "
        "files then stall.",
        reads=f"/{_VM}/dirty_background_*",
        better="vm.dirty_background_bytes of 1 GB, so that disks begin early",
        source="kernel: admin-guide/sysctl/vm, dirty_background_bytes; the limit of 16 GB is "
        "hearth's",
        touches="every program that writes; files that live for seconds reach the disk",
    ),
    "uneven-nodes": Rule(
        _uneven_nodes,
        why="Executors bound to a node with less memory get a smaller heap, or all get what the "
        "smallest allows.",
        reads=_NODES,
        better="the same memory on every node",
        source="hearth: a plan gives executors equal heaps; the limit of 20 % is hearth's",
        touches="the machine has to be opened, or the virtual machine started again",
        reboot=True,
    ),
    "past-kills": Rule(
        _past_kills,
        why="The kernel has ended a process here because memory was short: exit code 137 in "
        "Spark's log.",
        reads="/proc/vmstat",
        better="none: heap, off-heap memory and overhead fit the machine and the control group",
        source="kernel: admin-guide/cgroup-v2, memory.events",
        how="dmesg | grep -i 'killed process' says which; give executors less memory",
    ),
    "free-memory": Rule(
        _free_memory,
        why="What others hold is not there for the plan: its executors would swap, or be killed.",
        reads=f"/{_MEMINFO}",
        better="as much available memory as the plan takes",
        source="kernel: filesystems/proc, MemAvailable",
        touches="the programs that are ended",
        how="end what holds it (ps axo rss,pid,args --sort=-rss | head), or --memory with less",
    ),
}
