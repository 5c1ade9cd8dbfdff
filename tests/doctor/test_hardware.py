"""What single checks make of what machines really hold: modules, idle states, clocks, names."""

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from doctor.cases import (
    CASES,
    CPU,
    GROUP,
    ROOT_MOUNT,
    java,
    mount,
    nic_on_node_0,
)
from doctor.made_machine import PLAN, TOPOLOGY, Given
from hearth.base.absent import Absent
from hearth.base.sizes import show_bytes
from hearth.doctor.examine import examine
from hearth.doctor.machine import Space, temporary
from hearth.doctor.reading import _conf_file
from hearth.doctor.rule import Fine, Outcome, Problem
from hearth.doctor.rules import RULES
from hearth.machine.tree import Tree

WIDTH = ("speed", "width")


@pytest.mark.parametrize(
    ("value", "native", "maker", "change", "worth"),
    [
        ("1", False, "AuthenticAMD", "0", "unknown"),
        ("3", False, "GenuineIntel", "2", "unknown"),
        ("2", False, "AuthenticAMD", None, None),
        ("0", True, "AuthenticAMD", "1", "published"),
        ("0", True, "GenuineIntel", "1", "unknown"),
    ],
)
def test_numa_balancing_is_worth_a_figure_only_where_nothing_is_bound_on_the_makers_processors(
    tmp_path: Path, value: str, native: bool, maker: str, change: str | None, worth: str | None
) -> None:
    files = {"proc/sys/kernel/numa_balancing": value,
             "proc/cpuinfo": f"processor : 0\nvendor_id : {maker}\n"}  # fmt: skip
    machine = Given(files, plan={"mode": "native" if native else "bound"}).machine(tmp_path)
    found = examine(machine, None, {}, [RULES["numa-balancing"]]).findings
    outcome = RULES["numa-balancing"].outcome(machine)
    changes = outcome.changes if isinstance(outcome, Problem) else ()
    assert [one.value for one in changes] == ([] if change is None else [change])
    assert [one.worth.kind for one in found] == ([] if worth is None else [worth])


def test_an_early_access_build_of_java_is_told(tmp_path: Path) -> None:
    text = 'JAVA_VERSION="25"\nJAVA_RUNTIME_VERSION="25{}+9"\n'
    for early in ("-ea", ""):
        found = RULES["java-version"].outcome(java(text.format(early)).machine(tmp_path))
        assert isinstance(found, Problem) == bool(early)


def test_the_level_of_the_log_is_read_where_spark_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    name = "log4j2.properties"
    assert _conf_file(tmp_path, name) == {}
    (tmp_path / name).write_bytes(b"# Zo\xeb\nrootLogger.level = info\nlogger.jetty.level = warn\n")
    read = _conf_file(tmp_path, name)
    assert not isinstance(read, Absent) and read["rootLogger.level"] == "info"


@pytest.mark.parametrize(
    ("conf", "said"),
    [
        ({"spark.network.timeout": "10s"}, "spark.network.timeout is not above"),
        ({"spark.executor.heartbeatInterval": "2min"}, "spark.network.timeout is not above"),
        ({"spark.network.timeout": "11", "spark.executor.heartbeatInterval": "10000"}, ""),
        ({"spark.network.timeout": "a while"}, ""),
        ({"spark.task.cpus": "4", "spark.executor.cores": "2"}, "spark.task.cpus = 4, "),
        ({"spark.task.cpus": "2", "spark.executor.cores": "2"}, ""),
        ({"spark.executor.cores": "7"}, "spark.executor.cores = 7 on 6 CPUs: no executor fits"),
        ({"spark.executor.cores": "many"}, ""),
        ({"spark.executor.cores": "7", "spark.master": "yarn"}, ""),
    ],
)
def test_settings_that_contradict_each_other_or_the_machine_are_told(
    tmp_path: Path, conf: dict[str, str], said: str
) -> None:
    found = RULES["spark-contradictions"].outcome(Given(own={"conf": conf}).machine(tmp_path))
    assert isinstance(found, Problem) == bool(said)
    assert not isinstance(found, Absent) and found.seen.startswith(said)


def test_the_log_level_is_that_of_the_setting_or_else_of_the_file(tmp_path: Path) -> None:
    for level, told in (("INFO", Fine), ("trace", Problem)):
        own = {"conf": {"spark.log.level": level}, "root_log_level": "debug"}
        assert isinstance(RULES["log-level"].outcome(Given(own=own).machine(tmp_path)), told)


