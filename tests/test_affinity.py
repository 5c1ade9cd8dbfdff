"""Communication threads near the network device: the command."""

import json
import re
import subprocess
from pathlib import Path

from hearth.machine import paths
from support import ROOT, Command

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
    assert document.keys() | {"device"} == EXAMPLE.keys()
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


def test_the_agent_that_is_shipped_begins_its_work_in_a_jvm(
    hearth: Command, tmp_path: Path
) -> None:
    jar = hearth("lab", "affinity", "jar").stdout.strip()
    program = tmp_path / "Waits.java"
    main = "public static void main(String[] words) throws Exception { Thread.sleep(3000); }"
    program.write_text(f"class Waits {{ {main} }}")

    def run(argument: str) -> subprocess.CompletedProcess[str]:
        words = [str(paths.java()), f"-javaagent:{jar}={argument}", str(program)]
        return subprocess.run(words, capture_output=True, text=True, check=False, timeout=240)

    done = run("policy=o2ntc:1")
    assert done.returncode == 0
    assert re.search(r"^hearth-affinity: o2ntc:1, .*: CPUs \d+", done.stderr, re.MULTILINE)
    assert "not bound" not in done.stderr
    refused = run("policy=o3")
    assert refused.returncode == 2
    assert refused.stderr.startswith("hearth-affinity: policy 'o3' is unknown: use o2nts:N")
