"""For each rule a machine on which all is right and one on which it is wrong; and what rules say of
others.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from doctor.made_machine import (
    JAR,
    PLAN,
    TOPOLOGY,
    Given,
    conf,
    files,
    limit,
    mount,
    nodes,
)
from hearth.base.absent import Absent
from hearth.doctor.machine import Space
from hearth.machine.topology import TaskLimit


class Case(NamedTuple):
    """harm, note: what the finding is; others are advice."""

    right: Given
    wrong: Given
    harm: bool = False
    note: bool = False

    @property
    def severity(self) -> str:
        return "harm" if self.harm else "note" if self.note else "advice"


CPU = "sys/devices/system/cpu"
POLICY = f"{CPU}/cpufreq/policy0"
THP = "sys/kernel/mm/transparent_hugepage"
CLOCK = "sys/devices/system/clocksource/clocksource0"
HUGE = "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages"
VM, KERNEL = "proc/sys/vm", "proc/sys/kernel"
MEMINFO = "proc/meminfo"
MAPS = f"{VM}/max_map_count"
HOST = f"{KERNEL}/hostname"
ROOT_MOUNT = ("/", "ext4", "rw,relatime")
SHM = ("/dev/shm", "tmpfs", "rw")
ALLOWED = TOPOLOGY.allowed
ALONE = {"allowed": replace(ALLOWED, cpu_quota=None, task_limits=[])}
GROUP = {"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cgroup.controllers": "memory"}
#: A container's own group at its root, or the machine's.
ROOT_GROUP = {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cgroup.controllers": "memory"}
MOUNTED = mount(("/sys/fs/cgroup", "cgroup2", "ro"), files=ROOT_GROUP)
UNSEEN = mount(ROOT_MOUNT, files={"proc/self/cgroup": "0::/\n"})
DIRECTORIES = {"tmp": 0o1777, "dev/shm": 0o1777}
NOEXEC = mount(ROOT_MOUNT, ("/tmp", "tmpfs", "rw,noexec"), ("/fast", "tmpfs", "rw,noexec"))
SMALL_NODE = {**nodes({"memory_bytes": 1 << 33}, {}), "allowed": ALLOWED}
EXECUTOR, DRIVER = (f"spark.{who}.extraJavaOptions" for who in ("executor", "driver"))


def space(free_bytes: int, total_bytes: int) -> dict[str, object]:
    return {"space": lambda folder: Space(free_bytes, total_bytes, 0, 0)}


def tasks(most: int) -> Given:
    limits = [TaskLimit("pids.max", most, 37)]
    return Given(topology={"allowed": replace(ALONE["allowed"], task_limits=limits)})


def virtual(cpus: int) -> Given:
    lines = "".join(f"processor\t: {cpu}\n" for cpu in range(cpus))
    return files(f"proc/cpuinfo = flags\t\t: fpu hypervisor\n{lines}", topology=nodes({}))


def status(rights: str) -> Given:
    return files(f"proc/self/status = Name:\tx\nCapEff:\t{rights}\nSeccomp:\t2\n")


def memory(**kilobytes: int) -> str:
    lines = "".join(f"{name}: {value} kB\n" for name, value in kilobytes.items())
    return f"{MEMINFO} = {lines}"


def dirty(total_gb: int) -> Given:
    background = f"{VM}/dirty_background"
    total = memory(MemTotal=total_gb << 20)
    return files(f"{background}_bytes = 0", f"{background}_ratio = 10", total)


def governor(driver: str) -> Given:
    return files(f"{POLICY}/scaling_governor = powersave", f"{POLICY}/scaling_driver = {driver}")


def clock(source: str) -> Given:
    return files(f"{CLOCK}/current_clocksource = {source}", f"{CLOCK}/available_clocksource = tsc")


def cores(*kinds: str | None, efficient: bool = False) -> Given:
    """The example's cores, of each kind in turn; efficient: whether the last kind is."""
    alike = [
        replace(one, kind=kind, efficient=efficient and kind == kinds[-1])
        for n, one in enumerate(TOPOLOGY.cores)
        for kind in [kinds[n % len(kinds)]]
    ]
    return Given(topology={"cores": alike})


