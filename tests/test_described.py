"""`--machine` of a file that holds what `lscpu` and `numactl -H` print."""

import os
import threading
from pathlib import Path

import pytest

from hearth.base.errors import UserError
from hearth.machine import jvm
from hearth.machine.described import machine_source

LSCPU = """\
Architecture:             x86_64
  CPU op-mode(s):         32-bit, 64-bit
CPU(s):                   16
Thread(s) per core:       2
Core(s) per socket:       4
Socket(s):                2
NUMA node(s):             2
NUMA node0 CPU(s):        0-3,8-11
NUMA node1 CPU(s):        4-7,12-15
"""
NUMACTL = """\
available: 2 nodes (0-1)
node 0 cpus: 0 1 2 3 8 9 10 11
node 0 size: 128800 MB
node 0 free: 90210 MB
node 1 cpus: 4 5 6 7 12 13 14 15
node 1 size: 129012 MB
node 1 free: 127001 MB
node distances:
node   0   1
  0:  10  21
  1:  21  10
"""


def described(tmp_path: Path, text: str) -> str:
    file = tmp_path / "box.txt"
    file.write_text(text)
    return machine_source(str(file))


def test_what_lscpu_and_numactl_print_becomes_a_description(tmp_path: Path) -> None:
    assert described(tmp_path, LSCPU + NUMACTL) == (
        "2 packages, 2 nodes of 128800 MB, 4 cores x 2 threads, distances 10 21 / 21 10, x86_64"
    )
    assert described(tmp_path, NUMACTL) == (
        "2 packages, 2 nodes of 128800 MB, 8 cores x 1 thread, distances 10 21 / 21 10"
    )


def test_it_may_come_through_a_pipe_or_as_the_text_itself(tmp_path: Path) -> None:
    one = "2 packages, 2 nodes of 128800 MB, 8 cores x 1 thread, distances 10 21 / 21 10"
    assert machine_source(NUMACTL) == one
    assert machine_source("2 sockets of 64 GB,\n 8 cores") == "2 sockets of 64 GB, 8 cores"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(NUMACTL,), daemon=True)
    writer.start()
    assert machine_source(str(pipe)) == one
    writer.join()


def test_a_pipe_that_nobody_writes_to_is_named_instead_of_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hearth.machine.described._PIPE_MS", 20)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="nothing came through the pipe"):
        machine_source(str(tmp_path / "pipe"))


def test_a_node_of_more_than_a_thousand_cores_becomes_a_description_too(tmp_path: Path) -> None:
    cpus = " ".join(map(str, range(1200)))
    text = f"available: 1 nodes (0)\nnode 0 cpus: {cpus}\nnode 0 size: 64000 MB\n"
    one = "1 package, 1 node of 64000 MB, 1200 cores x 1 thread"
    assert described(tmp_path, text) == one
    assert len(jvm.topology(one).cores) == 1200


def test_a_node_without_cpus_is_one_of_memory_only(tmp_path: Path) -> None:
    more = NUMACTL.replace("node distances", "node 2 cpus:\nnode 2 size: 65536 MB\nnode distances")
    more = more.replace("10  21\n", "10  21  31\n").replace("21  10\n", "21  10  31\n")
    found = described(tmp_path, f"{more}  2:  31  31  10\n")
    assert "1 memory-only node of 65536 MB, distances 10 21 31 / 21 10 31 / 31 31 10" in found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LSCPU, "lscpu's output, which does not tell memory: add that of numactl -H"),
        (NUMACTL.replace(" 15\n", "\n"), "are not alike: capture the machine with 'hearth gather'"),
        (NUMACTL.replace("129012", "many"), "'node 1 size: many MB' is not understood"),
        (NUMACTL.replace("129012", "0"), "has a node with CPUs and no memory"),
    ],
)
def test_what_says_too_little_is_refused_with_what_to_do(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(UserError, match=said):
        described(tmp_path, text)


def test_anything_else_is_left_to_what_reads_captures_and_descriptions(tmp_path: Path) -> None:
    for text in ("no-such-file", "2 sockets of 64 GB, 8 cores", str(tmp_path)):
        assert machine_source(text) == text
    capture = tmp_path / "capture.tar.gz"
    capture.write_bytes(b"\x1f\x8b\xff")
    assert machine_source(str(capture)) == str(capture)
