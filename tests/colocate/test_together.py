"""Applications at the same time, each in its own process: without Spark, as sleeps."""

import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hearth.base.absent import Absent
from hearth.base.errors import UserError
from hearth.base.processes import is_alive, start_ticks
from hearth.record.probes.base import Roots
from hearth.studies.colocate.concurrent_runs import Lane, Loop, together
from hearth.studies.colocate.machine_counts import Counting, KernelCounts
from hearth.studies.colocate.partition import Units
from hearth.studies.engine.trial import Trial, Turn
from planned_machines import a_machine
from support import eventually

TOPOLOGY: dict[str, Any] = {
    "allowed": {"cpus": "0-3,8-11"},
    "nodes": [{"cpus": "8-15"}, {"cpus": ""}, {"cpus": "0-7"}],
    "cores": [{"cpus": f"{n},{n + 4}"} for n in (8, 9, 0, 1)],
}


def lane(run: Callable[[int], Trial | None], name: str, cpus: tuple[int, ...] | None = None):
    turn = Turn(name, "split", 0)
    return Lane(turn, lambda number: run(number) or Trial(turn, seconds=1.0 + number), cpus)


def sleeps(seconds: float) -> Callable[[int], None]:
    return lambda _number: time.sleep(seconds)


def test_what_runs_together_overlaps_and_each_has_its_own_cpus() -> None:
    own = tuple(sorted(os.sched_getaffinity(0)))
    all_run = multiprocessing.get_context("fork").Barrier(3, timeout=60)

    def placed(_number: int) -> Trial:
        all_run.wait()
        return Trial(Turn("a", "split", 0), seconds=1.0, plan=str(os.sched_getaffinity(0)))

    ran = together([lane(placed, "a", own[:1]), lane(placed, "b", own[-1:]), lane(placed, "c")])
    assert sorted((one.member, one.trial.plan) for one in ran) == [
        (0, str({own[0]})), (1, str({own[-1]})), (2, str(set(own))),
    ]  # fmt: skip
    assert max(one.start_s for one in ran) < min(one.end_s for one in ran)
    assert set(os.sched_getaffinity(0)) == set(own), "this process keeps its own"


def test_one_that_fails_is_reported_and_the_other_goes_on() -> None:
    def refused(_number: int) -> None:
        raise UserError("--memory: '1k' is too little: give more")

    def broken(_number: int) -> None:
        raise KeyError("x")

    def killed(_number: int) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    lanes = [lane(sleeps(0.4), "good"), lane(refused, "r"), lane(broken, "b"), lane(killed, "k")]
    found = {one.member: one.trial for one in together(lanes)}
    assert found[0].seconds == 1.0 and found[0].failure is None
    assert found[1].failure == "--memory: '1k' is too little: give more"
    assert found[2].failure == "internal error in hearth: KeyError: 'x'"
    assert found[3].failure == "the process that watched over it ended with signal 9"


def test_a_loop_starts_each_again_until_the_time_is_over() -> None:
    def fails_later(number: int) -> Trial | None:
        time.sleep(0.1)
        return Trial(Turn("f", "split", 0), failure="no") if number == 1 else None

    loop = Loop(length_s=2.0, ramp_s=0.5)
    ran = together([lane(sleeps(0.25), "short"), lane(sleeps(30), "long"), lane(fails_later, "f")],
                   loop)  # fmt: skip
    short = [one for one in ran if one.member == 0]
    whole = [one.trial.seconds for one in short if one.trial.stopped_s is None]
    assert 2 <= len(whole) <= 7, "again and again; on a busy machine less often"
    assert whole == [1.0 + number for number in range(len(whole))], "numbered in turn"
    assert all(b.start_s >= a.end_s for a, b in itertools.pairwise(short))
    (long,) = [one for one in ran if one.member == 1]
    assert long.trial.stopped_s is not None and long.trial.failure is None
    assert long.trial.seconds is None and 2.0 <= long.end_s < 25
    assert [one.trial.failure for one in ran if one.member == 2] == [None, "no"]
    assert [loop.counts(s) for s in (0.4, 0.5, 1.5, 1.6)] == [False, True, True, False]