def controllers(line: str, java: str = "17.0.15") -> Given:
    """What /proc/cgroups lists besides the CPUs; the memory controller is on."""
    listed = {"proc/cgroups": f"#subsys_name hierarchy num_cgroups enabled\ncpu 0 9 1\n{line}\n"}
    on = {"sys/fs/cgroup/a/cgroup.controllers": "cpu memory pids"}
    return Given({**GROUP, **on, **listed}, user={"java_version": java})


def versions(java: str, spark: str) -> Given:
    return Given(user={"java_version": java, "spark_version": spark})


def compact(java: str) -> Given:
    options = conf({EXECUTOR: "-XX:+UseCompactObjectHeaders"})
    return replace(options, user={**options.user, "java_version": java})


OLD_JAR = {"/spark/jars/hearth-spark_2.13-0.0.9.jar": "/old/hearth-spark_2.13-0.0.9.jar"}
CASES = {
    "huge-pages": Case(
        files(f"{THP}/enabled = always [madvise] never"),
        files(f"{THP}/enabled = always madvise [never]"),
    ),
    "huge-pages-defrag": Case(
        files(f"{THP}/enabled = [always] never", f"{THP}/defrag = always [madvise] never"),
        files(f"{THP}/enabled = [always] never", f"{THP}/defrag = [always] madvise never"),
    ),
    "reserved-huge-pages": Case(
        files(f"{HUGE} = 0", memory(MemTotal=1 << 20)),
        files(f"{HUGE} = 100", memory(MemTotal=1 << 20)),
    ),
    "numa-balancing": Case(
        files(f"{KERNEL}/numa_balancing = 0"), files(f"{KERNEL}/numa_balancing = 1")
    ),
    "zone-reclaim": Case(
        files(f"{VM}/zone_reclaim_mode = 0"), files(f"{VM}/zone_reclaim_mode = 1")
    ),
    "swappiness": Case(
        files(f"{VM}/swappiness = 60", memory(SwapTotal=0)),
        files(f"{VM}/swappiness = 60", memory(SwapTotal=8)),
    ),
    "overcommit": Case(
        files(f"{VM}/overcommit_memory = 0", memory(CommitLimit=9, Committed_AS=8)),
        files(f"{VM}/overcommit_memory = 2", memory(CommitLimit=9, Committed_AS=8)),
        harm=True,
    ),
    "dirty-pages": Case(dirty(24), dirty(1024)),
    "uneven-nodes": Case(Given(), Given(topology=SMALL_NODE), note=True),
    "past-kills": Case(
        files("proc/vmstat = oom_kill 0\n"),
        Given({**GROUP, "proc/vmstat": "oom_kill 3\n",
               "sys/fs/cgroup/a/memory.events": "oom_kill 1\n"}),
    ),
    "free-memory": Case(
        files(memory(MemAvailable=128 << 20)), files(memory(MemAvailable=64 << 20)), harm=True
    ),
    "governor": Case(governor("intel_pstate"), governor("acpi-cpufreq")),
    "turbo": Case(files(f"{CPU}/intel_pstate/no_turbo = 0"), files(f"{CPU}/cpufreq/boost = 0")),
    "hardware-threads": Case(files(f"{CPU}/smt/control = on"), files(f"{CPU}/smt/control = off")),
    "isolated-cpus": Case(
        files(f"{CPU}/isolated = 0"), files(f"{CPU}/isolated = 3,7"), harm=True
    ),
    "offline-cpus": Case(
        files(f"{CPU}/present = 0-7", f"{CPU}/online = 0-7"),
        files(f"{CPU}/present = 0-7", f"{CPU}/online = 0-5"),
    ),
    "cpu-quota": Case(Given(GROUP, topology=ALONE), Given()),
    "hidden-topology": Case(virtual(1), virtual(96), note=True),
    "stolen-time": Case(
        files("proc/stat = cpu 100000 0 0 900000 0 0 0 1 0 0\n"),
        files("proc/stat = cpu 100000 0 0 900000 0 0 0 50000 0 0\n"),
    ),
    "clock-source": Case(clock("tsc"), clock("hpet")),
    "core-kinds": Case(cores("cpu_core"), cores("cpu_core", "cpu_atom"), note=True),
    "open-files": Case(
        limit("Max open files", "1024", "1048576"),
        limit("Max open files", "1024", "2048"),
        harm=True,
    ),
    "processes": Case(limit("Max processes", "unlimited"), limit("Max processes", "2048")),
    "group-tasks": Case(tasks(9000), tasks(256), harm=True),
    "memory-maps": Case(files(f"{MAPS} = 262144"), files(f"{MAPS} = 65530")),
    "address-space": Case(
        limit("Max address space", "unlimited"), limit("Max address space", "1000"), harm=True
    ),
    "temporary-noexec": Case(mount(ROOT_MOUNT), NOEXEC, harm=True),
    "directory-modes": Case(
        Given(modes=DIRECTORIES), Given(modes={"tmp": 0o777}), harm=True
    ),
    "local-dirs-kind": Case(mount(ROOT_MOUNT), mount(("/", "overlay", "rw"))),
    "local-dirs-space": Case(
        mount(ROOT_MOUNT), mount(ROOT_MOUNT, user=space(1 << 20, 200 << 30)), harm=True
    ),
    "shared-memory": Case(
        mount(ROOT_MOUNT, SHM), mount(ROOT_MOUNT, SHM, user=space(1, 64 << 20))
    ),
    "memory-nodes-allowed": Case(
        Given(), Given(topology={"allowed": replace(ALLOWED, nodes="0")})
    ),
    "refused-binding": Case(status("000001ffffffffff"), status("00000000a80425fb")),
    "hidden-limits": Case(MOUNTED, UNSEEN),
    "unseen-by-java": Case(controllers("memory 0 9 1"), controllers("pids 0 9 1")),
    "host-name": Case(files(f"{HOST} = big-box"), files(f"{HOST} = big_box"), harm=True),
    "host-resolves": Case(
        files(f"{HOST} = big-box"),
        files(f"{HOST} = big-box", user={"resolve": lambda name: []}),
        harm=True,
    ),
    "compact-headers": Case(compact("27"), compact("25.0.1"), harm=True),
    "java-option-variables": Case(
        conf(_JAVA_OPTIONS="-Dfile.encoding=UTF-8"), conf(_JAVA_OPTIONS="-Xmx2g")
    ),
    "java-options-against-plan": Case(
        conf({EXECUTOR: "-XX:ParallelGCThreads=4"}), conf({EXECUTOR: "-XX:ParallelGCThreads=64"})
    ),
    "compressed-pointers": Case(
        conf({"spark.executor.memory": "31g"}), conf({"spark.executor.memory": "36g"})
    ),
    "fixed-heap": Case(
        conf({"spark.executor.memory": "20g"}), conf({"spark.executor.memory": "1g"})
    ),
    "shuffle-partitions": Case(
        conf({"spark.sql.shuffle.partitions": "200"}), conf({"spark.sql.shuffle.partitions": "8"})
    ),
    "adaptive-execution": Case(
        conf({"spark.sql.adaptive.enabled": "true"}), conf({"spark.sql.adaptive.enabled": "false"})
    ),
    "spark-version": Case(Given(), Given(user={"spark_version": "3.5.1"}), harm=True),
    "java-version": Case(versions("25.0.1", "4.3.0"), versions("25.0.1", "4.1.2"), harm=True),
    "installed-link": Case(
        Given(user={"installed": {"/spark/jars/hearth-spark_2.13-0.1.0.jar": JAR}}),
        Given(user={"installed": OLD_JAR}),
        harm=True,
    ),
    "state-on-network": Case(mount(ROOT_MOUNT), mount(ROOT_MOUNT, ("/home", "nfs4", "rw"))),
    "state-space": Case(Given(), Given(user=space(1 << 20, 200 << 30)), harm=True),
    "archive-failures": Case(
        Given(), Given(user={"archive_failures": [("driver", "no space left on the device")]})
    ),
}  # fmt: skip


