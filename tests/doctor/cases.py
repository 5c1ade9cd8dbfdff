"""For each check a machine on which all is right, and one on which it is wrong."""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from doctor.made_machine import AMPLE, JAR, PLAN, TOPOLOGY, Given
from hearth.doctor.machine import Space
from hearth.machine.topology import TaskLimit


class Case(NamedTuple):
    """harm: whether the finding does harm; others are advice."""

    right: Given
    wrong: Given
    harm: bool = False


CPU = "sys/devices/system/cpu"
THP = "sys/kernel/mm/transparent_hugepage"
CLOCK = "sys/devices/system/clocksource/clocksource0"
HUGE = "sys/kernel/mm/hugepages/hugepages-2048kB"
POLICY = f"{CPU}/cpufreq/policy0"
LIMITS = "proc/self/limits"
MOUNTS = "proc/self/mountinfo"
HOST = "proc/sys/kernel/hostname"
ALONE = replace(TOPOLOGY.allowed, cpu_quota=None, task_limits=[])
ONE_NODE = {"nodes": TOPOLOGY.nodes[:1], "allowed": replace(TOPOLOGY.allowed, nodes="0")}
LITTLE = Space(1 << 20, 200 << 30, 0, 0)


def files(*pairs: str | bytes) -> Given:
    """Paths and contents, in turn."""
    return Given(dict(zip(pairs[::2], pairs[1::2], strict=True)))  # type: ignore[arg-type]


def memory(**kilobytes: int) -> str:
    return "".join(f"{name}: {value} kB\n" for name, value in kilobytes.items())


def limit(name: str, soft: str, hard: str | None = None) -> Given:
    return files(
        LIMITS, f"Limit  Soft Limit  Hard Limit  Units\n{name}  {soft}  {hard or soft}  units\n"
    )


def mount(*rows: tuple[str, str, str], **more: object) -> Given:
    """Mount points, kinds and options on the disk 8:1, or without a disk for tmpfs."""
    lines = [
        f"2{n} 1 {'0:3' if kind == 'tmpfs' else '8:1'} / {point} {options} - {kind} source rw\n"
        for n, (point, kind, options) in enumerate(rows)
    ]
    return Given({MOUNTS: "".join(lines)}, **more)  # type: ignore[arg-type]


ROOT_MOUNT = ("/", "ext4", "rw,relatime")


def settings(**values: str) -> Given:
    """Keys of spark-defaults.conf, with `__` for a dot."""
    return Given(own={"conf": {key.replace("__", "."): value for key, value in values.items()}})


def java(text: str) -> Given:
    return Given({"jdk/release": text}, own={"java_home": Path("jdk")})


def nic_on_node_0(cpus: str, rps: str = "0", xps: str = "0") -> Given:
    """A network device with an interrupt that some CPUs serve."""
    place = "sys/class/net/eth0"
    return files(
        f"{place}/device/numa_node", "0", f"{place}/operstate", "up",
        f"{place}/device/msi_irqs/44", "msix", "proc/irq/44/smp_affinity_list", "0-7",
        "proc/irq/44/effective_affinity_list", cpus,
        f"{place}/queues/rx-0/rps_cpus", rps, f"{place}/queues/tx-0/xps_cpus", xps,
    )  # fmt: skip


def status(seccomp: str, rights: str) -> str:
    return f"Name:\tx\nCapEff:\t{rights}\nSeccomp:\t{seccomp}\n"


def registers(value: int) -> bytes:
    return bytes(0x1A4) + value.to_bytes(8, "little")


