"""What hearth promises on a NUMA machine, held against the kernel of an emulated one.

One boot per shape; the guests collect, the tests judge. Evidence stays in build/numalab/SHAPE.
Two shapes boot always, one of them with a bound Spark in it, and two guests that a cable joins; the
others only where HEARTH_NUMALAB=all (`make test-lab`).
"""

import json
import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from numalab.cases import (
    binding_plugin,
    communication,
    memory_probe,
    switches,
    two_applications,
    two_machines_app,
    wire_over_rdma,
)
from numalab.idset import parse_ids
from numalab.machine import Boot
from numalab.shape import Shape, load, names

from numalab import image, judge, machine, reading, setup
from support import require

# A boot is killed after this: several times what it takes on two idle cores.
LIMIT_SECONDS = 2400
# The kernel keeps a part of a node's memory for itself (3 to 6 % seen): what it reports is less.
LEAST_MEMORY = 0.9
# These boot always; an emulated Spark job takes minutes: the first has one.
SHAPES = ["two-nodes", "partial-cpuset"]
# What every shape is held against.
SMALL_CASES = ("topology", "controls", "memory_probe", "communication")
WANTED = "HEARTH_NUMALAB"
# What a packet of soft-RoCE carries at most, on a device whose frames are 1,500 bytes.
PACKET_BYTES = 1024
EVIDENCE = Path(__file__).resolve().parents[2] / "build" / "numalab"


def wants_all() -> bool:
    chosen = os.environ.get(WANTED, "")
    if chosen not in ("", "all"):
        pytest.fail(f"{WANTED}: '{chosen}' is not all", pytrace=False)
    return chosen == "all"


def has_spark(name: str) -> bool:
    return name == SHAPES[0] or wants_all()


def further_cases(name: str) -> list[str]:
    """Spark jobs of minutes that run when all is asked for, each in one shape."""
    if not wants_all():
        return []
    engine = ["containers"] if image.has_engine() else []
    return {
        "two-nodes": ["binding_plugin", "characterise", "two_applications", *engine],
        "four-nodes": ["package_binding"],
    }.get(name, [])


@pytest.fixture
def all_wanted() -> None:
    if not wants_all():
        pytest.skip(f"emulated Spark jobs of minutes: {WANTED}=all runs them")


def check_lab() -> None:
    missing = setup.missing_packages()
    if missing:
        require("numa", f"these are not installed: apt-get install {' '.join(missing)}")
    if machine.hearth_jar() is None:
        require("numa", "the hearth jar is not built: run `make setup`")
    try:
        image.java_home()
        image.virtual_environment()
        setup.kernel_image()
    except setup.LabUnavailableError as problem:
        require("numa", str(problem))


Booted = tuple[Shape, Boot]


@pytest.fixture(scope="session")
def boots(request: pytest.FixtureRequest) -> Callable[[str], Booted]:
    """Boots a shape the first time it is asked for; a guest that failed is not booted again.

    But one in which a JVM crashed, which emulation is suspected of, is, once, with a message.
    """
    check_lab()
    done: dict[str, Boot | machine.GuestFailedError] = {}

    def boot(name: str) -> Booted:
        shape = load(name)
        if name not in done:
            cases = [*SMALL_CASES, *(["local_numa"] if has_spark(name) else [])]
            cases += further_cases(name)
            # One shows for all, and as the last: it leaves swap.
            cases += ["switches"] if name == SHAPES[0] else []
            say(request, f"\n{name}: boots for {', '.join(cases)} (at most {LIMIT_SECONDS} s)")
            try:
                done[name] = machine.boot(shape, cases, EVIDENCE / name, LIMIT_SECONDS)
                if done[name].jvm_crashed():
                    say(request, f"{name}: a JVM CRASHED in the guest; it boots once more")
                    done[name] = machine.boot(shape, cases, EVIDENCE / name, LIMIT_SECONDS)
            except machine.GuestFailedError as problem:
                done[name] = problem
            say(request, f"{name}: done; evidence in {EVIDENCE / name}")
        outcome = done[name]
        if isinstance(outcome, machine.GuestFailedError):
            pytest.fail(f"{name}: {outcome}", pytrace=False)
        return shape, outcome

    return boot


@pytest.fixture(params=names())
def booted(request: pytest.FixtureRequest, boots: Callable[[str], Booted]) -> Booted:
    if request.param not in SHAPES and not wants_all():
        pytest.skip(f"{request.param}: {WANTED}=all boots it")
    return boots(request.param)


