"""Communication threads near the network device: the command."""

import json

from support import ROOT, Command
from test_contract import validate

EXAMPLE = json.loads((ROOT / "contract" / "examples" / "affinity-plan.json").read_text())
POWER = EXAMPLE["source"]


def test_the_plan_of_a_described_machine_is_the_worked_example_of_the_contract(
    hearth: Command,
) -> None:
    done = hearth("affinity", "plan", "--machine", POWER, "--policy", "o2nts:4", "--json")
    assert json.loads(done.stdout) == EXAMPLE


def test_the_plan_of_this_machine_shows_device_place_and_cpus(hearth: Command) -> None:
    document = json.loads(hearth("affinity", "plan", "--json").stdout)
    validate("affinity-plan", document)
    assert document["policy"] == "o2acs"
    shown = hearth("affinity", "plan").stdout
    assert f"every communication thread: CPUs {document['groups'][0]}\n" in shown


def test_a_device_that_is_not_there_is_one_line_that_names_those_that_are(hearth: Command) -> None:
    done = hearth("affinity", "plan", "--machine", POWER, "--device", "eth7")
    message = "hearth: device 'eth7' is not on this machine: it has mlx5_0\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)


def test_the_defaults_are_shown_for_each_architecture(hearth: Command) -> None:
    shown = hearth("affinity", "defaults").stdout
    for architecture in ("POWER", "x86", "Arm"):
        assert f"  {architecture}" in shown
    assert "o2nts:N  near-threads" in shown