GROUP = {"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cgroup.controllers": "memory"}
INTEL = "processor\t: 0\nvendor_id\t: GenuineIntel\n"
ONE_SLOT = [replace(PLAN.executors[0], task_slots=1)]
CASES = {
    "huge-pages": Case(
        files(f"{THP}/enabled", "always [madvise] never"),
        files(f"{THP}/enabled", "always madvise [never]"),
    ),
    "huge-pages-defrag": Case(
        files(
            f"{THP}/enabled",
            "[always] madvise never",
            f"{THP}/defrag",
            "always defer [madvise] never",
        ),
        files(
            f"{THP}/enabled",
            "[always] madvise never",
            f"{THP}/defrag",
            "[always] defer madvise never",
        ),
    ),
    "reserved-huge-pages": Case(
        files(f"{HUGE}/free_hugepages", "0", "proc/meminfo", memory(MemTotal=1 << 20)),
        files(f"{HUGE}/free_hugepages", "100", "proc/meminfo", memory(MemTotal=1 << 20)),
    ),
    "numa-balancing": Case(
        files("proc/sys/kernel/numa_balancing", "0"), files("proc/sys/kernel/numa_balancing", "1")
    ),
    "zone-reclaim": Case(
        files("proc/sys/vm/zone_reclaim_mode", "0"), files("proc/sys/vm/zone_reclaim_mode", "1")
    ),
    "swappiness": Case(
        files("proc/sys/vm/swappiness", "60", "proc/meminfo", memory(SwapTotal=0)),
        files("proc/sys/vm/swappiness", "60", "proc/meminfo", memory(SwapTotal=8)),
    ),
    "overcommit": Case(
        files(
            "proc/sys/vm/overcommit_memory",
            "0",
            "proc/meminfo",
            memory(CommitLimit=9, Committed_AS=8),
        ),
        files(
            "proc/sys/vm/overcommit_memory",
            "2",
            "proc/meminfo",
            memory(CommitLimit=9, Committed_AS=8),
        ),
        harm=True,
    ),
    "dirty-pages": Case(
        files(
            "proc/sys/vm/dirty_background_bytes",
            "0",
            "proc/sys/vm/dirty_background_ratio",
            "10",
            "proc/meminfo",
            memory(MemTotal=24 << 20),
        ),
        files(
            "proc/sys/vm/dirty_background_bytes",
            "0",
            "proc/sys/vm/dirty_background_ratio",
            "10",
            "proc/meminfo",
            memory(MemTotal=1 << 30),
        ),
    ),
    "uneven-nodes": Case(
        Given(),
        Given(
            topology={
                "nodes": [replace(TOPOLOGY.nodes[0], memory_bytes=1 << 33), TOPOLOGY.nodes[1]]
            }
        ),
    ),
    "node-without-memory": Case(
        Given(),
        Given(topology={"nodes": [replace(TOPOLOGY.nodes[0], memory_bytes=0), TOPOLOGY.nodes[1]]}),
    ),
    "memory-only-nodes": Case(
        Given(),
        Given(
            topology={"allowed": replace(TOPOLOGY.allowed, nodes="0-1,8")},
            plan={"executors": [replace(PLAN.executors[0], memory_nodes="0,8")]},
        ),
    ),
    "memory-throttle": Case(
        Given({**GROUP, "sys/fs/cgroup/a/memory.high": "max"}),
        Given({**GROUP, "sys/fs/cgroup/a/memory.high": "1073741824"}),
    ),
    "past-kills": Case(
        files("proc/vmstat", "oom_kill 0\n"),
        Given(
            {
                **GROUP,
                "proc/vmstat": "oom_kill 3\n",
                "sys/fs/cgroup/a/memory.events": "oom_kill 1\n",
            }
        ),
    ),
    "free-memory": Case(
        files("proc/meminfo", memory(MemAvailable=128 << 20)),
        files("proc/meminfo", memory(MemAvailable=64 << 20)),
        harm=True,
    ),
    "governor": Case(
        files(
            f"{POLICY}/scaling_governor", "powersave", f"{POLICY}/scaling_driver", "intel_pstate"
        ),
        files(
            f"{POLICY}/scaling_governor", "powersave", f"{POLICY}/scaling_driver", "acpi-cpufreq"
        ),
    ),
    "turbo": Case(files(f"{CPU}/intel_pstate/no_turbo", "0"), files(f"{CPU}/cpufreq/boost", "0")),
    "hardware-threads": Case(files(f"{CPU}/smt/control", "on"), files(f"{CPU}/smt/control", "off")),
    "isolated-cpus": Case(
        files(f"{CPU}/isolated", "0"), files(f"{CPU}/isolated", "3,7"), harm=True
    ),
    "offline-cpus": Case(
        files(f"{CPU}/present", "0-7", f"{CPU}/online", "0-7"),
        files(f"{CPU}/present", "0-7", f"{CPU}/online", "0-5"),
    ),
    "cpu-quota": Case(Given(GROUP, topology={"allowed": ALONE}), Given()),
    "contradictory-topology": Case(Given(topology={"warnings": []}), Given()),
    "hidden-topology": Case(
        replace(
            files("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu hypervisor\n"), topology=ONE_NODE
        ),
        replace(
            files(
                "proc/cpuinfo",
                "flags\t\t: fpu hypervisor\n" + "".join(f"processor\t: {n}\n" for n in range(96)),
            ),
            topology=ONE_NODE,
        ),
    ),
    "stolen-time": Case(
        files("proc/stat", "cpu 100000 0 0 900000 0 0 0 1 0 0\n"),
        files("proc/stat", "cpu 100000 0 0 900000 0 0 0 50000 0 0\n"),
    ),
    "clock-source": Case(
        files(f"{CLOCK}/current_clocksource", "tsc", f"{CLOCK}/available_clocksource", "tsc hpet"),
        files(f"{CLOCK}/current_clocksource", "hpet", f"{CLOCK}/available_clocksource", "tsc hpet"),
    ),
    "core-kinds": Case(
        Given(topology={"cores": [replace(one, kind="cpu_core") for one in TOPOLOGY.cores]}),
        Given(
            topology={
                "cores": [
                    *TOPOLOGY.cores[1:],
                    replace(TOPOLOGY.cores[0], kind="cpu_atom", cpus="1,5"),
                ]
            }
        ),
    ),
    "prefetchers": Case(
        files("proc/cpuinfo", INTEL, "dev/cpu/0/msr", registers(4)),
        files("proc/cpuinfo", INTEL, "dev/cpu/0/msr", registers(0)),
    ),
    "open-files": Case(
        limit("Max open files", "1024", "1048576"),
        limit("Max open files", "1024", "2048"),
        harm=True,
    ),
    "processes": Case(limit("Max processes", "unlimited"), limit("Max processes", "2048")),
    "group-tasks": Case(
        Given(topology={"allowed": replace(ALONE, task_limits=[TaskLimit("pids.max", 9000, 37)])}),
        Given(topology={"allowed": replace(ALONE, task_limits=[TaskLimit("pids.max", 256, 37)])}),
        harm=True,
    ),
    "locked-memory": Case(
        limit("Max locked memory", "unlimited"), limit("Max locked memory", "8388608")
    ),
    "memory-maps": Case(
        files("proc/sys/vm/max_map_count", "262144"), files("proc/sys/vm/max_map_count", "65530")
    ),
    "threads-max": Case(
        files("proc/sys/kernel/threads-max", "192730"), files("proc/sys/kernel/threads-max", "9000")
    ),
    "file-size": Case(
        limit("Max file size", "unlimited"), limit("Max file size", "1000"), harm=True
    ),
    "address-space": Case(
        limit("Max address space", "unlimited"), limit("Max address space", "1000"), harm=True
    ),
    "temporary-noexec": Case(
        mount(ROOT_MOUNT), mount(ROOT_MOUNT, ("/tmp", "tmpfs", "rw,noexec")), harm=True
    ),
    "directory-modes": Case(
        Given(modes={"tmp": 0o1777, "dev/shm": 0o1777}), Given(modes={"tmp": 0o777}), harm=True
    ),
    "local-dirs-kind": Case(mount(ROOT_MOUNT), mount(("/", "overlay", "rw"))),
    "local-dirs-space": Case(
        mount(ROOT_MOUNT, own={"space": lambda folder: AMPLE}),
        mount(ROOT_MOUNT, own={"space": lambda folder: LITTLE}),
        harm=True,
    ),
    "local-dirs-options": Case(mount(ROOT_MOUNT), mount(("/", "ext4", "rw,sync"))),
    "shared-memory": Case(
        mount(ROOT_MOUNT, ("/dev/shm", "tmpfs", "rw")),
        mount(
            ROOT_MOUNT,
            ("/dev/shm", "tmpfs", "rw"),
            own={"space": lambda folder: Space(1, 64 << 20, 0, 0)},
        ),
    ),
    "memory-nodes-allowed": Case(
        Given(), Given(topology={"allowed": replace(TOPOLOGY.allowed, nodes="0")})
    ),
    "refused-binding": Case(
        files("proc/self/status", status("2", "000001ffffffffff")),
        files("proc/self/status", status("2", "00000000a80425fb")),
    ),
    "hidden-limits": Case(
        replace(
            mount(("/sys/fs/cgroup", "cgroup2", "ro")),
            files={
                **mount(("/sys/fs/cgroup", "cgroup2", "ro")).files,
                "proc/self/cgroup": "0::/\n",
                "sys/fs/cgroup/cgroup.controllers": "memory",
            },
        ),
        replace(mount(ROOT_MOUNT), files={**mount(ROOT_MOUNT).files, "proc/self/cgroup": "0::/\n"}),
    ),
    "host-name": Case(files(HOST, "big-box"), files(HOST, "big_box"), harm=True),
    "host-resolves": Case(
        files(HOST, "big-box"),
        Given({HOST: "big-box"}, own={"resolve": lambda name: []}),
        harm=True,
    ),
    "nic-node": Case(nic_on_node_0("0-1"), nic_on_node_0("2-3,6")),
    "java-version": Case(
        java('IMPLEMENTOR="Debian"\nJAVA_VERSION="17.0.15"\n'),
        java('JAVA_VERSION="1.8.0_412"\n'),
        harm=True,
    ),
    "java-compiler": Case(
        Given(own={"environment": {"JAVA_TOOL_OPTIONS": "-Xss8m"}}),
        Given(own={"environment": {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}}),
    ),
    "container-detection": Case(
        Given(), settings(spark__executor__extraJavaOptions="-XX:-UseContainerSupport"), harm=True
    ),
    "java-option-variables": Case(
        Given(own={"environment": {"_JAVA_OPTIONS": "-Dfile.encoding=UTF-8"}}),
        Given(own={"environment": {"_JAVA_OPTIONS": "-Xmx2g"}}),
    ),
    "java-options-against-plan": Case(
        settings(spark__executor__extraJavaOptions="-XX:ParallelGCThreads=4"),
        settings(spark__executor__extraJavaOptions="-XX:ParallelGCThreads=64"),
    ),
    "collector": Case(
        Given(
            plan={"executors": ONE_SLOT},
            own={"environment": {"JAVA_TOOL_OPTIONS": "-XX:+UseSerialGC"}},
        ),
        Given(own={"environment": {"JAVA_TOOL_OPTIONS": "-XX:+UseSerialGC"}}),
    ),
    "compressed-pointers": Case(
        settings(spark__executor__memory="31g"), settings(spark__executor__memory="36g")
    ),
    "fixed-heap": Case(
        settings(spark__executor__memory="20g"), settings(spark__executor__memory="1g")
    ),
    "shuffle-partitions": Case(
        settings(spark__sql__shuffle__partitions="200"),
        settings(spark__sql__shuffle__partitions="8"),
    ),
    "adaptive-execution": Case(
        settings(spark__sql__adaptive__enabled="true"),
        settings(spark__sql__adaptive__enabled="false"),
    ),
    "spark-contradictions": Case(
        settings(spark__memory__offHeap__enabled="true", spark__memory__offHeap__size="4g"),
        settings(spark__memory__offHeap__enabled="true"),
        harm=True,
    ),
    "spark-version": Case(Given(), Given(own={"spark_version": "3.5.1"}), harm=True),
    "native-algebra": Case(
        Given({"usr/lib/x86_64-linux-gnu/libblas.so.3": ""}, workload="ml"), Given(workload="ml")
    ),
    "installed-link": Case(
        Given(own={"installed": {"/spark/jars/hearth-spark_2.13-0.1.0.jar": JAR}}),
        Given(
            own={
                "installed": {
                    "/spark/jars/hearth-spark_2.13-0.0.9.jar": "/old/hearth-spark_2.13-0.0.9.jar"
                }
            }
        ),
        harm=True,
    ),
    "state-on-network": Case(mount(ROOT_MOUNT), mount(ROOT_MOUNT, ("/home", "nfs4", "rw"))),
    "state-space": Case(Given(), Given(own={"space": lambda folder: LITTLE}), harm=True),
    "log-level": Case(
        Given(own={"root_log_level": "warn"}), Given(own={"root_log_level": "debug"})
    ),
    "loopback-down": Case(
        files("sys/class/net/lo/flags", "0x9"), files("sys/class/net/lo/flags", "0x8"), harm=True
    ),
    "ipv6-only": Case(
        files(HOST, "box"), Given({HOST: "box"}, own={"resolve": lambda name: ["2001:db8::1"]})
    ),
    "archive-failures": Case(
        Given(), Given(own={"archive_failures": [("driver", "no space left on the device")]})
    ),
}