def test_a_limit_of_a_group_above_throttles_too(tmp_path: Path) -> None:
    files = {**GROUP, "sys/fs/cgroup/a/memory.high": "max", "proc/self/cgroup": "0::/a/b\n",
             "sys/fs/cgroup/a/b/cgroup.controllers": "memory"}  # fmt: skip
    machine = Given(files).machine(tmp_path)
    assert RULES["memory-throttle"].outcome(machine) == Fine("memory.high: max")
    (tmp_path / "sys/fs/cgroup/a/memory.high").write_text("1048576")
    found = RULES["memory-throttle"].outcome(machine)
    assert isinstance(found, Problem) and found.reads == "/sys/fs/cgroup/a/memory.high"


def test_groups_mounted_by_another_namespace_are_hidden_and_not_taken_for_ones_own(
    tmp_path: Path,
) -> None:
    given = CASES["hidden-limits"].right
    assert isinstance(RULES["hidden-limits"].outcome(given.machine(tmp_path / "own")), Fine)
    foreign = {path: str(text).replace(" / ", " /.. ") for path, text in given.files.items()}
    machine = replace(given, files=foreign).machine(tmp_path / "foreign")
    assert isinstance(RULES["hidden-limits"].outcome(machine), Problem)
    for name in ("memory-throttle", "past-kills"):
        found = RULES[name].outcome(machine)
        assert isinstance(found, Absent), (name, found)


def test_groups_over_which_something_else_is_mounted_are_hidden(tmp_path: Path) -> None:
    machine = CASES["hidden-limits"].right.machine(tmp_path)
    (tmp_path / "sys/fs/cgroup/cgroup.controllers").unlink()
    (tmp_path / "sys/fs/cgroup").rmdir()
    assert isinstance(RULES["hidden-limits"].outcome(machine), Problem)


def test_processes_that_others_lost_on_the_machine_are_none_of_a_containers(tmp_path: Path) -> None:
    """A container has its own group at the root, which counts; the machine's root does not."""
    root = {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cgroup.controllers": "memory"}
    machine = {**root, "proc/vmstat": "oom_kill 3\n"}
    contained = {**machine, "sys/fs/cgroup/memory.events": "oom_kill 0\n"}
    own = {**machine, "sys/fs/cgroup/memory.events": "oom_kill 1\n"}
    said = {}
    for name, files in {"machine": machine, "contained": contained, "own": own}.items():
        said[name] = RULES["past-kills"].outcome(Given(files).machine(tmp_path / name))
    assert isinstance(said["contained"], Fine)
    assert isinstance(said["machine"], Problem) and "on this machine" in said["machine"].seen
    assert isinstance(said["own"], Problem) and said["own"].seen.endswith("control group: 1")


def test_shuffle_files_in_memory_have_what_executors_leave_of_a_containers_limit(
    tmp_path: Path,
) -> None:
    """The file system may be larger, but its files count as the container's memory."""
    allowed = replace(TOPOLOGY.allowed, memory_limit_bytes=1 << 30)
    given = mount(ROOT_MOUNT, ("/tmp", "tmpfs", "rw"), topology={"allowed": allowed})
    found = RULES["local-dirs-space"].outcome(given.machine(tmp_path / "memory"))
    assert isinstance(found, Problem) and found.severity == "harm"
    assert found.seen.startswith("/tmp: 0 B of 1 GB free in memory, beside the application")
    small = replace(given, topology={}, own={"space": lambda folder: Space(99, 100, 0, 0)})
    assert isinstance(RULES["local-dirs-space"].outcome(small.machine(tmp_path / "small")), Problem)
    on_disk = replace(given, files=mount(ROOT_MOUNT).files)
    assert isinstance(RULES["local-dirs-space"].outcome(on_disk.machine(tmp_path / "disk")), Fine)


def test_shuffle_files_in_memory_have_what_the_application_leaves_of_the_machines(
    tmp_path: Path,
) -> None:
    taken_mb = PLAN.memory_mb
    nodes = [replace(TOPOLOGY.nodes[0], memory_bytes=(taken_mb + 2048) << 20)]
    half = Space(taken_mb << 19, taken_mb << 19, 0, 0)
    for kind, told in (
        ("tmpfs", "/tmp: 2 GB of"),
        ("ext4", f"/tmp: {show_bytes(half.free_bytes)}"),
    ):
        given = mount(ROOT_MOUNT, ("/tmp", kind, "rw"), own={"space": lambda folder: half},
                      topology={"nodes": nodes, "allowed": replace(
                          TOPOLOGY.allowed, nodes="0", memory_limit_bytes=None)})  # fmt: skip
        found = RULES["local-dirs-space"].outcome(given.machine(tmp_path / kind))
        assert not isinstance(found, Absent) and found.seen.startswith(told)
        assert isinstance(found, Problem) == (kind == "tmpfs")


def test_directories_that_every_jvm_writes_to_are_told_by_their_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = RULES["directory-modes"]
    sound = {"tmp": 0o1777, "data": 0o700, "dev/shm": 0o1777}
    given = Given(modes=sound, own={"local_dirs": ["/data", "/not-yet"]})
    machine = given.machine(tmp_path)
    assert check.outcome(machine) == Fine("/tmp: mode 1777; /data: mode 0700; /dev/shm: mode 1777")
    monkeypatch.setattr(Tree, "may_write", lambda self, path: path != "data")
    found = check.outcome(machine)
    assert isinstance(found, Problem)
    assert found.seen == "/data: mode 0700: this user may not write there"
    (tmp_path / "data").rmdir()
    (tmp_path / "data").write_text("")
    found = check.outcome(machine)
    assert isinstance(found, Problem) and found.seen == "/data is not a directory"
    (tmp_path / "data").unlink()
    (tmp_path / "data").symlink_to("data")
    assert check.outcome(machine) == Absent(
        "could not read /data: Too many levels of symbolic links"
    )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (nic_on_node_0("2-3"), "its interrupts go to CPUs 2-3 of other nodes"),
        (nic_on_node_0("1", rps="000000c8"), "RPS or XPS go to CPUs 3,6-7 of other nodes"),
        (nic_on_node_0("1", xps="8"), "RPS or XPS go to CPUs 3 of other nodes"),
    ],
)
def test_a_network_device_is_served_by_cpus_of_its_node(
    tmp_path: Path, given: Given, told: str
) -> None:
    machine = given.machine(tmp_path)
    found = RULES["nic-node"].outcome(machine)
    assert isinstance(found, Problem) and found.seen == f"eth0 is on node 0, and {told}"
    for path, text in (("device/numa_node", "-1"), ("operstate", "down")):
        file = tmp_path / "sys/class/net/eth0" / path
        before = file.read_text()
        file.write_text(text)
        untold = Fine("no network device reports its node")
        assert RULES["nic-node"].outcome(machine) == untold
        file.write_text(before)
    some = nic_on_node_0("1-2", rps="ff", xps="9").machine(tmp_path)
    assert RULES["nic-node"].outcome(some) == Fine("eth0: on node 0")


