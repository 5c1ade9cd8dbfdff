"""For each check a machine on which all is right, and one on which it is wrong."""

import struct
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from doctor.made_machine import AMPLE, JAR, KEPT_CLOCK, LEASES, PLAN, TOPOLOGY, Given
from hearth.doctor.check import Archive, Space
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
PROFILE = "sys/firmware/acpi/platform_profile"
MOUNTS = "proc/self/mountinfo"
DISK = "sys/dev/block/8:1"
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


def disk(scheduler: str, rotational: str, read_ahead: str = "128") -> Given:
    given = mount(ROOT_MOUNT)
    queue = f"{DISK}/queue"
    more = {f"{queue}/scheduler": scheduler, f"{queue}/rotational": rotational,
            f"{queue}/read_ahead_kb": read_ahead}  # fmt: skip
    return Given({**given.files, **more})


def settings(**values: str) -> Given:
    """Keys of spark-defaults.conf, with `__` for a dot."""
    return Given(own={"conf": {key.replace("__", "."): value for key, value in values.items()}})


def java(text: str) -> Given:
    return Given({"jdk/release": text}, own={"java_home": Path("jdk")})


def dmi(rated: int, now: int) -> bytes:
    raw = bytearray(0x28)
    raw[0], raw[1] = 17, len(raw)
    for at, value in ((0x0C, 16384), (0x15, rated), (0x20, now)):
        struct.pack_into("<H", raw, at, value)
    return bytes(raw)


def channel(size_mb: int, locator: str, bank: str = "") -> bytes:
    raw = bytearray(dmi(1600, 1600))
    raw[0x10], raw[0x11] = 1, 2
    struct.pack_into("<H", raw, 0x0C, size_mb)
    return bytes(raw) + locator.encode() + b"\0" + (bank or "BANK 0").encode() + b"\0\0"


def channels(*sizes_mb: int) -> Given:
    """Modules in channels A, B and so on."""
    names = [f"sys/firmware/dmi/entries/17-{n}/raw" for n in range(len(sizes_mb))]
    raw = [
        channel(size, "ChannelX-DIMM0".replace("X", "ABCD"[n])) for n, size in enumerate(sizes_mb)
    ]
    return Given(dict(zip(names, raw, strict=True)))


def nic_on_node_0(cpus: str, rps: str = "0", xps: str = "0") -> Given:
    """A network device with an interrupt that some CPUs serve."""
    place = "sys/class/net/eth0"
    return files(
        f"{place}/device/numa_node", "0", f"{place}/operstate", "up",
        f"{place}/device/msi_irqs/44", "msix", "proc/irq/44/smp_affinity_list", "0-7",
        "proc/irq/44/effective_affinity_list", cpus,
        f"{place}/queues/rx-0/rps_cpus", rps, f"{place}/queues/tx-0/xps_cpus", xps,
    )  # fmt: skip


def energy_bias(value: str) -> Given:
    allowed = replace(ALONE, cpus="1-2")
    name = "power/energy_perf_bias"
    return Given(
        {f"{CPU}/cpu1/{name}": "0", f"{CPU}/cpu2/{name}": value}, topology={"allowed": allowed}
    )


def idle(*states: tuple[int, int]) -> Given:
    """Of each CPU that may be used the states' latency in microseconds, and whether disabled."""
    return Given(
        {
            f"{CPU}/cpu{cpu}/cpuidle/state{n}/{name}": f"{value}\n"
            for cpu in (1, 2)
            for n, state in enumerate(states)
            for name, value in zip(("latency", "disable"), state, strict=True)
        },
        topology={"allowed": replace(ALONE, cpus="1-2")},
    )


def link(name: str, kind: str, flags: str = "0x1003") -> dict[str, str | bytes]:
    return {f"sys/class/net/{name}/type": kind, f"sys/class/net/{name}/flags": flags}


def status(seccomp: str, rights: str) -> str:
    return f"Name:\tx\nCapEff:\t{rights}\nSeccomp:\t{seccomp}\n"


def interrupts(first: int, others: int) -> str:
    counts = " ".join([str(first), *[str(others)] * 7])
    names = " ".join(f"CPU{n}" for n in range(8))
    return f"     {names}\n 24: {counts} PCI-MSI eth0\nLOC: {counts} Local timer\n"