def temporary(folder: str) -> str:
    return f"-Dx=1 -Djava.io.tmpdir={folder}"


def noexec(settings: dict[str, str], mode: str = PLAN.mode, **environment: str) -> Given:
    """Where /tmp and /fast are mounted noexec."""
    return replace(NOEXEC, user=conf(settings, **environment).user, plan={"mode": mode})


def in_memory(
    kind: str, user: Mapping[str, object] = MappingProxyType({}), **topology: object
) -> Given:
    return mount(ROOT_MOUNT, ("/tmp", kind, "rw"), user=user, topology=topology)


def cppc(*shares: tuple[int, int]) -> Given:
    """Turbo off, and of each CPU the highest and the nominal performance."""
    perf = {
        f"{CPU}/cpu{cpu}/acpi_cppc/{name}_perf": str(value)
        for cpu, both in enumerate(shares)
        for name, value in zip(("highest", "nominal"), both, strict=True)
    }
    return Given({f"{CPU}/cpufreq/boost": "0", **perf})


def clocks(*khz: str) -> Given:
    """The highest clock of the CPUs that may be used; the kernel names no kinds."""
    usable = sorted(TOPOLOGY.usable_cpus)
    of_each = {
        f"{CPU}/cpu{cpu}/cpufreq/cpuinfo_max_freq": one
        for cpu, one in zip(usable, khz, strict=True)
    }
    return Given(of_each, topology=cores(None).topology)


