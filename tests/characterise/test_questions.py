"""Which ways of running answer each question, on machines of every shape."""

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from hearth.base.errors import UserError
from hearth.base.ids import parse_ids, show_ids
from hearth.machine.plan import Plan
from hearth.machine.topology import Topology
from hearth.studies.characterise.questions import (
    KEYS,
    PREFETCHERS_OFF,
    RATES,
    Question,
    Size,
    Surroundings,
    questions,
)
from hearth.studies.characterise.surroundings import sweep_cells
from hearth.studies.engine.arms import UNBOUND
from hearth.studies.engine.kernel_settings import PREFETCHERS
from hearth.workloads.catalogue import Job
from planned_machines import a_machine, a_plan


def machine(nodes: list[str], cores: list[str], allowed: str | None = None) -> Topology:
    """A machine: the CPUs of each node, those of each core."""
    cpus = show_ids(cpu for core in cores for cpu in parse_ids(core))
    return a_machine({
        "nodes": [
            {"id": 8 * i, "cpus": own, "memory_bytes": 1 << 36,
             "distances": {str(8 * j): 10 if i == j else 20 + abs(i - j)
                           for j in range(len(nodes))}}
            for i, own in enumerate(nodes)
        ],
        "cores": [{"id": i, "cpus": core} for i, core in enumerate(cores)],
        "allowed": {"cpus": allowed or cpus, "nodes": show_ids(8 * i for i in range(len(nodes)))},
    })  # fmt: skip


POWER8 = machine(
    [show_ids(range(48 * n, 48 * n + 48)) for n in range(4)],
    [show_ids(range(8 * c, 8 * c + 8)) for c in range(24)],
)
LAPTOP = machine(["0-1"], ["0", "1"])


