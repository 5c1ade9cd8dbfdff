"""Communication threads of a driver (by the agent) and of an executor (by the plugin)."""

import os

import pytest
from application import Site

from hearth.machine.paths import affinity_jar
from support import require

pytestmark = pytest.mark.spark


def test_each_communication_thread_of_driver_and_executor_has_the_cpu_of_its_turn(
    site: Site,
) -> None:
    if len(os.sched_getaffinity(0)) == 1:
        require("cpus", "one CPU only: nothing to bind to")
    options = site.settings["spark.driver.extraJavaOptions"]
    outcome = site.run(
        "communication.py",
        master="local-numa[1x2]",
        spark__plugins="io.hearth.plugin.AffinityPlugin",
        spark__hearth__affinity="policy=any-threads:1",
        spark__driver__extraJavaOptions=f"{options} -javaagent:{affinity_jar()}=policy=o2ntc:1",
    )
    for process, server in (("driver", "rpc-server-"), ("executor", "rpc-client-")):
        threads = outcome.report[process]
        talking = {name for name in threads if name.startswith(("rpc-", "shuffle-"))}
        assert any(name.startswith(server) for name in talking), (process, threads)
        for name in talking:
            assert all(cpus.isdigit() for cpus in threads[name]), (process, name, threads[name])
        assert not any(cpus.isdigit() for cpus in threads["hearth-affinity"])
        assert threads["VM Thread"] == threads["hearth-affinity"]
        makers = [name for name in threads if name.startswith("dispatcher-")]
        assert makers
        for name in makers:  # of task threads, which inherit their CPUs
            assert threads[name] == threads["hearth-affinity"], (process, name)
    assert outcome.log.count("hearth-affinity: o2ntc:1") == 1, "the driver has one agent"
    assert [e["verdict"] for e in site.document("placement.json")["executors"]] == ["as planned"]
