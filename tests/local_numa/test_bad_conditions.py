"""What a user of local-numa sees when the machine, or a neighbour, is against it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from application import APPS, Outcome, Site

from support import ROOT, require

pytestmark = pytest.mark.spark

REFUSING = ROOT / "tests/refusing.py"
# A file system of a few megabytes, which nobody else sees and which goes with its last process.
FULL_DISK = 'mount -t tmpfs -o size="$0" none local && "$@"; code=$?; ls -A local >left; exit $code'


def needs_own_mounts() -> None:
    probe = ["unshare", "-m", "sh", "-c", "mount -t tmpfs none /mnt"]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        require("root", "a mount namespace of one's own is refused here")


def failed_in_order(site: Site, outcome: Outcome) -> bool:
    assert outcome.code != 0, outcome.output
    assert site.document("run.json")["state"] == "finished"
    return site.leftovers() == []


def tried(site: Site, master: str, *contexts: dict[str, str]) -> list[str]:
    """What is said of contexts with these settings, none of which leaves a lease."""
    (site.root / "leases").mkdir(exist_ok=True)
    words = [json.dumps(settings) for settings in contexts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEARTH_LEASES", str(site.root / "leases"))
        outcome = site.run("unmade.py", *words, master=master, spark__hearth__neighbours="avoid")
    assert outcome.code == 0, outcome.log[-4000:]
    assert [each["leases"] for each in outcome.report] == [[]] * len(contexts)
    assert site.leftovers() == []
    return [each["said"] for each in outcome.report]


ESCAPED = {"spark.app.id": "../escaped"}
CHECK = "spark.scheduler.barrier.maxConcurrentTasksCheck.interval"
GPU = {
    "spark.executor.resource.gpu.amount": "1",
    "spark.executor.resource.gpu.discoveryScript": str(APPS / "one_gpu.sh"),
    "spark.task.resource.gpu.amount": "1",
}


def test_a_context_that_cannot_be_made_says_why_starts_no_executor_and_holds_nothing(site: Site):
    contexts: dict[str, dict[str, str]] = {
        # In the backend, in Spark's scheduler behind that, and before the application's lease.
        "sometimes": {"spark.scheduler.maxRegisteredResourcesWaitingTime": "sometimes"},
        CHECK: {CHECK: "sometimes"},
        "spark.app.id: '../escaped' contains '/'": ESCAPED,
        "local-numa[4x12] (4 executors of 12 cores)": {"spark.master": "local-numa[two]"},
        "2 executors of 1 each need 2, and this machine has 1 (0)": GPU,
    }
    said = tried(site, "local-numa[2x1]", *contexts.values())
    for message, each in zip(contexts, said, strict=True):
        assert message in each
    after_the_last_start = site.log.rpartition("Started executor")[2]
    assert all(message in after_the_last_start for message in list(contexts)[-2:])


def test_local_numa_alone_runs_one_jvm_on_a_machine_too_small_to_partition(site: Site):
    """And a context that could not be made before it there holds nothing of the machine."""
    barrier, escaped, made = tried(site, "local-numa", {CHECK: "sometimes"}, ESCAPED, {})
    assert "sometimes" in barrier
    assert "spark.app.id: '../escaped' contains '/'" in escaped
    assert made == "counted 4"
    assert "Plan: partition native" in site.log
    assert "Started executor" not in site.log
    assert site.document("run.json")["state"] == "finished", "of the one that was made"


def test_a_full_disk_ends_the_application_and_says_so(site: Site):
    needs_own_mounts()
    # Each executor that starts finds the disk full: two are enough.
    conf = {"spark__executor__maxNumFailures": "1"}
    within = ("unshare", "-m", "sh", "-c", FULL_DISK, "2m")
    outcome = site.run("spill.py", "64", within=within, **conf)
    assert "No space left on device" in outcome.log
    assert "the disk under spark.local.dir is full" in outcome.log
    assert (site.root / "left").read_text() == ""
    assert failed_in_order(site, outcome)


def nodes_with_memory() -> str:
    file = Path("/sys/devices/system/node/has_memory")
    return file.read_text().strip() if file.exists() else "0"


#: The loopback interface without the addresses of the plan's hosts, as where it is IPv6 only.
ONE_ADDRESS = (
    "ip link set lo up && ip address delete 127.0.0.1/8 dev lo && "
    "ip address add 127.0.0.1/32 dev lo && export SPARK_LOCAL_IP=127.0.0.1"
)


def test_without_memory_policies_and_hosts_addresses_and_with_scratch_noexec_a_job_runs_as_planned(
    site: Site,
):
    needs_own_mounts()
    if not shutil.which("ip"):
        require("netns", "network namespaces need ip (apt-get install iproute2)")
    if nodes_with_memory() != "0":
        require("one node", "memory policies are needed on a machine with several memory nodes")
    refusing = f'exec {sys.executable} {REFUSING} 1 "$0" "$@"'
    script = f"{ONE_ADDRESS} && mount -t tmpfs -o noexec none local && {refusing}"
    within = ("unshare", "-m", "-n", "sh", "-c", script)
    # Zstd's library loads its native code from the temporary directory.
    outcome = site.run("spill.py", "1", within=within, spark__io__compression__codec="zstd")
    assert outcome.code == 0, outcome.log[-4000:]
    assert (
        outcome.log.count(
            "Executors have no memory policy and need none: they may only use memory node 0"
        )
        == 1
    )
    assert "(errno 1): EPERM" in outcome.log
    assert outcome.log.count("All executors have the machine's own address: ") == 1
    assert "\tat io.hearth" not in outcome.log
    placement = site.document("placement.json")["executors"]
    assert [e["verdict"] for e in placement] == ["as planned"] * 2
    assert site.leftovers() == []


def test_native_code_that_cannot_be_loaded_ends_the_application_with_one_sentence(site: Site):
    needs_own_mounts()
    (site.root / "jna").mkdir()
    script = 'mount -t tmpfs -o noexec none jna && exec "$0" "$@"'
    options = f"JAVA_TOOL_OPTIONS=-Djna.tmpdir={site.root / 'jna'}"
    within = ("unshare", "-m", "sh", "-c", script, "env", options)
    outcome = site.run("pause.py", "1", within=within, timeout=120)
    assert f"JNA's native code cannot be loaded from {site.root / 'jna'}, as " in outcome.log
    assert "-Djna.tmpdir=DIRECTORY" in outcome.log
    assert "Started executor" not in outcome.log
    assert "\tat io.hearth" not in outcome.log
    assert failed_in_order(site, outcome)