def test_what_a_container_may_only_read_is_changed_on_the_host(tmp_path: Path) -> None:
    files = {**CASES["memory-maps"].wrong.files}
    read_only = mount(ROOT_MOUNT, ("/proc", "proc", "rw"), ("/proc/sys", "proc", "ro")).files
    for name, more in {"container": read_only, "host": mount(ROOT_MOUNT).files}.items():
        machine = Given({**files, **more}).machine(tmp_path / name)
        (one,) = [f for f in examine(machine, None, {}).findings if f.name == "memory-maps"]
        assert one.fixable == (name == "host")
        assert one.command.startswith("on the host: sysctl") == (name == "container")
        (one,) = [f for f in examine(machine, "a capture", {}).findings if f.name == "memory-maps"]
        assert not one.fixable


def cppc(*shares: tuple[int, int]) -> Given:
    """Turbo off, and of each CPU the highest and the nominal performance."""
    files = {
        f"{CPU}/cpu{cpu}/acpi_cppc/{name}_perf": str(value)
        for cpu, both in enumerate(shares)
        for name, value in zip(("highest", "nominal"), both, strict=True)
    }
    return Given({f"{CPU}/cpufreq/boost": "0", **files})


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (cppc((108, 108), (153, 150)), "turbo: off; with it CPU 1 could clock higher"),
        (cppc((108, 108), (150, 150)),
         "turbo: off, and no CPU's performance goes above its nominal one"),
        (cppc((108, 0)), "turbo: off"),
    ],
)  # fmt: skip
def test_turbo_that_is_off_is_told_with_what_the_firmware_says_it_would_give(
    tmp_path: Path, given: Given, told: str
) -> None:
    found = RULES["turbo"].outcome(given.machine(tmp_path))
    assert not isinstance(found, Absent) and found.seen == told
    assert isinstance(found, Fine) == told.startswith("turbo: off, and")


def test_memory_without_cpus_that_is_faster_costs_nothing(tmp_path: Path) -> None:
    for tier, kind in (("faster", Fine), ("slower", Problem)):
        bare = replace(TOPOLOGY.nodes[0], id=1, cpus="", tier=tier)
        nodes = [TOPOLOGY.nodes[0], bare]
        allowed = replace(TOPOLOGY.allowed, nodes="0-1")
        plan = {"executors": [replace(PLAN.executors[0], memory_nodes="0-1")]}
        given = Given(topology={"nodes": nodes, "allowed": allowed}, plan=plan)
        found = RULES["memory-only-nodes"].outcome(given.machine(tmp_path / tier))
        assert isinstance(found, kind), (tier, found)


