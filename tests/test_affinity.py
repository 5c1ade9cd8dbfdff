"""Communication threads near the network device: the command."""

import json
import os
import re
import subprocess
from pathlib import Path

from hearth.base.ids import parse_ids
from hearth.machine import jvm
from support import ROOT, Command, validate

EXAMPLE = json.loads((ROOT / "contract" / "examples" / "affinity-plan.json").read_text())
POWER = EXAMPLE["source"]


def test_the_plan_of_a_described_machine_is_the_worked_example_of_the_contract(
    hearth: Command,
) -> None:
    done = hearth(
        "lab", "affinity", "plan", "--machine", POWER, "--policy", "near-threads:4", "--json"
    )
    assert json.loads(done.stdout) == EXAMPLE


def test_the_plan_of_this_machine_shows_device_place_and_cpus(hearth: Command) -> None:
    document = json.loads(hearth("lab", "affinity", "plan", "--json").stdout)
    validate("affinity-plan", document)
    assert document["policy"] == "near-all"
    shown = hearth("lab", "affinity", "plan").stdout
    assert f"every communication thread: CPUs {document['groups'][0]}\n" in shown


def test_the_defaults_are_shown_for_each_architecture(hearth: Command) -> None:
    shown = hearth("lab", "affinity", "defaults").stdout
    for architecture in ("POWER", "x86", "Arm"):
        assert f"  {architecture}" in shown
    assert "socket-threads  o2nts:N" in shown
    bases = [line for line in shown.splitlines() if re.match(r"  (POWER|x86|Arm) ", line)]
    assert len({line.split(maxsplit=1)[1] for line in bases}) == 3, "no two rows say the same"


def test_the_threads_of_a_process_are_shown_as_the_kernel_has_them(hearth: Command) -> None:
    own = Path("/proc/self/comm").read_text().strip()
    words = ["lab", "affinity", "show", str(os.getpid()), "--seconds", "0.2"]
    document = json.loads(hearth(*words, "--threads", own, "--json").stdout)
    validate("affinity-threads", document)
    main = next(thread for thread in document["threads"] if thread["tid"] == os.getpid())
    assert main["software"] == "named"
    assert set(parse_ids(main["cpus"])) == os.sched_getaffinity(os.getpid())
    shown = hearth(*words).stdout
    assert re.fullmatch(
        r"none of the \d+ threads of process \d+ is a communication thread\n", shown
    )


def test_the_agent_that_is_shipped_begins_its_work_in_a_jvm(hearth: Command) -> None:
    jar = hearth("lab", "affinity", "jar").stdout.strip()
    command = jvm.command("affinity-show", "--pid", str(os.getpid()), "--seconds", "3")

    def run(argument: str) -> subprocess.CompletedProcess[str]:
        words = [command[0], f"-javaagent:{jar}={argument}", *command[1:]]
        return subprocess.run(words, capture_output=True, text=True, check=False, timeout=240)

    done = run("policy=o2ntc:1")
    assert done.returncode == 0
    assert re.search(r"^hearth-affinity: o2ntc:1, .*: CPUs \d+", done.stderr, re.MULTILINE)
    assert "not bound" not in done.stderr
    refused = run("policy=o3")
    assert refused.returncode == 2
    assert refused.stderr.startswith("hearth-affinity: policy 'o3' is unknown: use o2nts:N")
