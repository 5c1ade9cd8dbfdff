"""`--machine` of a file that holds what `lscpu` and `numactl -H` print."""

import os
import re
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


BOTH = "2 packages, nodes 0-1 of 128800 MB, 4 cores x 2 threads, distances 10 21 / 21 10, x86_64"


def test_what_lscpu_and_numactl_print_becomes_a_description(tmp_path: Path) -> None:
    assert described(tmp_path, LSCPU + NUMACTL) == BOTH
    assert described(tmp_path, (NUMACTL + LSCPU).replace("\n", "\r\n")) == BOTH


def test_it_may_be_pasted_from_a_terminal_where_lines_are_indented(tmp_path: Path) -> None:
    pasted = LSCPU.replace("Thread", "    Thread").replace("Socket", "    Socket")
    pasted = pasted.replace("Core(", "    Core(").replace("NUMA node0", "  NUMA node0")
    assert described(tmp_path, f"  $ lscpu; numactl -H\n{pasted}{NUMACTL}") == BOTH


def test_it_may_come_through_a_pipe_or_as_the_text_itself(tmp_path: Path) -> None:
    assert machine_source(LSCPU + NUMACTL) == BOTH
    assert machine_source("2 sockets of 64 GB,\n 8 cores") == "2 sockets of 64 GB, 8 cores"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(LSCPU + NUMACTL,), daemon=True)
    writer.start()
    assert machine_source(str(pipe)) == BOTH
    writer.join()


def test_a_pipe_that_nobody_writes_to_is_named_instead_of_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hearth.machine.described._PIPE_MS", 20)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="nothing came through the pipe"):
        machine_source(str(tmp_path / "pipe"))


def printed(nodes: dict[int, tuple[str, int]], threads: int, architecture: str = "x86_64") -> str:
    """Return what a machine of one package prints; nodes: CPUs and MB of each."""
    cpus = sum(len(ids.split()) for ids, _ in nodes.values())
    distances = [
        f"{a:3}: " + "".join(f"{10 if a == b else 40:4}" for b in nodes) + "\n" for a in nodes
    ]
    return (
        f"Architecture: {architecture}\n  Thread(s) per core:  {threads}\n"
        f"  Core(s) per socket:  {cpus // threads}\n  Socket(s):  1\n"
        f"available: {len(nodes)} nodes\n"
        + "".join(
            f"node {n} cpus: {ids}\nnode {n} size: {mb} MB\n" for n, (ids, mb) in nodes.items()
        )
        + f"node distances:\nnode {nodes}\n{''.join(distances)}"
    )


HYBRID = printed({0: ("0 1 2 3 4", 64000)}, 2).replace("socket:  2", "socket:  3")


def test_a_node_of_more_than_a_thousand_cores_becomes_a_description_too(tmp_path: Path) -> None:
    one = described(tmp_path, printed({0: (" ".join(map(str, range(1200))), 64000)}, 1))
    assert one == "1 package, node 0 of 64000 MB, 1200 cores x 1 thread, x86_64"
    assert len(jvm.topology(one).cores) == 1200
    other = machine_source(printed({0: ("0 1", 64)}, 1, "riscv64"))
    assert other == "1 package, node 0 of 64 MB, 2 cores x 1 thread"


def test_every_node_keeps_its_number_its_cpus_and_its_memory(tmp_path: Path) -> None:
    nodes = {0: ("0 2 4 6", 64000), 2: ("1 3 5 7", 0), 3: ("", 0), 4: ("", 32000)}
    machine = jvm.topology(described(tmp_path, printed(nodes, 2)))
    assert [(node.id, node.cpus, node.memory_bytes >> 20) for node in machine.nodes] == [
        (0, "0,2,4,6", 64000), (2, "1,3,5,7", 0), (4, "", 32000)
    ]  # fmt: skip
    assert machine.nodes[2].distances == {"0": 40, "2": 40, "4": 10}
    assert [core.cpus for core in machine.cores] == ["0,4", "2,6", "1,5", "3,7"]


def test_the_memory_of_gpus_is_not_taken_for_the_machines_on_power(tmp_path: Path) -> None:
    nodes = {0: ("0 1 2 3", 8000), 8: ("8 9 10 11", 8100), 254: ("", 16128), 255: ("", 16128)}
    said = described(tmp_path, printed(nodes, 4, "ppc64le"))
    assert "nodes 0,8 of 8000 MB, 1 core x 4 threads, GPU nodes 254-255 of 16128 MB" in said
    assert said.endswith("ppc64le, cpus 0-3 / 8-11")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LSCPU, "lscpu's output, which does not tell memory: add that of numactl -H"),
        (LSCPU + "No NUMA support available on this system.\n",
         "'SIZE GB, 1 node, 2 packages, 8 cores x 2 threads, x86_64'"),
        (NUMACTL, "does not tell packages and threads: add that of lscpu"),
        ("Architecture :   x86_64\nProcesseur(s) :  4\n" + NUMACTL, "run it as LC_ALL=C lscpu"),
        ("Architektur:     x86_64\nProzessor(en):   4\n", "run it as LC_ALL=C lscpu"),
        (LSCPU.replace("Socket(s):                2", "Socket(s): -") + NUMACTL,
         "lscpu's 'Socket(s)' is -: capture the machine"),
        (LSCPU + NUMACTL.replace(" 15\n", "\n"), "numactl 15 CPUs: some are off line"),
        (LSCPU + NUMACTL[:101], "8 cores of 2 threads, numactl 8 CPUs: some are off line"),
        (HYBRID, "3 cores of 2 threads, numactl 5 CPUs: if its cores are of two kinds, describe "
         "the machine with '2 cores x 2 threads, 1 efficient core'; else capture the machine"),
        (LSCPU + NUMACTL.replace(" 11\n", "\n").replace("15\n", "15 11\n"), "unequal CPUs"),
        (LSCPU + NUMACTL.replace("129012", "many"), "'node 1 size: many MB' is not understood"),
        (LSCPU + NUMACTL.replace("node 1 size", "node 2 size"), "has not both CPUs and size"),
    ],
)  # fmt: skip
def test_what_says_too_little_is_refused_with_what_to_do(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(UserError, match=re.escape(said)):
        described(tmp_path, text)


def test_anything_else_is_left_to_what_reads_captures_and_descriptions(tmp_path: Path) -> None:
    for text in ("no-such-file", "2 sockets of 64 GB, 8 cores", str(tmp_path)):
        assert machine_source(text) == text
    capture = tmp_path / "capture.tar.gz"
    capture.write_bytes(b"\x1f\x8b\xff")
    assert machine_source(str(capture)) == str(capture)