def nic(rps: str, speed: str = "25000", flows: str = "32768") -> Given:
    place = "sys/class/net/eth0"
    given = files(
        f"{place}/speed", speed, f"{place}/device/vendor", "x",
        f"{place}/queues/rx-0/rps_cpus", rps, "proc/sys/net/core/rps_sock_flow_entries", flows,
    )  # fmt: skip
    return replace(given, topology={"allowed": replace(ALONE, cpus="0-7")})


def registers(value: int) -> bytes:
    return bytes(0x1A4) + value.to_bytes(8, "little")


def nvme(lanes: str) -> Given:
    place = "sys/class/nvme/nvme0/device"
    return files(
        f"{place}/current_link_speed", "8.0 GT/s PCIe", f"{place}/max_link_speed", "16.0 GT/s PCIe",
        f"{place}/current_link_width", lanes, f"{place}/max_link_width", "4",
    )  # fmt: skip


def heat(milliseconds: str) -> Given:
    counter = "thermal_throttle/package_throttle_total_time_ms"
    return files("proc/uptime", "9000.50 70000.10", f"{CPU}/cpu0/{counter}", milliseconds)


def overflows(number: int) -> Given:
    counts = (
        f"TcpExt: SyncookiesSent ListenOverflows\nTcpExt: 0 {number}\nIpExt: InOctets\nIpExt: 9\n"
    )
    return files("proc/sys/net/core/somaxconn", "128", "proc/net/netstat", counts)


def adapter(speed: str, duplex: str = "full") -> Given:
    place = "sys/class/net/eth0"
    given = files(
        f"{place}/speed", speed, f"{place}/duplex", duplex, f"{place}/operstate", "up",
        f"{place}/device/vendor", "x",
    )  # fmt: skip
    return replace(given, own={"environment": {"YARN_CONF_DIR": "/etc/hadoop"}})


def tcp(**options: str) -> Given:
    given = {"tcp_window_scaling": "1", "tcp_sack": "1", "tcp_moderate_rcvbuf": "1", **options}
    return Given({f"proc/sys/net/ipv4/{name}": value for name, value in given.items()})


def backlog(*dropped: int) -> Given:
    """Of each CPU's first thousand packets those that were dropped."""
    lines = "".join(f"{1000:08x} {one:08x} 00000000 {cpu:08x}\n" for cpu, one in enumerate(dropped))
    return files("proc/net/softnet_stat", lines, "proc/sys/net/core/netdev_max_backlog", "1000")


def uncore(*now_khz: int) -> Given:
    place = f"{CPU}/intel_uncore_frequency/package_{{:02}}_die_00"
    return Given(
        {
            f"{place.format(package)}/{name}": str(value)
            for package, now in enumerate(now_khz)
            for name, value in (("initial_max_freq_khz", 2400000), ("max_freq_khz", now))
        }
    )


def edac(corrected: int, lost: int = 0, days: float = 3) -> Given:
    place = "sys/devices/system/edac/mc/mc0"
    return files(
        f"{place}/ce_count", str(corrected), f"{place}/ue_count", str(lost),
        f"{place}/seconds_since_reset", str(round(days * 86400)),
    )  # fmt: skip