SPACE = "local-dirs-space"
FOREIGN = {path: text.replace(" / ", " /.. ") for path, text in MOUNTED.files.items()}  # type: ignore[arg-type]
COVERED = mount(("/sys/fs/cgroup", "cgroup2", "ro"), files={"proc/self/cgroup": "0::/\n"})
KILLED = {**ROOT_GROUP, "proc/vmstat": "oom_kill 3\n"}
EVENTS = "sys/fs/cgroup/memory.events"
TAKEN = PLAN.memory_mb << 20
OF_2_GB = nodes({"memory_bytes": TAKEN + (2 << 30)}, memory_limit_bytes=None, nodes="0")
UNREADABLE = Given(user={"conf": Absent("spark-defaults.conf: cannot read it")})
NUL = replace(NOEXEC, modes=DIRECTORIES)
#: `fine`, `advice`, `harm` or `unseen`, what is seen, and parts of the command and of where it was
#: read.
ALSO = [
    ("java-version", versions("21.0.9", "4.0.1"), "fine: "),
    ("java-version", versions("22.0.2", "4.3.0"), "advice: Java 22.0.2 under Spark 4.3.0"),
    ("java-version", versions("11.0.2", "4.3.0"), "harm: "),
    ("java-version", versions("unknown", "4.3.0"), "unseen: "),
    ("compact-headers", compact("unknown"), "unseen: "),
    ("unseen-by-java", controllers("pids 0 9 1", "25.0.1"), "fine: Java 25.0.1"),
    ("unseen-by-java", controllers("memory 0 9 0"), "advice: ... Java 17.0.15 may see no"),
    ("hidden-limits", Given({**MOUNTED.files, "proc/self/cgroup": "0::/../../b\n"}),
     "advice: this process's control group (0::/../../b) is above"),
    ("compressed-pointers", UNREADABLE, "unseen: spark-defaults.conf: cannot read it"),
    ("adaptive-execution", UNREADABLE, "unseen: spark-defaults.conf: cannot read it"),
    # Groups that another namespace mounted, or over which something else is mounted, are not seen.
    ("hidden-limits", Given(FOREIGN), "advice: "),
    ("hidden-limits", COVERED, "advice: "),
    ("past-kills", Given(FOREIGN), "unseen: "),
    ("cpu-quota", Given(topology=ALONE), "unseen: "),
    ("cpu-quota", replace(UNSEEN, topology=ALONE), "unseen: "),
    ("cpu-quota", Given(GROUP, topology=ALONE), "fine: "),
    ("group-tasks", Given(topology=ALONE), "unseen: "),
    ("group-tasks", replace(UNSEEN, topology=ALONE), "unseen: "),
    ("group-tasks", Given(GROUP, topology=ALONE), "fine: "),
    # A container has its own group at the root, which counts; the machine's root does not.
    ("past-kills", Given(KILLED), "advice: processes killed for memory on this machine"),
    ("past-kills", Given({**KILLED, EVENTS: "oom_kill 0\n"}), "fine: "),
    ("past-kills", Given({**KILLED, EVENTS: "oom_kill 1\n"}), "advice: ... in this control group"),
    # Files in memory count as the container's memory, and as the machine's.
    (SPACE, in_memory("tmpfs", allowed=replace(ALLOWED, memory_limit_bytes=1 << 30)),
     "harm: /tmp: 0 B of 1 GB free in memory, beside the application"),
    (SPACE, in_memory("ext4", allowed=replace(ALLOWED, memory_limit_bytes=1 << 30)), "fine: "),
    (SPACE, in_memory("tmpfs", space(99, 100)), "advice: "),
    (SPACE, in_memory("tmpfs", space(TAKEN >> 1, TAKEN >> 1), **OF_2_GB), "advice: /tmp: 2 GB of"),
    (SPACE, in_memory("ext4", space(TAKEN >> 1, TAKEN >> 1), **OF_2_GB), "fine: "),
    ("turbo", cppc((108, 108), (153, 150)), "advice: turbo: off; with it CPU 1 could clock higher"),
    ("turbo", cppc((108, 108), (150, 150)), "fine: turbo: off, and no CPU's performance goes"),
    ("turbo", cppc((108, 0)), "advice: turbo: off"),
    ("core-kinds", cores("capacity_1023", "capacity_1024"), "fine: the kernel's capacities of the"),
    ("core-kinds", cores("capacity_1024", "capacity_1023", efficient=True),
     "note: ... capacity_1023, slower: CPUs ... cpu_capacity"),
    ("core-kinds", clocks(*["5200000"] * 3, *["3900000"] * 3),
     "note: CPUs 5-7 reach 3.9 GHz at most, others up to 5.2 GHz"),
    ("uneven-nodes", Given({"proc/cpuinfo": "flags\t\t: fpu hypervisor\n"}, topology=SMALL_NODE),
     "note: ... give its nodes the same memory"),
    ("uneven-nodes", Given({"proc/cpuinfo": "flags\t\t: fpu\n"}, topology=SMALL_NODE),
     "note: ... move modules"),
    # Libraries are unpacked where Java keeps temporary files, not where Python does.
    ("temporary-noexec", replace(NOEXEC, user={"temporary": "/scratch"}), "harm: /tmp of the"),
    ("temporary-noexec", noexec({}, JAVA_TOOL_OPTIONS="-Djava.io.tmpdir=/scratch"), "fine: "),
    ("temporary-noexec", noexec({DRIVER: temporary("/data")}), "fine: "),
    ("temporary-noexec", noexec({DRIVER: temporary("/data"), EXECUTOR: temporary("/fast")}),
     "harm: /fast of executors is mounted noexec | --conf spark.executor.extra"),
    ("temporary-noexec", noexec({EXECUTOR: temporary("/data")}),
     "harm: /tmp of the driver is mounted noexec | --conf spark.driver.extra"),
    ("temporary-noexec", noexec({EXECUTOR: temporary("/fast")}),
     "harm: /tmp of the driver is mounted noexec; /fast of executors is mounted noexec"),
    ("temporary-noexec", noexec({DRIVER: temporary("/fast"), EXECUTOR: temporary("/fast")}),
     "harm: /fast of driver and executors is mounted noexec"),
    ("temporary-noexec",
     noexec({"spark.executor.defaultJavaOptions": temporary("/fast"),
             EXECUTOR: temporary("/data"), DRIVER: temporary("/data")}), "fine: "),
    # A worker of Spark's own starts executors without an option of hearth's.
    ("temporary-noexec", noexec({DRIVER: temporary("/data"), "spark.master": "spark://a:7077"}),
     "harm: /tmp of executors is mounted noexec"),
    # hearth's option for executors comes behind this variable, and before the other.
    ("temporary-noexec", noexec({}, JAVA_TOOL_OPTIONS=temporary("/data")), "fine: "),
    ("temporary-noexec", noexec({DRIVER: temporary("/data")}, _JAVA_OPTIONS=temporary("/fast")),
     "harm: /fast of driver and executors is mounted noexec"),
    ("temporary-noexec", noexec({DRIVER: temporary("/data")}, SPARK_SUBMIT_OPTS=temporary("/fast")),
     "fine: "),
    # Executors that are not started have no options.
    ("temporary-noexec",
     noexec({DRIVER: temporary("/data"), EXECUTOR: temporary("/fast")}, "native"),
     "fine: "),
    ("directory-modes", replace(conf({EXECUTOR: temporary("/gone")}), modes=DIRECTORIES),
     "harm: /gone (java.io.tmpdir of executors) does not exist ... | mkdir /gone"),
    ("directory-modes",
     replace(conf({EXECUTOR: temporary("/data")}), modes={**DIRECTORIES, "data": 0o700}),
     "fine: ... /data (java.io.tmpdir of executors): mode 0700"),
    *((rule, replace(NUL, user={"conf": {key: temporary("/a\0b")}}),
       "unseen: -Djava.io.tmpdir names no file")
      for rule in ("directory-modes", "temporary-noexec") for key in (DRIVER, EXECUTOR)),
]  # fmt: skip
