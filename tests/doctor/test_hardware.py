"""What single checks make of what machines really hold: modules, idle states, clocks, names."""

from dataclasses import replace
from pathlib import Path

import pytest

from doctor.cases import CASES, CPU, GROUP, ROOT_MOUNT, channel, disk, idle, mount
from doctor.made_machine import TOPOLOGY, Given
from hearth.base.absent import Absent
from hearth.doctor.check import Fine, Outcome, Problem, Space, all_checks, looked
from hearth.doctor.clock import clock_synchronised
from hearth.doctor.dmi import modules
from hearth.doctor.examine import examine
from hearth.doctor.tree import NotSeen, Tree

CHECKS = {check.name: check for check in all_checks()}


def of(tmp_path: Path, *raw: bytes) -> Outcome | Absent:
    files = {f"sys/firmware/dmi/entries/17-{n}/raw": one for n, one in enumerate(raw)}
    return looked(CHECKS["memory-channels"], Given(files).machine(tmp_path))


@pytest.mark.parametrize(
    ("places", "told"),
    [
        # AMD and others: the bank has the channel.
        ([("DIMM 0", "P0 CHANNEL A", 16384), ("DIMM 0", "P0 CHANNEL B", 0)],
         "1 of 2 memory channels empty (P0 CHANNEL B: 0 B)"),
        # The same, with the processor in the other text.
        ([("CHANNEL A DIMM0", "NODE 0", 8192), ("CHANNEL A DIMM0", "NODE 1", 4096)],
         "1 of 2 memory channels hold less than 8 GB (NODE 1 CHANNEL A: 4 GB)"),
        # Intel's boards: two places of a channel count together.
        ([("Controller0-ChannelA-DIMM0", "BANK 0", 8192),
          ("Controller0-ChannelA-DIMM1", "BANK 1", 8192),
          ("Controller1-ChannelA-DIMM0", "BANK 2", 16384)], "2 memory channels of 16 GB each"),
        # A letter is a processor here, a channel there: nothing is claimed.
        ([("DIMM_A1", "", 4096), ("DIMM_A2", "", 0)],
         "the firmware does not name the channels of all memory modules"),
        ([("ChannelA-DIMM0", "", 4096), ("P1-DIMMB1", "", 0)],
         "the firmware does not name the channels of all memory modules"),
    ],
)  # fmt: skip
def test_channels_are_told_apart_where_the_firmware_names_them(
    tmp_path: Path, places: list[tuple[str, str, int]], told: str
) -> None:
    found = of(tmp_path, *(channel(size, locator, bank) for locator, bank, size in places))
    assert (found.reason if isinstance(found, Absent) else found.seen) == told


def test_a_large_module_has_its_size_in_another_field(tmp_path: Path) -> None:
    raw = bytearray(channel(0x7FFF, "ChannelA-DIMM0"))
    raw[0x1C:0x20] = (65536).to_bytes(4, "little")
    file = tmp_path / "sys/firmware/dmi/entries/17-0/raw"
    file.parent.mkdir(parents=True)
    file.write_bytes(raw)
    assert modules(Tree(tmp_path))[0].size_mb == 65536
    file.write_bytes(channel(0xFFFF, "ChannelA-DIMM0"))
    with pytest.raises(NotSeen, match="describes no memory module"):
        modules(Tree(tmp_path))


def test_no_idle_state_at_all_is_a_finding_too(tmp_path: Path) -> None:
    found = looked(CHECKS["idle-states"], idle((0, 0), (2, 1), (133, 1)).machine(tmp_path))
    assert isinstance(found, Problem) and found.seen == "all idle states are disabled"


def test_slow_idle_states_are_disabled_on_every_cpu(tmp_path: Path) -> None:
    found = looked(CHECKS["idle-states"], idle((0, 0), (890, 0), (1034, 1)).machine(tmp_path))
    assert isinstance(found, Problem)
    assert [change.path for change in found.changes] == [
        f"{CPU}/cpu1/cpuidle/state1/disable",
        f"{CPU}/cpu2/cpuidle/state1/disable",
    ]


def test_the_kernel_says_whether_its_clock_is_synchronised() -> None:
    assert isinstance(clock_synchronised(), bool)


def test_whether_a_virtual_disk_spins_is_not_claimed(tmp_path: Path) -> None:
    machine = disk("[none] mq-deadline", "1").machine(tmp_path)
    assert isinstance(looked(CHECKS["disk-scheduler"], machine), Problem)
    queue = tmp_path / "sys/dev/block/8:1"
    place = tmp_path / "sys/devices/pci0000:00/virtio0/block/vda"
    place.parent.mkdir(parents=True)
    queue.rename(place)
    queue.symlink_to("../../devices/pci0000:00/virtio0/block/vda")
    assert isinstance(looked(CHECKS["disk-scheduler"], machine), Fine)


