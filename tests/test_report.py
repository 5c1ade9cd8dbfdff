"""What a person reads: from the contract's examples, so that no machine matters."""

import io
import json
import resource
from collections.abc import Iterator
from dataclasses import replace

import pytest

from hearth.base.codec import typed
from hearth.base.errors import UserError
from hearth.machine.plan import Plan, PlannedWork, Reason
from hearth.machine.topology import Allowed, Core, NumaNode, Topology
from hearth.report.terminal.plan import (
    explained,
    machine_map,
    memory_balance,
    partitions,
    show_plan,
    show_plan_briefly,
)
from hearth.report.terminal.screen import Screen, shown_width
from hearth.report.terminal.topology import show_topology
from support import ROOT, Command, check_golden

EXAMPLES = ROOT / "contract" / "examples"
TOPOLOGY = typed(json.loads((EXAMPLES / "topology.json").read_text()), Topology)
PLAN = typed(json.loads((EXAMPLES / "plan.json").read_text()), Plan)
#: The machine that the contract's plan is for.
NODES = [NumaNode(at, cpus, 64 << 30, {}) for at, cpus in enumerate(("0-5,12-17", "6-11,18-23"))]
PLANNED = replace(
    TOPOLOGY,
    cpus="0-23",
    nodes=NODES,
    cores=[Core(cpu, cpu // 6, f"{cpu},{cpu + 12}") for cpu in range(12)],
    allowed=Allowed("0-23", "0-1"),
)
HUGE = "16 packages, 64 nodes of 128 GB, 32 cores x 2 threads"


def test_the_topology_is_shown_as_agreed() -> None:
    check_golden("topology.txt", "\n".join(show_topology(TOPOLOGY, Screen(100))) + "\n")


def test_the_plan_is_shown_as_agreed() -> None:
    check_golden("plan.txt", "\n".join(show_plan(PLAN, PLANNED, Screen(100))) + "\n")


def test_a_doubt_about_the_machine_stands_beside_the_plan() -> None:
    doubted = replace(PLANNED, warnings=["the figures disagree"])
    assert "  warning    the figures disagree" in show_plan(PLAN, doubted, Screen(100))


def test_what_other_applications_change_stands_beside_the_plan() -> None:
    told = Reason("neighbours", "CPUs 0-3 left alone", "job-1 runs there", "kernel")
    plan = replace(PLAN, reasons=[*PLAN.reasons, told])
    assert "  beside     CPUs 0-3 left alone: job-1 runs there" in show_plan(
        plan, PLANNED, Screen(100)
    )


def test_one_decision_or_all_are_explained_and_an_unknown_one_is_refused_with_the_names() -> None:
    one = explained(PLAN, "Driver-Heap", PLANNED, Screen(100))
    assert one[0] == "  driver heap: 4 GB" and len(one) == 2
    everything = explained(PLAN, "", PLANNED, Screen(100))
    assert len(everything) > 2 * len(PLAN.reasons) and "partitions" in everything
    with pytest.raises(UserError, match=r"no decision 'heat': it has partition, .*heap"):
        explained(PLAN, "heat", PLANNED, Screen(100))


def test_the_memory_balance_adds_up_to_what_may_be_used() -> None:
    sizes = {"heap_mb": 1000, "off_heap_mb": 0, "overhead_mb": 400}
    plan = replace(
        PLAN,
        executors=[replace(executor, **sizes) for executor in PLAN.executors[:2]],
        driver=replace(PLAN.driver, heap_mb=400, overhead_mb=100),
        workload=PlannedWork(python=True),
    )
    nodes = [replace(node, memory_bytes=4000 << 20) for node in NODES]
    machine = replace(PLANNED, nodes=nodes)
    rows = memory_balance(plan, machine, Screen(100))
    left = next(row for row in rows if "left:" in row)
    assert left.endswith("4.5 GB"), rows  # 8000 - 2 x 1400 - 500 = 4700 MB
    assert any("Python workers" in row and row.endswith("800 MB") for row in rows)
    allowed = replace(PLANNED.allowed, memory_limit_bytes=4000 << 20)
    limited = memory_balance(plan, replace(machine, allowed=allowed), Screen(100))
    assert next(row for row in limited if "left:" in row).endswith("700 MB")


def test_the_collector_that_a_user_chose_is_shown_though_no_flag_of_the_plan_says_it() -> None:
    executors = [replace(e, java_options=["-XX:ParallelGCThreads=6"]) for e in PLAN.executors]
    chosen = Reason("collector", "ZGC", "set in extraJavaOptions", "user")
    lines = partitions(replace(PLAN, executors=executors, reasons=[chosen]), Screen.of())
    assert "\n".join(lines).count("Z x6") == 2  # rows: executors that are alike share one


def test_executors_that_are_not_bound_are_not_called_bound() -> None:
    asked = show_plan_briefly(PLAN, unbound=True)
    assert asked[0].startswith(f"plan: {len(PLAN.executors)} unbound executors (")
    assert "  place   not bound" in asked
    assert "unbound executors" in show_plan(PLAN, PLANNED, Screen(100), unbound=True)[1]
    because = "leased by job-1, and nothing fits beside them (...), so the executors run unbound"
    shared = replace(
        PLAN, reasons=[*PLAN.reasons, Reason("sharing", "CPUs 0-3 shared", because, "x")]
    )
    brief = show_plan_briefly(shared)
    assert "unbound executors" in brief[0] and "  place   not bound" in brief
    assert brief[-1] == f"  beside  CPUs 0-3 shared: {because}"
    assert "2 bound executors" in show_plan_briefly(PLAN)[0]


def test_the_brief_plan_has_five_lines_and_counts_in_the_singular_too() -> None:
    assert len(show_plan_briefly(PLAN)) == 5
    wide = replace(PLAN.executors[0], memory_nodes="0-1", task_slots=1)
    one = replace(PLAN, executors=[wide])
    brief = show_plan_briefly(one)
    assert "1 bound executor (" in brief[0] and "1 task slot in all, 1 per" in brief[1]
    assert brief[3].endswith(" on nodes 0-1")
    assert "1 x 1 task slot, 1 in all" in show_plan(one, PLANNED, Screen(100))[2]


def test_colour_changes_no_width_and_no_text() -> None:
    plain = show_plan(PLAN, PLANNED, Screen(100))
    coloured = show_plan(PLAN, PLANNED, Screen(100, colour=True))
    assert coloured != plain
    assert [shown_width(line) for line in coloured] == [len(line) for line in plain]


@pytest.fixture
def two_cores() -> Iterator[Topology]:
    """Two nodes: a free and a shared core, one that is not allowed, and a node without a CPU."""
    cores = [Core(at, 0, cpus) for at, cpus in enumerate(("0-1", "2-3", "4-5"))]
    nodes = [NumaNode(0, "0-5", 1 << 30, {}), NumaNode(8, "", 1 << 30, {})]
    yield replace(PLANNED, cores=cores, nodes=nodes, allowed=Allowed("0-3", "0"))


def test_the_map_tells_free_shared_and_forbidden_cores_apart(two_cores: Topology) -> None:
    lines = machine_map([(0, "0"), (1, "1")], two_cores, Screen(80))
    assert lines[:2] == ["  node 0    +.-", "  node 8    no CPU"]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_colours_are_for_terminals_and_not_under_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert Screen.of(Terminal()).colour
    assert not Screen.of(io.StringIO()).colour
    monkeypatch.setenv("NO_COLOR", "1")
    assert not Screen.of(Terminal()).colour


def test_a_huge_machine_is_planned_for_in_little_more_cpu_time_than_a_small_one(
    hearth: Command,
) -> None:
    """The least of three: a limit in seconds would measure the machine and its other work.

    It takes twice as much; the limit is for what would grow faster than the machine.
    """
    spent: dict[str, list[float]] = {HUGE: [], "1 node of 16 GB, 4 cores": []}
    for machine in [*spent] * 3:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = hearth("plan", "--machine", machine)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert ("4,096 CPUs" in done.stdout) == (machine == HUGE)
        spent[machine].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    huge, small = map(min, spent.values())
    assert huge < 4 * small