@pytest.fixture(scope="session")
def joined(request: pytest.FixtureRequest) -> list[Path]:
    """The evidence of two guests that a cable joins, each with soft-RoCE on its end."""
    check_lab()
    if not image.has_rdma():
        require("ucx", "UCX or rdma: apt-get install libucx0 ibverbs-providers iproute2")
    cases = ["wire_over_rdma", *(["two_machines"] if wants_all() else [])]
    say(request, f"\ntwo machines: boot for {', '.join(cases)} (at most {LIMIT_SECONDS} s)")
    boots = machine.boot_two(load("two-nodes"), cases, EVIDENCE / "two-machines", LIMIT_SECONDS)
    return [boot.evidence for boot in boots]


def say(request: pytest.FixtureRequest, line: str) -> None:
    """Progress, past pytest's capturing: a boot takes minutes."""
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(line, flush=True)


@pytest.fixture(params=names())
def spark(request: pytest.FixtureRequest, boots: Callable[[str], Booted]) -> tuple[Shape, Path]:
    if not has_spark(request.param):
        pytest.skip(f"{request.param}: an emulated Spark job of minutes: {WANTED}=all runs it")
    shape, done = boots(request.param)
    evidence = done.evidence / "local_numa"
    if not (evidence / "result.json").is_file():
        pytest.fail(f"the job did not end well:\n{last_words(evidence)}", pytrace=False)
    return shape, evidence


def last_words(evidence: Path) -> str:
    files = [evidence / name for name in ("error.txt", "output.txt")]
    return "\n".join(f.read_text(errors="replace")[-3000:] for f in files if f.is_file())


def test_a_guests_clock_does_not_run_ahead(booted: Booted) -> None:
    """Or every limit of time inside is over at once, however busy this machine is."""
    _, done = booted
    uptime = json.loads((done.evidence / "times.json").read_text())["uptime"]
    assert uptime < 1.1 * done.seconds


@pytest.mark.parametrize("reader", [reading.hearth, reading.kernel, reading.hwloc])
def test_the_machine_is_read_as_it_was_built(booted: Booted, reader) -> None:
    shape, done = booted
    wanted, read = shape.expected(), reader(done.evidence / "topology")
    given, reported = wanted.pop("memory_mb"), read.pop("memory_mb")
    assert read == wanted
    assert given.keys() == reported.keys()
    for node, megabytes in given.items():
        assert LEAST_MEMORY * megabytes <= reported[node] <= megabytes


def test_hearth_and_hwloc_agree_with_the_kernel_on_memory_to_the_megabyte(booted: Booted) -> None:
    evidence = booted[1].evidence / "topology"
    kernel = reading.kernel(evidence)["memory_mb"]
    assert reading.hearth(evidence)["memory_mb"] == kernel
    assert reading.hwloc(evidence)["memory_mb"] == kernel


def test_a_process_bound_by_numactl_passes_for_bound(booted: Booted) -> None:
    assert control_faults(booted, "bound") == []


def test_an_unbound_process_does_not_pass_for_bound(booted: Booted) -> None:
    faults = " ".join(control_faults(booted, "unbound"))
    assert "allowed CPUs" in faults
    assert "memory policies" in faults


def test_a_process_with_its_memory_on_another_node_does_not_pass_for_bound(booted: Booted) -> None:
    faults = " ".join(control_faults(booted, "half_bound"))
    assert "allowed CPUs" not in faults
    assert "anonymous bytes" in faults


@pytest.mark.parametrize(("direction", "node"), [("local", "1"), ("remote", "0")])
def test_the_memory_probe_tells_local_from_remote_pages(
    booted: Booted, direction: str, node: str
) -> None:
    shape, done = booted
    evidence = done.evidence / "memory_probe" / direction
    (row,) = json.loads((evidence / "rows.json").read_text())
    anonymous = {name: kb["anon_kb"] for name, kb in row["nodes"].items() if kb["anon_kb"]}
    assert set(anonymous) == {node}
    assert anonymous[node] >= memory_probe.HELD_MB << 10
    assert row["policies"] == {f"bind:{node}": sum(row["policies"].values())}
    process = judge.observe(evidence)
    assert {str(n): size >> 10 for n, size in process.anonymous.items() if size} == anonymous
    assert process.cpus == shape.usable(shape.nodes[1])