def test_a_limit_of_a_group_above_throttles_too(tmp_path: Path) -> None:
    files = {**GROUP, "sys/fs/cgroup/a/memory.high": "max", "proc/self/cgroup": "0::/a/b\n",
             "sys/fs/cgroup/a/b/cgroup.controllers": "memory"}  # fmt: skip
    machine = Given(files).machine(tmp_path)
    assert looked(CHECKS["memory-throttle"], machine) == Fine("memory.high: max")
    (tmp_path / "sys/fs/cgroup/a/memory.high").write_text("1048576")
    found = looked(CHECKS["memory-throttle"], machine)
    assert isinstance(found, Problem) and found.evidence == "/sys/fs/cgroup/a/memory.high"


def test_groups_over_which_something_else_is_mounted_are_hidden(tmp_path: Path) -> None:
    machine = CASES["hidden-limits"].right.machine(tmp_path)
    (tmp_path / "sys/fs/cgroup/cgroup.controllers").unlink()
    (tmp_path / "sys/fs/cgroup").rmdir()
    assert isinstance(looked(CHECKS["hidden-limits"], machine), Problem)


@pytest.mark.parametrize("zone", ["UTC", "CET-1CEST,M3.5.0,M10.5.0/3", ":/etc/localtime"])
def test_of_a_time_zone_that_needs_no_name_nothing_is_claimed(tmp_path: Path, zone: str) -> None:
    machine = Given(own={"environment": {"TZ": zone}}).machine(tmp_path)
    assert not isinstance(looked(CHECKS["time-zone"], machine), Problem)


def test_a_name_with_another_address_than_the_loopback_is_no_matter_for_a_vpn(
    tmp_path: Path,
) -> None:
    files = CASES["vpn-address"].wrong.files
    own = {"resolve": lambda name: ["127.0.1.1", "192.168.1.5"]}
    machine = Given(files, own=own).machine(tmp_path)
    assert isinstance(looked(CHECKS["vpn-address"], machine), Fine)


def test_a_fault_of_the_processor_without_a_mitigation_is_named(tmp_path: Path) -> None:
    states = {"l1tf": "Mitigation: PTE Inversion", "mds": "Vulnerable: no microcode"}
    files = {f"{CPU}/vulnerabilities/{name}": state for name, state in states.items()}
    machine = Given({"proc/cmdline": b"quiet", **{k: v.encode() for k, v in files.items()}})
    found = looked(CHECKS["mitigations-off"], machine.machine(tmp_path))
    assert found == Fine("mitigations: l1tf; vulnerable: mds")


def test_processes_that_others_lost_on_the_machine_are_none_of_a_containers(tmp_path: Path) -> None:
    """A container has its own group at the root, which counts; the machine's root does not."""
    root = {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cgroup.controllers": "memory"}
    machine = {**root, "proc/vmstat": "oom_kill 3\n"}
    contained = {**machine, "sys/fs/cgroup/memory.events": "oom_kill 0\n"}
    own = {**machine, "sys/fs/cgroup/memory.events": "oom_kill 1\n"}
    said = {}
    for name, files in {"machine": machine, "contained": contained, "own": own}.items():
        said[name] = looked(CHECKS["past-kills"], Given(files).machine(tmp_path / name))
    assert isinstance(said["contained"], Fine)
    assert isinstance(said["machine"], Problem) and "on this machine" in said["machine"].seen
    assert isinstance(said["own"], Problem) and said["own"].seen.endswith("control group: 1")


def test_shuffle_files_in_memory_have_what_executors_leave_of_a_containers_limit(
    tmp_path: Path,
) -> None:
    """The file system may be larger, but its files count as the container's memory."""
    allowed = replace(TOPOLOGY.allowed, memory_limit_bytes=1 << 30)
    given = mount(ROOT_MOUNT, ("/tmp", "tmpfs", "rw"), topology={"allowed": allowed})
    found = looked(CHECKS["local-dirs-space"], given.machine(tmp_path / "memory"))
    assert isinstance(found, Problem) and found.severity == "harm"
    assert found.seen.startswith("/tmp: 0 B of 1 GB free in memory, beside executors")
    small = replace(given, topology={}, own={"space": lambda folder: Space(99, 100, 0, 0)})
    assert isinstance(
        looked(CHECKS["local-dirs-space"], small.machine(tmp_path / "small")), Problem
    )
    on_disk = replace(given, files=mount(ROOT_MOUNT).files)
    assert isinstance(looked(CHECKS["local-dirs-space"], on_disk.machine(tmp_path / "disk")), Fine)


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