def short_circuit(environment: dict[str, str]) -> Given:
    """Asked for in Hadoop's own settings, with its library in a place of its own."""
    site = "<property><name>dfs.client.read.shortcircuit</name>\n<value>true</value></property>"
    library = "opt/hadoop/lib/native/libhadoop.so"
    return Given(
        {"etc/hadoop/hdfs-site.xml": f"<!-- Zoë -->{site}".encode("latin-1"), library: "x"},
        own={"environment": {"HADOOP_CONF_DIR": "/etc/hadoop", **environment}},
    )


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
    "swap-used": Case(
        files("proc/meminfo", memory(MemTotal=1000, SwapTotal=500, SwapFree=490)),
        files("proc/meminfo", memory(MemTotal=1000, SwapTotal=500, SwapFree=100)),
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
    "min-free": Case(
        files("proc/sys/vm/min_free_kbytes", "67584", "proc/meminfo", memory(MemTotal=24 << 20)),
        files("proc/sys/vm/min_free_kbytes", "67584", "proc/meminfo", memory(MemTotal=1 << 30)),
    ),
    "same-page-merging": Case(
        files("sys/kernel/mm/ksm/run", "0"), files("sys/kernel/mm/ksm/run", "1")
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
    "memory-speed": Case(
        files("sys/firmware/dmi/entries/17-0/raw", dmi(3200, 3200)),
        files("sys/firmware/dmi/entries/17-0/raw", dmi(3200, 2400)),
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
    "memory-pressure": Case(
        files(
            "proc/pressure/memory",
            "some avg10=0.00 avg60=0.00 avg300=9.00 total=1\n"
            "full avg10=0.00 avg60=0.00 avg300=0.20 total=1\n",
        ),
        files(
            "proc/pressure/memory",
            "some avg10=0.00 avg60=0.00 avg300=9.00 total=1\n"
            "full avg10=0.00 avg60=0.00 avg300=4.20 total=1\n",
        ),
    ),
    "governor": Case(
        files(
            f"{POLICY}/scaling_governor", "powersave", f"{POLICY}/scaling_driver", "intel_pstate"
        ),
        files(
            f"{POLICY}/scaling_governor", "powersave", f"{POLICY}/scaling_driver", "acpi-cpufreq"
        ),
    ),
    "energy-preference": Case(
        files(f"{CPU}/cpu0/cpufreq/energy_performance_preference", "balance_performance"),
        files(f"{CPU}/cpu0/cpufreq/energy_performance_preference", "power"),
    ),
    "energy-bias": Case(energy_bias("6"), energy_bias("15")),
    "turbo": Case(files(f"{CPU}/intel_pstate/no_turbo", "0"), files(f"{CPU}/cpufreq/boost", "0")),
    "idle-polling": Case(files("proc/cmdline", "quiet"), files("proc/cmdline", "quiet idle=poll")),
    "clock-limit": Case(
        files(f"{POLICY}/scaling_max_freq", "3900000", f"{POLICY}/cpuinfo_max_freq", "3900000"),
        files(f"{POLICY}/scaling_max_freq", "2100000", f"{POLICY}/cpuinfo_max_freq", "3900000"),
    ),
    "platform-profile": Case(
        files(PROFILE, "balanced", f"{PROFILE}_choices", "low-power balanced performance"),
        files(PROFILE, "low-power", f"{PROFILE}_choices", "low-power balanced performance"),
    ),
    "heat": Case(heat("900"), heat("90000")),
    "device-links": Case(nvme("4"), nvme("2")),
    "listen-queue": Case(overflows(0), overflows(7)),
    "tcp-options": Case(tcp(), tcp(tcp_window_scaling="0")),
    "packet-backlog": Case(backlog(0, 0), backlog(0, 7)),
    "uncore-clock": Case(uncore(2400000, 2400000), uncore(2400000, 1500000)),
    "memory-errors": Case(edac(30), edac(31)),
    "nic-speed": Case(adapter("25000"), adapter("100")),
    "hardware-threads": Case(files(f"{CPU}/smt/control", "on"), files(f"{CPU}/smt/control", "off")),
    "isolated-cpus": Case(
        files(f"{CPU}/isolated", "0"), files(f"{CPU}/isolated", "3,7"), harm=True
    ),
    "tickless-cpus": Case(files(f"{CPU}/nohz_full", "(null)"), files(f"{CPU}/nohz_full", "5-7")),
    "offline-cpus": Case(
        files(f"{CPU}/present", "0-7", f"{CPU}/online", "0-7"),
        files(f"{CPU}/present", "0-7", f"{CPU}/online", "0-5"),
    ),
    "cpu-quota": Case(Given(GROUP, topology={"allowed": ALONE}), Given()),
    "preemption": Case(
        files("proc/version", "Linux version 6.13 SMP PREEMPT_LAZY"),
        files("proc/version", "Linux version 6.1 SMP PREEMPT_RT"),
    ),
    "mitigations-off": Case(
        files("proc/cmdline", "quiet", f"{CPU}/vulnerabilities/l1tf", "Not affected"),
        files("proc/cmdline", "quiet mitigations=off"),
        harm=True,
    ),
    "microcode": Case(
        files(f"{CPU}/vulnerabilities/old_microcode", "Not affected"),
        files(f"{CPU}/vulnerabilities/old_microcode", "Vulnerable"),
    ),
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
    "interrupts": Case(
        files("proc/interrupts", interrupts(5_000_000, 5_000_000)),
        files("proc/interrupts", interrupts(90_000_000, 5)),
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
    "process-ids": Case(
        files("proc/sys/kernel/pid_max", "32768"), files("proc/sys/kernel/pid_max", "4096")
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
    "local-dirs-discard": Case(mount(ROOT_MOUNT), mount(("/", "ext4", "rw,discard"))),
    "disk-scheduler": Case(disk("[none] mq-deadline", "0"), disk("none [bfq]", "0")),
    "read-ahead": Case(disk("[none]", "0"), disk("[none]", "0", "16")),
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
    "lxcfs": Case(mount(ROOT_MOUNT), mount(ROOT_MOUNT, ("/proc/meminfo", "fuse.lxcfs", "rw"))),
    "host-name": Case(files(HOST, "big-box"), files(HOST, "big_box"), harm=True),
    "host-resolves": Case(
        files(HOST, "big-box"),
        Given({HOST: "big-box"}, own={"resolve": lambda name: []}),
        harm=True,
    ),
    "loopback": Case(
        files("etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"),
        files("etc/hosts", "# here\n::1 localhost\n"),
    ),
    "nic-node": Case(nic_on_node_0("0-1"), nic_on_node_0("2-3,6")),
    "nic-queues": Case(nic("ff"), nic("00000000,00000000")),
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
    "event-log": Case(
        settings(spark__eventLog__enabled="true"),
        settings(spark__eventLog__enabled="true", spark__eventLog__compress="false"),
    ),
    "ui-retention": Case(
        settings(spark__ui__retainedTasks="1000"), settings(spark__ui__retainedTasks="9000000")
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
    "hadoop-native": Case(
        short_circuit({"LD_LIBRARY_PATH": "/a:/opt/hadoop/lib/native"}), short_circuit({})
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
    "unsound-leases": Case(
        Given(), Given(own={"leases": replace(LEASES, problems=["'a.lease' is damaged"])})
    ),
    "memory-channels": Case(channels(8192, 8192), channels(8192, 8192, 0, 0)),
    "idle-states": Case(idle((0, 0), (2, 0), (133, 0)), idle((0, 0), (2, 0), (890, 0))),
    "clock-synchronised": Case(
        Given(own={"environment": {"YARN_CONF_DIR": "/etc/hadoop"}}),
        Given(
            own={"environment": {"YARN_CONF_DIR": "/etc/hadoop"}},
            clock=replace(KEPT_CLOCK, synchronised=False),
        ),
    ),
    "log-level": Case(
        Given(own={"root_log_level": "warn"}), Given(own={"root_log_level": "debug"})
    ),
    "time-zone": Case(
        Given(
            {"usr/share/zoneinfo/Europe/Berlin": "TZif2"},
            own={"environment": {"TZ": "Europe/Berlin"}},
        ),
        Given(own={"environment": {"TZ": "Europe/Berlin"}}),
    ),
    "loopback-down": Case(
        files("sys/class/net/lo/flags", "0x9"), files("sys/class/net/lo/flags", "0x8"), harm=True
    ),
    "ipv6-only": Case(
        files(HOST, "box"), Given({HOST: "box"}, own={"resolve": lambda name: ["2001:db8::1"]})
    ),
    "vpn-address": Case(
        Given({HOST: "box", **link("eth0", "1")}),
        Given({HOST: "box", **link("eth0", "1"), **link("wg0", "65534")}),
    ),
    "stale-archives": Case(
        Given(own={"archives": [Archive(90 << 20, True)]}),
        Given(own={"archives": [Archive(90 << 20, False), *[Archive(90 << 20, True)] * 3]}),
    ),
    "archive-failures": Case(
        Given(), Given(own={"archive_failures": [("driver", "no space left on the device")]})
    ),
}