@pytest.mark.parametrize("policy", communication.POLICIES)
def test_communication_threads_run_near_the_network_device_as_the_policy_says(
    booted: Booted, policy: str
) -> None:
    shape, done = booted
    evidence = done.evidence / "communication"
    assert not (evidence / "error.txt").exists(), last_words(evidence)
    device = shape.nodes[shape.networks[0]]
    assert int((evidence / "numa_node").read_text()) == device.id
    near = shape.usable(shape.near(device))
    everywhere = shape.cpuset
    cores = shape.usable_cores()
    wanted = {
        "near-threads:1": [{cpu} for cpu in near],
        "near-all": [near],
        "near-core": [core & near for core in cores if core & near],
        "o2acs": [shape.usable_socket(near)],
        "o2ntc:1": [{cpu} for cpu in everywhere],
        "o2occ": cores,
    }[policy]
    place = evidence / policy.replace(":", "-")
    threads = judge.observe(place).threads
    talking = [
        t for t in threads if t.name.startswith(("IPC Server hand", "Socket Reader", "rpc-"))
    ]
    assert len(talking) == 6
    turns = Counter(t.allowed for t in talking)
    assert set(turns) == {frozenset(cpus) for cpus in wanted}, (place / "err").read_text()
    assert max(turns.values()) - min(turns.values()) <= 1, "in turn"
    others = {t.name: t.allowed for t in threads if t not in talking}
    assert {"worker", "main-2", "hearth-affinity"} <= set(others)
    assert all(allowed == everywhere for allowed in others.values()), others


def test_characterise_puts_memory_on_the_node_that_it_names(
    all_wanted: None, boots: Callable[[str], Booted]
) -> None:
    _, done = boots("two-nodes")
    evidence = done.evidence / "characterise"
    assert (evidence / "status").read_text() == "0", (evidence / "log").read_text()
    (question,) = json.loads((evidence / "answer.json").read_text())["questions"]
    arms = {arm["name"]: arm["measures"] for arm in question["comparison"]["arms"]}
    assert set(arms) == {"local", "node 1"}
    # What is remote of the local run is shared pages of files that others mapped first.
    assert arms["local"]["remote_share"] < 0.1
    assert arms["node 1"]["remote_share"] > 0.8


def assert_right_and_as_planned(evidence: Path) -> None:
    """The job's counts are right, and hearth's own proof found both executors as planned."""
    assert (evidence / "result.json").is_file(), last_words(evidence)
    result = json.loads((evidence / "result.json").read_text())
    assert result["counts"] == [result["expected"]] * 3
    (report,) = (evidence / "state").rglob("placement.json")
    executors = json.loads(report.read_text())["executors"]
    assert [executor["verdict"] for executor in executors] == ["as planned"] * 2


def test_executors_in_containers_have_their_node_by_their_cpusets(
    all_wanted: None, boots: Callable[[str], Booted]
) -> None:
    if not image.has_engine():
        require("docker", "there is no engine to put into the guest: apt-get install docker.io")
    shape, done = boots("two-nodes")
    evidence = done.evidence / "containers"
    assert_right_and_as_planned(evidence)
    for moment in ("before", "after"):
        homes: dict[str, list[int]] = {"executors": [], "workers": []}
        for kind, nodes in homes.items():
            for path in (evidence / moment / kind).iterdir():
                process = judge.observe(path)
                (node,) = {shape.node_of(cpu) for cpu in process.cpus}
                assert judge.faults(process, process.cpus, node, by_cpuset=True) == []
                nodes.append(node)
        assert sorted(homes["executors"]) == [node.id for node in shape.nodes]
        assert homes["workers"]


def test_two_applications_at_once_have_cpus_and_memory_of_a_node_each(
    all_wanted: None, boots: Callable[[str], Booted]
) -> None:
    shape, done = boots("two-nodes")
    evidence = done.evidence / "two_applications"
    homes = []
    for name in two_applications.NAMES:
        said = (evidence / f"{name}.txt").read_text(errors="replace")[-3000:]
        assert (evidence / f"{name}.status").read_text() == "0", said
        process = judge.observe(evidence / name)
        homes.append(shape.node_of(min(process.cpus)))
        wanted = shape.usable(shape.nodes[homes[-1]])
        assert judge.faults(process, wanted, homes[-1]) == [], name
    assert sorted(homes) == [node.id for node in shape.nodes]


def test_an_executor_bound_to_a_package_has_its_cpus_and_the_memory_of_its_nodes(
    all_wanted: None, boots: Callable[[str], Booted]
) -> None:
    shape, done = boots("four-nodes")
    evidence = done.evidence / "package_binding"
    assert_right_and_as_planned(evidence)
    for moment in ("before", "after"):
        homes = []
        for path in (evidence / moment / "executors").iterdir():
            process = judge.observe(path)
            nodes = {shape.node_of(cpu) for cpu in process.cpus}
            assert all(thread.allowed == process.cpus for thread in process.threads)
            assert {node for node, size in process.anonymous.items() if size} <= nodes
            homes.append(sorted(nodes))
        assert sorted(homes) == [[0, 1], [2, 3]]