def test_a_processor_whose_memory_has_a_node_of_its_own_does_not_lack_memory(
    tmp_path: Path,
) -> None:
    bare, other, memory = (
        replace(TOPOLOGY.nodes[0], id=n, cpus=cpus, memory_bytes=size, distances=distances)
        for n, cpus, size, distances in (
            (0, "0-3", 0, {"0": 10, "1": 13, "5": 11}),
            (1, "4-7", 8 << 30, {"0": 13, "1": 10, "5": 21}),
            (5, "", 8 << 30, {"0": 11, "1": 21, "5": 10}),
        )
    )
    near = Given(topology={"nodes": [bare, other, memory]})
    found = RULES["node-without-memory"].outcome(near.machine(tmp_path))
    assert isinstance(found, Fine) and found.seen.startswith("no memory on node 0, and")
    far = replace(bare, distances={**bare.distances, "5": 17})
    untold = replace(bare, distances={})
    for node in (far, untold):
        given = Given(topology={"nodes": [node, other, memory]})
        assert isinstance(RULES["node-without-memory"].outcome(given.machine(tmp_path)), Problem)


def test_memory_of_a_virtual_machine_is_its_settings_not_its_modules(tmp_path: Path) -> None:
    wrong = CASES["uneven-nodes"].wrong
    for flags, told in (("fpu hypervisor", "give its nodes"), ("fpu", "move modules")):
        given = replace(wrong, files={"proc/cpuinfo": f"flags\t\t: {flags}\n"})
        found = RULES["uneven-nodes"].outcome(given.machine(tmp_path))
        assert isinstance(found, Problem) and found.command.startswith(told)


def test_favoured_cores_of_one_kind_are_not_cores_of_several_kinds(tmp_path: Path) -> None:
    def outcome(slower: bool) -> Outcome | Absent:
        cores = [
            replace(one, kind=f"capacity_{1024 - n % 2}", efficient=slower and n % 2 == 1)
            for n, one in enumerate(TOPOLOGY.cores)
        ]
        return RULES["core-kinds"].outcome(Given(topology={"cores": cores}).machine(tmp_path))

    assert isinstance(outcome(False), Fine)
    found = outcome(True)
    assert isinstance(found, Problem) and "capacity_1023, slower: CPUs" in found.seen
    assert found.reads.endswith("cpu_capacity")


@pytest.mark.parametrize("name", ["cpu-quota", "group-tasks"])
def test_limits_of_control_groups_that_cannot_be_seen_are_not_called_none(
    tmp_path: Path, name: str
) -> None:
    alone = {"allowed": replace(TOPOLOGY.allowed, cpu_quota=None, task_limits=[])}
    mounts = mount(ROOT_MOUNT).files
    for files in ({}, {"proc/self/cgroup": "0::/\n", **mounts}):
        found = RULES[name].outcome(Given(files, topology=alone).machine(tmp_path))
        assert isinstance(found, Absent)
    shown = RULES[name].outcome(Given(GROUP, topology=alone).machine(tmp_path / "other"))
    assert isinstance(shown, Fine)


def test_where_no_directory_for_temporary_files_can_be_written_that_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> str:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", none)
    monkeypatch.delenv("TMPDIR", raising=False)
    assert temporary() == "/tmp"
    monkeypatch.setattr(Tree, "may_write", lambda self, path: False)  # as on a read-only root
    machine = Given(own={"temporary": temporary()}).machine(tmp_path)
    found = RULES["directory-modes"].outcome(machine)
    assert isinstance(found, Problem) and found.severity == "harm"
    assert found.seen == "/tmp does not exist, and this user may not create it"
    kept = RULES["state-space"].outcome(machine)
    assert isinstance(kept, Problem) and "XDG_STATE_HOME" in kept.command


def test_libraries_are_unpacked_where_java_keeps_temporary_files_not_where_python_does(
    tmp_path: Path,
) -> None:
    noexec = mount(ROOT_MOUNT, ("/tmp", "tmpfs", "rw,noexec"))
    elsewhere = replace(noexec, own={"temporary": "/scratch"})
    assert isinstance(RULES["temporary-noexec"].outcome(elsewhere.machine(tmp_path)), Problem)
    option = {"environment": {"JAVA_TOOL_OPTIONS": "-Djava.io.tmpdir=/scratch"}}
    named = replace(noexec, own=option).machine(tmp_path)
    assert isinstance(RULES["temporary-noexec"].outcome(named), Fine)
