"""What `numalab traffic` makes of a guest's console and of the plug-in's counters."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from numalab.setup import PROJECT
from numalab.shape import load
from numalab.traffic import (
    CpuCounts,
    Window,
    _marks,
    _node_ranges,
    control_fault,
    counted,
    raw_line,
)

from hearth.base.processes import start_ticks
from support import eventually

BLOCKS = """\
              Block Name    PSize              Offset               Used              Total
                    mem0    4 KiB  0x0000000000000000 0x00000000c0000000 0x00000000c0000000
                    mem1    4 KiB  0x00000000c0000000 0x00000000c0000000 0x00000000c0000000
                 pc.bios    4 KiB  0x0000000180000000 0x0000000000040000 0x0000000000040000
"""


def window(name: str, *user: tuple[int, int, int]) -> Window:
    return Window(name, 12.0, tuple(CpuCounts(10**7, one, (1, 2, 0)) for one in user))


def test_each_nodes_memory_lies_at_its_blocks_offset_and_its_place_in_the_machine() -> None:
    assert _node_ranges(BLOCKS, load("two-nodes")) == {
        0: (0, 0xC0000000),
        1: (0x180000000, 0x240000000),
    }


def test_marks_are_read_as_they_come_also_one_that_comes_in_two_parts(tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    log.write_text("numalab: up\nnumalab: count on a\nnumalab: count o")
    ended = iter([False] * 3 + [True] * 9)

    def end() -> bool:
        done = next(ended)
        if done and "off" not in log.read_text():
            with log.open("a") as console:
                console.write("ff a\nnumalab: cou")
        return done

    assert list(_marks(log, end)) == [(True, "a"), (False, "a")]


@pytest.mark.parametrize(
    ("name", "user", "fault"),
    [
        ("local", (100, 4_000_000, 0), ""),
        ("remote", (4_000_000, 100, 0), ""),
        (
            "local",
            (4_000_000, 100, 0),
            "local: 200 of 8000200 misses of known memory went to node 1",
        ),
        ("remote", (0, 0, 0), "remote: 0 of 0 misses of known memory went to node 0"),
        ("local", (0, 4_000_000, 4_000_000), "local: 8000000 of 16000000"),
    ],
)
def test_counts_of_known_memory_that_are_not_right_end_it(
    name: str, user: tuple[int, int, int], fault: str
) -> None:
    problem = control_fault(load("two-nodes"), window(name, (0, 0, 0), (0, 0, 0), user, user))
    assert problem.startswith(fault) and bool(problem) == bool(fault)


def test_misses_are_local_or_remote_by_the_node_of_the_cpu(tmp_path: Path) -> None:
    noted = {"rounds": 7, "moves": 1, "thread_looks": 40, "seconds": 9.0}
    (tmp_path / "result.json").write_text(json.dumps(noted))
    counts = window("arm", (90, 10, 0), (0, 0, 5), (30, 270, 0), (0, 0, 0))
    arm = counted(load("two-nodes"), "bound", 0, counts, tmp_path)
    assert (arm.local, arm.remote) == ((90, 270), (10, 30))
    assert arm.remote_share == pytest.approx(0.1)
    (line,) = raw_line(load("two-nodes"), "scan", arm).splitlines()
    assert json.loads(line)["remote"] == [10, 30]


def test_a_guest_ends_with_who_started_it(tmp_path: Path) -> None:
    program = "from pathlib import Path; from numalab.machine import _run\n"
    program += f"_run(['sleep', '240'], Path({str(tmp_path / 'log')!r}), 200)"
    starter = subprocess.Popen([sys.executable, "-c", program], cwd=PROJECT)

    def guests() -> list[str]:
        children = Path(f"/proc/{starter.pid}/task/{starter.pid}/children").read_text().split()
        return [c for c in children if Path(f"/proc/{c}/comm").read_text() == "sleep\n"]

    eventually("a guest is there", guests)
    (guest,) = guests()
    starter.kill()
    starter.wait()
    eventually("the guest is gone", lambda: start_ticks(int(guest)) is None)