def control_faults(booted: Booted, name: str) -> list[str]:
    shape, done = booted
    process = judge.observe(done.evidence / "controls" / name)
    return judge.faults(process, shape.usable(shape.nodes[1]), 1)


def test_the_job_gives_the_right_answers_although_an_executor_dies_in_it(spark) -> None:
    _, evidence = spark
    result = json.loads((evidence / "result.json").read_text())
    assert result["counts"] == [result["expected"]] * 3
    assert (evidence / "status").read_text() == "0"


@pytest.mark.parametrize("moment", ["before", "after"])
def test_each_executor_has_a_node_of_its_own_and_all_its_heap_there(spark, moment: str) -> None:
    shape, evidence = spark
    executors = sorted((evidence / moment / "executors").iterdir())
    places = {path.name: placed(shape, path) for path in executors}
    assert len(places) == shape.spark.executors
    assert sorted(places.values()) == [node.id for node in shape.nodes if shape.usable(node)]


def test_a_killed_executor_is_replaced_on_its_own_node(spark) -> None:
    shape, evidence = spark
    killed = json.loads((evidence / "result.json").read_text())["killed"]
    before = {p.name: placed(shape, p) for p in (evidence / "before" / "executors").iterdir()}
    after = {p.name: placed(shape, p) for p in (evidence / "after" / "executors").iterdir()}
    assert killed not in after
    (replacement,) = after.keys() - before.keys()
    assert after[replacement] == before[killed]
    assert {n: after[n] for n in before if n != killed} == {
        n: before[n] for n in before if n != killed
    }


@pytest.mark.parametrize("moment", ["before", "after"])
def test_python_workers_are_bound_as_their_executor_is(spark, moment: str) -> None:
    shape, evidence = spark
    workers = sorted((evidence / moment / "workers").iterdir())
    nodes = {p.name: placed(shape, p) for p in (evidence / moment / "executors").iterdir()}
    assert {(worker / "executor").read_text() for worker in workers} == set(nodes)
    for worker in workers:
        node = nodes[(worker / "executor").read_text()]
        assert node == placed(shape, worker)


def test_hearth_reports_of_each_executor_what_the_kernel_showed_us(spark) -> None:
    shape, evidence = spark
    (report,) = (evidence / "state").rglob("placement.json")
    reported = {e["executor_id"]: e for e in json.loads(report.read_text())["executors"]}
    for path in (evidence / "after" / "executors").iterdir():
        entry = reported[path.name]
        assert parse_ids(entry["kernel"]["cpus_allowed"]) == judge.observe(path).cpus
        assert list(entry["kernel"]["policies"]) == [f"bind:{placed(shape, path)}"]
        assert entry["drift"] == []


def test_executors_that_a_cluster_starts_bind_themselves_to_a_node_each_with_all_they_hold(
    all_wanted: None, boots: Callable[[str], Booted]
) -> None:
    shape, done = boots("two-nodes")
    evidence = done.evidence / "binding_plugin"
    assert (evidence / "result.json").is_file(), last_words(evidence)
    (document,) = (evidence / "state" / "bindings").iterdir()
    reported = {e["executor_id"]: e for e in json.loads(document.read_text())["executors"]}
    nodes = {}
    for path in (evidence / "executors").iterdir():
        process, report = judge.observe(path), reported[path.name]
        nodes[path.name] = node = on_one_node(shape, process)
        assert len(process.cpus) == binding_plugin.CORES
        assert process.anonymous[node] > binding_plugin.HEAP_MB << 20
        assert (report["state"], report["warnings"]) == ("bound", [])
        assert parse_ids(report["kernel"]["cpus_allowed"]) == process.cpus
        assert set(report["kernel"]["anonymous_bytes"]) == {str(node)}
    assert sorted(nodes.values()) == [0, 1]
    workers = [*(evidence / "workers").iterdir()]
    assert {(worker / "executor").read_text() for worker in workers} == set(nodes)
    for worker in workers:
        node = nodes[(worker / "executor").read_text()]
        cpus = shape.usable(shape.nodes[node])
        assert judge.faults(judge.observe(worker), cpus, node) == []


def on_one_node(shape: Shape, process: judge.Observed) -> int:
    """The one node of all a process's threads and memory, by whatever policy they came there."""
    (node,) = {
        shape.node_of(cpu) for thread in process.threads for cpu in thread.allowed | process.cpus
    }
    assert set(+process.anonymous) == {node}, dict(process.anonymous)
    return node