_PROGRAM = """
import sys, time
from pathlib import Path
from hearth.studies.engine.trial import Turn, Trial
from hearth.studies.colocate.concurrent_runs import Lane, together
from hearth.spark.children import run_child

def run(name):
    turn = Turn(name, "split", 0)
    # What it started does not end with it, as Python does not with its JVM.
    words = ["sh", "-c", f"sleep 600 & echo $! > '{sys.argv[1]}/{name}'; wait"]
    return Lane(turn, lambda _n: Trial(turn, seconds=float(run_child(words, {}, Path(f"{sys.argv[1]}/log")))))

together([run("a"), run("b")])
"""  # noqa: E501


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_running_however_it_ends(tmp_path: Path, by: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", _PROGRAM, str(tmp_path)]) as program:
        files = [tmp_path / "a", tmp_path / "b"]
        eventually("both run", lambda: all(f.is_file() and f.read_text() for f in files))
        started = [int(file.read_text()) for file in files]
        ticks = {pid: start_ticks(pid) for pid in started}
        assert all(ticks.values())
        program.send_signal(by)
        eventually(
            "both end",
            lambda: not any(is_alive(pid, at or 0) for pid, at in ticks.items()), 90,
        )  # fmt: skip
    assert program.returncode == -by


def test_a_machine_is_split_by_nodes_where_it_has_several_else_by_cores() -> None:
    nodes = Units.of(a_machine(TOPOLOGY))
    assert (nodes.kind, nodes.cpus) == ("node", ((0, 1, 2, 3), (8, 9, 10, 11)))
    one = {**TOPOLOGY, "nodes": [{"cpus": "0-15"}]}
    cores = Units.of(a_machine(one))
    assert (cores.kind, cores.cpus) == ("core", ((0,), (1,), (8,), (9,)))
    whole = a_machine({**one, "allowed": {"cpus": "0-15"}})
    assert Units.of(whole).shares((1, 3)) == [(0, 4), (1, 5, 8, 9, 12, 13)]
    assert Units.of(whole).shares((2, 1)) == [(0, 1, 4, 5), (8, 12)], "one is left free"
    assert Units.of(whole).all == (0, 1, 4, 5, 8, 9, 12, 13)
    assert [nodes.described(1), cores.described(3)] == ["1 NUMA node", "3 cores"]
    with pytest.raises(UserError, match=r"one core \(8\) cannot be split"):
        Units.of(a_machine({**TOPOLOGY, "allowed": {"cpus": "8"}}))


def a_tree(root: Path, switches: int, *other_node: int) -> Roots:
    """A machine on which so many pages of each node were given to programs on another."""
    (root / "proc").mkdir(parents=True)
    (root / "proc" / "stat").write_text(f"cpu 1 2 3 4\nctxt {switches}\nbtime 5\n")
    for node, pages in enumerate(other_node):
        folder = root / "sys" / "devices" / "system" / "node" / f"node{node}"
        folder.mkdir(parents=True)
        (folder / "numastat").write_text(f"numa_hit 9\nother_node {pages}\n")
    return Roots(root / "proc", root / "sys")


def test_the_kernel_is_asked_for_switches_and_for_memory_that_was_given_on_another_node(
    tmp_path: Path,
) -> None:
    found = KernelCounts.now(a_tree(tmp_path / "two", 700, 20, 30))
    assert (found.switches, found.other_node) == (700, 50)
    assert KernelCounts.now(a_tree(tmp_path / "one", 7, 20)).other_node is None


def test_of_a_loop_the_machine_is_counted_in_the_middle_and_else_all_the_time() -> None:
    taken = [KernelCounts(20.0, 1000, 300), KernelCounts(80.0, 4000, 900)]
    looped = Counting(Loop(100.0, 20.0), iter(taken).__next__)
    for at in (0.0, 19.0, 20.1, 50.0, 80.2, 99.0):
        looped.look(at)
    found = looped.counted()
    assert found == {"switches_per_s": 50.0, "remote_per_s": 10.0}
    once = Counting(None, iter(taken).__next__)
    for at in (0.0, 30.0):
        once.look(at)
    assert once.counted() == found
    assert Counting(Loop(100.0, 20.0), iter(taken).__next__).counted() is None


def test_a_kernel_whose_counts_cannot_be_read_ends_no_study(tmp_path: Path) -> None:
    unread = Counting(None, lambda: KernelCounts.now(Roots(tmp_path, tmp_path)))
    unread.look(1.0)
    found = unread.counted()
    assert found is not None
    assert all(isinstance(v, Absent) and "could not be read" in v.reason for v in found.values())