def plan(executors: int | None, cores: int | None, occupied: str) -> Plan:
    """As the planner would answer on 192 CPUs in nodes of 48: an executor of 24 GB for each."""
    free = (192 - len(parse_ids(occupied))) // 48
    count, slots = executors or free, cores or 48
    executor = {"heap_mb": 24_000 // max(1, count // 4), "task_slots": slots}
    return a_plan({"mode": "partitioned", "executors": [executor] * count})


def plans(sizes: Sequence[Size]) -> list[Plan | UserError]:
    return [plan(size.executors, size.cores, size.occupied or "") for size in sizes]


def ask(key: str, topology: Topology = POWER8, **given: Any) -> Question:
    return questions(Surroundings(topology, plans, **given), [key])[0]


def job(name: str, stream: str | None = None) -> Job:
    return Job(name, "core", "", "", "", (), (), stream)


def test_executors_share_the_same_task_slots_and_the_same_heap() -> None:
    arms = ask("executors").arms
    assert [arm.name for arm in arms] == ["1x192", "2x96", "4x48", "6x32"]
    # One executor of the plan has 24,000 MiB: no more than that is shared out.
    assert [arm.words for arm in arms] == [
        ("--memory", f"{24_000 // n}m") for n in (1, 2, 4, 6)
    ]  # fmt: skip
    assert arms[2].master == "local-numa[4x48]"


@pytest.mark.parametrize(
    ("cpus", "names", "left_out"),
    [(2, ["1x2", "2x1"], "4 executors need 4 CPUs: 2 are allowed"),
     (8, ["1x8", "2x4", "4x2"], "6 executors cannot share 8 CPUs as evenly as 1, 2, 4 can"),
     (30, ["1x24", "2x12", "4x6", "6x4"], None)],
)  # fmt: skip
def test_executors_that_cannot_share_evenly_are_left_out_by_name(
    cpus: int, names: list[str], left_out: str | None
) -> None:
    asked = ask("executors", machine([f"0-{cpus - 1}"], [str(cpu) for cpu in range(cpus)]))
    assert [arm.name for arm in asked.arms] == names
    assert left_out is None or left_out in asked.notes


def test_a_sweep_tries_the_published_winners_and_nothing_that_idles_most_of_the_machine() -> None:
    sizes = [tuple(map(int, arm.name.split("x"))) for arm in ask("sweep").arms]
    assert {(24, 8), (12, 8), (4, 48), (192, 1), (1, 192)} <= set(sizes)
    assert all(48 <= executors * cores <= 192 for executors, cores in sizes)
    assert len(set(sizes)) == len(sizes)


def test_a_sweep_of_ones_own_is_tried_as_it_was_written() -> None:
    cells = sweep_cells("2x4, 4x2,2x4")
    assert [arm.name for arm in ask("sweep", sweep=cells).arms] == ["2x4", "4x2"]
    for wrong in ("2", "0x4", "2x", "axb", "2x4,"):
        with pytest.raises(UserError, match="--sweep"):
            sweep_cells(wrong)


def test_a_configuration_that_has_no_plan_is_left_out_with_the_planners_reason() -> None:
    asked_at_once = []

    def small(sizes: Sequence[Size]) -> list[Plan | UserError]:
        asked_at_once.append(len(sizes))
        refused = UserError("--executors: 2 heaps do not fit")
        return [
            refused if s.executors == 2 else p for s, p in zip(sizes, plans(sizes), strict=True)
        ]

    asked = questions(Surroundings(LAPTOP, small), ["sweep"])[0]
    assert [arm.name for arm in asked.arms] == ["1x1", "1x2"]
    assert asked.notes[0] == "2x1: --executors: 2 heaps do not fit"
    assert asked_at_once == [3, 20], "a start of the planner for all sizes, one for their heaps"


def test_each_configuration_of_a_sweep_divides_the_same_heap_by_its_executors() -> None:
    def limited(sizes: Sequence[Size]) -> list[Plan | UserError]:
        """An executor of two cores finds no room for more than 18,000 MiB."""
        tight = [(s.heap_mb or 0) * (s.cores or 0) > 36_000 for s in sizes]
        refused = UserError("--memory: does not fit")
        return [refused if no else p for no, p in zip(tight, plans(sizes), strict=True)]

    asked = questions(Surroundings(LAPTOP, limited, sweep=((1, 2), (2, 1))), ["sweep"])[0]
    # The most that a plan has in all is 2 x 24,000 MiB; 3/10 of it fit into every configuration.
    assert [arm.words for arm in asked.arms] == [("--memory", "14400m"), ("--memory", "7200m")]
    assert asked.notes == ("14400 MiB of heap in all, divided by the number of executors",)
    fixed = questions(Surroundings(LAPTOP, plans, heap_fixed=True), ["sweep"])[0]
    assert {arm.words for arm in fixed.arms} == {()}
    assert fixed.notes == ("the heap of each executor is the one that you set",)


def test_nodes_are_bound_one_more_at_a_time_each_beside_the_same_executors_unbound() -> None:
    arms = ask("nodes").arms
    assert [arm.name for arm in arms] == [
        "1NB 1x48", "1B 1x48", "2NB 2x48", "2B 2x48", "3NB 3x48", "3B 3x48", "4NB 4x48", "4B 4x48",
    ]  # fmt: skip
    assert arms[2].words[-2:] == UNBOUND and arms[2].prefix == ()
    assert arms[3].prefix == ("taskset", "--cpu-list", "0-95")
    assert arms[2].master == arms[3].master == "local-numa[2x48]"


def test_a_search_tries_the_studys_executors_on_each_node_for_each_number_of_nodes() -> None:
    names = [arm.name for arm in ask("nodes", search_nodes=True).arms]
    winners = {
        "1B 1x24", "2B 6x8", "2B 12x6", "2B 12x4", "3B 6x8", "3B 12x6", "3B 18x3",
        "4B 4x12", "4B 12x8", "4B 12x6",
    }  # fmt: skip
    assert winners <= set(names) and len(set(names)) == len(names)
    assert [name.replace("B", "NB") for name in names[1::2]] == names[::2]
    assert {name[0] for name in names} == set("1234")


def test_memory_is_put_on_one_node_of_each_distance_and_the_cpus_stay() -> None:
    arms = ask("memory").arms
    assert [arm.name for arm in arms] == ["local", "node 8", "node 16", "node 24"]
    assert {arm.prefix[1] for arm in arms} == {"--physcpubind=0-47"}
    assert [arm.prefix[2] for arm in arms] == [
        "--membind=0", "--membind=8", "--membind=16", "--membind=24",
    ]  # fmt: skip
    assert ask("memory", no_numactl="numactl is not installed").unanswerable


def test_memory_without_cpus_is_remote_memory_too() -> None:
    tree = machine(["0-3", ""], ["0", "1", "2", "3"])
    assert [arm.name for arm in ask("memory", tree).arms] == ["local", "node 8"]


def test_one_jvm_runs_whole_on_one_two_four_and_all_cores() -> None:
    cpus = {arm.name: arm.prefix[-1] for arm in ask("cores").arms}
    assert list(cpus) == ["1 core", "2 cores", "4 cores", "8 cores", "16 cores", "24 cores"]
    assert (cpus["1 core"], cpus["24 cores"]) == ("0-7", "0-191")
    assert ask("cores", machine(["0-1"], ["0-1"])).unanswerable == "only one core may be used here"


def test_threads_are_compared_on_the_same_cores_and_with_twice_the_cores() -> None:
    cpus = {arm.name: arm.prefix[-1] for arm in ask("smt").arms}
    assert cpus["one thread"] == show_ids(range(0, 192, 8))
    assert cpus["all threads"] == "0-191"
    assert cpus["half the cores"] == show_ids(range(0, 96, 8))
    assert cpus["half the cores, all threads"] == "0-95"


def test_a_ladder_takes_one_to_six_cores_of_a_node_with_its_memory_by_one_and_all_threads() -> None:
    ladder = {arm.name: arm.prefix for arm in ask("smt", smt_ladder=True).arms}
    assert list(ladder) == [f"{n}x{threads}" for n in range(1, 7) for threads in (1, 8)]
    assert ladder["2x1"] == ("numactl", "--physcpubind=0,8", "--membind=0")
    assert ladder["2x8"] == ("numactl", "--physcpubind=0-15", "--membind=0")
    refused = ask("smt", smt_ladder=True, no_numactl="numactl is not installed")
    assert refused.unanswerable == "numactl is not installed"


def test_a_core_of_which_one_thread_is_allowed_has_no_further_thread() -> None:
    tree = machine(["0-3"], ["0,2", "1,3"], allowed="0-1")
    assert ask("smt", tree).unanswerable == (
        "no core has a second hardware thread that may be used here"
    )


def test_prefetchers_are_switched_only_where_they_can_and_may_be() -> None:
    assert [arm.prefetchers for arm in ask("prefetchers").arms] == [
        (), ("l1-next-line",), ("l1-ip",), ("l1-next-line", "l1-ip"),
        ("l2-adjacent-line",), ("l2-hardware",), ("l2-adjacent-line", "l2-hardware"),
    ]  # fmt: skip
    assert {name for off in PREFETCHERS_OFF.values() for name in off} == set(PREFETCHERS)
    refused = ask("prefetchers", no_prefetchers="allow it with --change-prefetchers")
    assert refused.unanswerable == "allow it with --change-prefetchers" and not refused.arms


def test_rates_are_those_of_the_study_and_asked_of_streams_alone() -> None:
    stream = ask("rates", job=job("streaming-network-word-count", "text"))
    assert [dict(arm.parameters)["rate"] for arm in stream.arms] == [str(rate) for rate in RATES]
    assert "needs a streaming workload" in str(ask("rates", job=job("sort")).unanswerable)
    assert "needs a streaming workload" in str(ask("rates").unanswerable)


def test_either_kind_of_a_workload_is_run_beside_the_other_and_keeps_its_own_parameters() -> None:
    def jobs(name: str) -> list[tuple[str, str | None]]:
        return [(arm.name, arm.job) for arm in ask("kinds", job=job(name)).arms]

    # An arm without a job is the one that was named, with the parameters of the command line.
    stream = "streaming-network-word-count"
    assert jobs("word-count") == [("batch", None), ("streaming", stream)]
    assert jobs(stream) == [("batch", "word-count"), ("streaming", None)]
    assert "does not exist in both kinds" in str(ask("kinds", job=job("sort")).unanswerable)


def test_a_machine_of_one_node_and_two_cores_says_of_each_question_what_it_lacks() -> None:
    here = Surroundings(
        LAPTOP, plans, no_bandwidth="no resctrl", no_prefetchers="AMD", no_counters="no counters"
    )
    reasons = {q.key: q.unanswerable for q in questions(here, KEYS) if q.unanswerable}
    assert reasons.keys() == {
        "nodes",
        "memory",
        "smt",
        "prefetchers",
        "bandwidth",
        "slots",
        "kinds",
        "rates",
    }
    assert "one NUMA node" in reasons["nodes"] and "one NUMA node" in reasons["memory"]


def test_an_unknown_question_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(UserError, match="'executor' is not a question: use executors, sweep"):
        questions(Surroundings(LAPTOP, plans), ["executor"])


def test_an_application_needs_none_of_the_packages_that_check_workloads() -> None:
    names = ("characterise.study", "characterise.surroundings", "engine.target")
    modules = ", ".join(f"hearth.studies.{name}" for name in names)
    code = f"import sys, {modules}; print({{'numpy', 'duckdb', 'sklearn'}} & set(sys.modules))"
    answered = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answered.stdout.strip() == "set()"