@pytest.mark.parametrize("name", switches.WRONG)
def test_a_setting_of_a_real_kernel_is_switched_and_taken_back_and_changed_by_hand(
    boots: Callable[[str], Booted], name: str
) -> None:
    _, done = boots("two-nodes")
    evidence = done.evidence / "switches"
    assert not (evidence / "error.txt").exists(), last_words(evidence)
    told = json.loads((evidence / "switched.json").read_text())[name]
    assert "undone" in told, told
    assert switches.WRONG[name].items() <= told["wrong"].items()
    assert told["then"].startswith("Fine("), told
    assert all(told["fixed"][path] != value for path, value in switches.WRONG[name].items())
    assert told["undone"] == told["wrong"]
    assert told["by_command"] == told["fixed"]


def test_a_setting_that_is_to_last_is_one_that_sysctl_reads(
    boots: Callable[[str], Booted],
) -> None:
    _, done = boots("two-nodes")
    told = json.loads((done.evidence / "switches" / "command.json").read_text())
    assert "by_sysctl" in told, told
    path = "proc/sys/vm/swappiness"
    assert told["by_command"] == told["by_sysctl"] == {path: "1"}, told["drop_in"]


def placed(shape: Shape, process: Path) -> int:
    """The node that a captured process is bound to; fails, in words, where it is not bound."""
    observed = judge.observe(process)
    homes = {shape.node_of(cpu) for cpu in observed.cpus}
    assert len(homes) == 1, f"{process.name} may run on nodes {sorted(homes)}"
    (node,) = homes
    assert observed.cpus <= shape.usable(shape.nodes[node])
    assert len(observed.cpus) == asked_cores(shape)
    assert judge.faults(observed, observed.cpus, node) == []
    return node


def asked_cores(shape: Shape) -> int:
    """M of the shape's master `local-numa[NxM]`."""
    cores = re.search(r"x(\d+)\]", shape.spark.master)
    assert cores, f"{shape.spark.master} fixes no cores"
    return int(cores.group(1))


def test_messages_between_two_machines_go_by_rdma_and_come_back_as_they_were(
    joined: list[Path],
) -> None:
    for packets in messages_came_back(joined, "reachable"):
        assert packets * PACKET_BYTES > sum(wire_over_rdma.SIZES)


def test_a_peer_that_rdma_does_not_reach_is_served_over_tcp_and_no_process_ends(
    joined: list[Path],
) -> None:
    for packets in messages_came_back(joined, "unreachable"):
        assert packets * PACKET_BYTES < min(wire_over_rdma.SIZES[-2:])


def messages_came_back(joined: list[Path], way: str) -> list[int]:
    """How many packets each of the two adapters received meanwhile."""
    serving, asking = (evidence / "wire_over_rdma" / way for evidence in joined)
    said = [line for line in (asking / "out").read_text().splitlines() if line.startswith("same")]
    assert said == [f"same {size}" for size in wire_over_rdma.SIZES], (asking / "err").read_text()
    assert (asking / "status").read_text() == "0"
    assert ((serving / "alive").read_text(), (serving / "status").read_text()) == ("True", "0")
    ends = (serving, asking)
    return [json.loads((end / "counters.json").read_text())["rcvd_pkts"] for end in ends]


def test_sparks_shuffle_goes_by_rdma_where_both_have_ucx_and_survives_a_killed_executor(
    all_wanted: None, joined: list[Path]
) -> None:
    first, second = (evidence / "two_machines" for evidence in joined)
    assert (first / "status").read_text() == "0", (first / "driver.log").read_text()[-3000:]
    report = json.loads((first / "report.json").read_text())
    assert report["groups"] == {str(key): two_machines_app.ROWS // 10 for key in range(10)}
    assert report["in_order"]
    assert report["count"] == two_machines_app.ROWS == report["count_after_kill"]
    assert "Lost executor" in (first / "driver.log").read_text()
    logs = [log.read_text() for end in (first, second) for log in end.glob("work-*/*/*/stderr")]
    assert sum("come over hearth's wire, by ucx" in log for log in logs) >= 2
    assert any("by tcp as the peer: jucx is not on the class path" in log for log in logs)
    for end in (first, second):
        by_ucx = sum(
            int(file.read_text().splitlines()[-1].split(",")[1])
            for file in end.glob("metrics/*.hearth.shuffle.ucx.fetchedBytes.csv")
        )
        packets = json.loads((end / "counters.json").read_text())["rcvd_pkts"]
        assert 0 < by_ucx < packets * PACKET_BYTES
