"""A finding that is fixed for as long as a run lasts, and what the doctor says of its worth."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from doctor.cases import CASES
from doctor.made_machine import Given, booted
from hearth.base.errors import UserError
from hearth.doctor.brief import findings_in_brief
from hearth.doctor.examine import examine
from hearth.doctor.machine import Machine
from hearth.doctor.measured import measured_fixes
from hearth.doctor.rule import Worth
from hearth.doctor.rules import RULES, changes_of
from hearth.machine.switch import SavedValue, Switch, Switched
from hearth.record.schema import Launched, Setting
from hearth.record.store import RecordWriter
from hearth.report.kinds import show_document
from hearth.report.terminal.screen import Screen
from hearth.spark.saved_configs import machine_key
from hearth.studies.compare.result import ComparisonSettings
from hearth.studies.compare.study import Comparison, run
from hearth.studies.engine.arms import Arm, fixing_arms, setting_words
from hearth.studies.engine.trial import Trial, Turn
from support import ROOT, Command, eventually, require

CHECK = "memory-maps"
PATH = "proc/sys/vm/max_map_count"
AS_IS = [10.0, 10.2, 9.8, 10.1, 9.9, 10.0, 10.3, 9.7]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine with one finding that can be fixed."""
    return booted(tmp_path)


@pytest.fixture
def machine(root: Path) -> Machine:
    return CASES[CHECK].wrong.machine(root)


@pytest.fixture
def switch(root: Path, tmp_path: Path) -> Switch:
    return Switch(root, tmp_path / "state" / "doctor" / "switched")


def now(root: Path) -> str:
    return (root / PATH).read_text().strip()


def test_a_setting_is_changed_for_a_while_and_put_back(
    root: Path, machine: Machine, switch: Switch
) -> None:
    planned = switch.plan(CHECK, changes_of(CHECK, machine), persist=False)
    with switch.held(planned):
        assert now(root) == "262144"
    assert now(root) == "65530"
    with pytest.raises(ZeroDivisionError), switch.held(planned):
        _ = 1 / 0
    assert now(root) == "65530"
    assert not list((root.parent / "state").rglob("*.json"))


_HOLD = """
import sys, time
from pathlib import Path
from hearth.machine.switch import SavedValue, Switch, Switched
switch = Switch(Path(sys.argv[1]), Path(sys.argv[2]))
planned = Switched("memory-maps", switch._boot(), [SavedValue(sys.argv[3], "65530", "262144")], [])
with switch.held(planned):
    print("held", flush=True)
    time.sleep(60)
"""


def killed(root: Path, folder: Path) -> None:
    """A process that holds the setting, and is killed meanwhile."""
    words = [sys.executable, "-c", _HOLD, str(root), str(folder), PATH]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=environment) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert now(root) == "262144"
        holder.send_signal(signal.SIGKILL)


def test_after_kill_9_a_guardian_puts_it_back(root: Path, machine: Machine, tmp_path: Path) -> None:
    folder = tmp_path / "state" / "doctor" / "switched"
    killed(root, folder)
    eventually("the old value is back", lambda: now(root) == "65530", 40)
    eventually("nothing is kept", lambda: not list(folder.glob("*.json")), 10)


def abandoned(switch: Switch) -> None:
    """What is left where the guardian is killed too."""
    switch.apply(Switched(CHECK, switch._boot(), [SavedValue(PATH, "65530", "262144")], [], True))


def test_what_was_abandoned_is_put_back_and_told(
    root: Path, machine: Machine, switch: Switch
) -> None:
    abandoned(switch)
    assert switch.take_back_abandoned() == [
        "put back memory-maps, which a comparison that was killed had switched"
    ]
    assert now(root) == "65530"
    assert switch.take_back_abandoned() == []


def test_what_a_user_has_fixed_is_not_abandoned(
    root: Path, machine: Machine, switch: Switch
) -> None:
    switch.apply(switch.plan(CHECK, changes_of(CHECK, machine), persist=False))
    assert switch.take_back_abandoned() == []
    assert now(root) == "262144"


def test_while_one_comparison_has_it_switched_no_other_touches_it(
    root: Path, machine: Machine, switch: Switch, tmp_path: Path
) -> None:
    planned = switch.plan(CHECK, changes_of(CHECK, machine), persist=False)
    other = Switch(root, tmp_path / "state" / "doctor" / "switched")
    with switch.held(planned):
        assert other.take_back_abandoned() == []
        with pytest.raises(UserError, match="'hearth compare', which puts it back"):
            other.undo(CHECK)
        with pytest.raises(UserError, match="wait until it has ended"), other.held(planned):
            pass
        assert now(root) == "262144"


@pytest.mark.command
def test_the_next_command_puts_back_what_was_abandoned(hearth: Command, tmp_path: Path) -> None:
    """The hop limit of this network namespace stands for a setting of the machine."""
    path = "proc/sys/net/ipv4/ip_default_ttl"
    file = Path("/") / path
    if not os.access(file, os.W_OK):
        require("root", f"/{path} cannot be written")
    before = file.read_text().strip()
    after = "63" if before != "63" else "62"
    switch = Switch.of(tmp_path / "state")
    switch.apply(Switched("turbo", switch._boot(), [SavedValue(path, before, after)], [], True))
    done = hearth("runs")
    assert "put back turbo, which a comparison that was killed had switched" in done.stderr
    assert file.read_text().strip() == before


@pytest.mark.command
def test_a_command_goes_on_where_it_may_not_look(hearth: Command, tmp_path: Path) -> None:
    folder = tmp_path / "state" / "doctor" / "switched"
    Switch(Path("/"), folder)._keep(Switched("turbo", "", [], [], True))
    (folder / "lock").mkdir()
    done = hearth("runs")
    assert done.returncode == 0
    assert "a switched setting may still have to be restored: [Errno" in done.stderr


def test_a_fix_is_an_arm_and_what_cannot_be_switched_is_skipped_with_the_reason(
    root: Path, machine: Machine, switch: Switch
) -> None:
    names = ["as-is", "fixed:memory-maps", "fixed:turbo", "fixed:uneven-nodes"]
    machine = replace(machine, topology=CASES["uneven-nodes"].wrong.machine(root).topology)
    found = fixing_arms(
        names, lambda name: switch.plan(name, changes_of(name, machine), persist=False)
    )
    assert [arm.name for arm in found] == names
    assert found[0] == Arm("as-is")
    assert found[1].fix is not None and found[1].skipped is None
    said = "/proc/sys/vm/max_map_count set to 262144 for its runs, 65530 before"
    assert setting_words(found[1]) == said
    assert (found[2].skipped or "").startswith("there is nothing to fix in turbo: there is no /sys")
    assert "hearth cannot change uneven-nodes itself: " in (found[3].skipped or "")
    assert (found[3].skipped or "").endswith(", and a reboot")


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("native,fixed:turbo", "use as-is,fixed:NAME"),
        ("as-is", "use as-is,fixed:NAME"),
        ("as-is,fixed:turbo,fixed:turbo", "needs each finding once"),
        ("as-is,plan", "use as-is,fixed:NAME"),
    ],
)
def test_arms_that_do_not_tell_what_a_fix_is_worth_are_refused(names: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        fixing_arms(names.split(","), lambda name: Switched(name, "", [], []))


def test_a_fix_is_kept_by_the_doctor_and_not_by_compare(refused: Callable[..., str]) -> None:
    Path("a.py").write_text("")
    said = refused("compare", "--keep", "--arms", "as-is,fixed:turbo", "a.py")
    assert said.endswith("--keep: not accepted with fixed:NAME: hearth doctor --fix NAME keeps it")


class Recorded:
    """A target that records what a setting is during each run."""

    name, timed = "job.py", "nothing"

    def __init__(self, root: Path) -> None:
        self.root, self.seen = root, {"as-is": set(), "fixed:memory-maps": set()}  # type: ignore[var-annotated]

    def run(self, turn: Turn, arm: Arm, record: Path, log: Path) -> Trial:
        self.seen[arm.name].add(now(self.root))
        setting = Setting(now(self.root), f"/{PATH}")
        launched = Launched(master="x", machine_settings={"maps": setting})
        RecordWriter.create(record, "job", launched).finish("finished", 0, 1.0)
        return Trial(turn, seconds=1.0, record=record.name)


def test_the_setting_is_switched_for_the_runs_of_its_arm_alone(
    root: Path, machine: Machine, switch: Switch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Switch, "of", staticmethod(lambda state: switch))
    planned = switch.plan(CHECK, changes_of(CHECK, machine), persist=False)
    both = [Arm("as-is"), Arm("fixed:memory-maps", fix=planned)]
    settings = ComparisonSettings(1, seed=1, command=["job.py"], repeat=2)
    target = Recorded(root)
    run(Comparison.begin(tmp_path / "state", "job.py", both, settings), both, target)
    assert target.seen == {"as-is": {"65530"}, "fixed:memory-maps": {"262144"}}
    assert now(root) == "65530"


def kept(state: Path, seconds: list[float], application: str = "job.py") -> Comparison:
    """A comparison of a fix with the machine as it is."""
    fix = Switched(CHECK, "", [SavedValue(PATH, "65530", "262144")], [])
    both = [Arm("as-is"), Arm("fixed:memory-maps", fix=fix)]
    settings = ComparisonSettings(1, seed=1, command=[application], repeat=len(AS_IS))
    comparison = Comparison.begin(state, application, both, settings)
    for n, pair in enumerate(zip(AS_IS, seconds, strict=True)):
        for arm, took in zip(("as-is", "fixed:memory-maps"), pair, strict=True):
            comparison.keep(Trial(Turn(application, arm, n), took))
    return comparison


def faster(share: float) -> list[float]:
    return [share * second for second in AS_IS]


def test_the_doctor_quotes_what_was_measured_here_with_its_interval(tmp_path: Path) -> None:
    comparison = kept(tmp_path, faster(0.9))
    found, problems = measured_fixes(tmp_path)
    worth = found[CHECK]
    assert not problems
    assert worth.kind == "measured" and worth.percent == pytest.approx(10)
    assert worth.text.startswith("measured here, faster: 0.90 of the time with it (95% interval ")
    assert worth.text.endswith(f", {comparison.head.id})") and "8 pairs; job.py on " in worth.text
    machine = CASES[CHECK].wrong.machine(tmp_path / "root")
    shown = examine(machine, None, {}, [RULES[CHECK]], measured=found)
    assert "worth: measured here, faster: 0.90" in "\n".join(show_document(shown, Screen()))


def test_a_run_quotes_a_setting_that_was_measured_to_cost_it_time(
    root: Path, machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEARTH_STATE", str(tmp_path))

    def quoted(application: str) -> list[str]:
        return findings_in_brief({}, None, application, root)

    assert quoted("jobs/job.py") == []
    kept(tmp_path, faster(0.8))
    (said,) = quoted("jobs/job.py")
    assert said.startswith("vm.max_map_count = 65530 (measured here, faster: 0.80 of the time")
    kept(tmp_path, faster(1.2), "other.py")
    assert quoted("jobs/job.py") == [said]
    assert quoted("other.py") == []


def test_a_figure_that_is_in_doubt_is_quoted_with_the_doubt(tmp_path: Path) -> None:
    kept(tmp_path, [0.9 * second for second in [*AS_IS[:-1], 60.0]])
    worth = measured_fixes(tmp_path)[0][CHECK]
    assert ", in doubt: outlier" in worth.text


def test_what_is_not_decided_is_said_so(tmp_path: Path) -> None:
    kept(tmp_path, [8.0, 12.0, 9.0, 11.5, 9.9, 10.0, 12.3, 7.7])
    worth = measured_fixes(tmp_path)[0][CHECK]
    assert worth.kind == "undecided" and worth.percent == 0
    assert worth.text.startswith("measured here, undecided: ")


def test_the_newest_of_the_runs_application_counts(tmp_path: Path) -> None:
    kept(tmp_path, faster(0.9), "mine.py")
    kept(tmp_path, faster(1.2), "other.py")
    assert measured_fixes(tmp_path)[0][CHECK].text.startswith("measured here, slower: 1.20")
    mine = measured_fixes(tmp_path, "mine")[0][CHECK]
    assert mine.text.startswith("measured here, faster: 0.90")


def test_what_another_machine_measured_does_not_count(tmp_path: Path) -> None:
    comparison = kept(tmp_path, faster(0.9))
    file = comparison.directory / "comparison.json"
    file.write_text(file.read_text().replace(machine_key(), "another"))
    assert measured_fixes(tmp_path) == ({}, [])


def test_a_comparison_that_is_damaged_is_named(tmp_path: Path) -> None:
    (kept(tmp_path, faster(0.9)).directory / "comparison.json").write_text("{")
    found, (problem,) = measured_fixes(tmp_path)
    assert not found and "comparison.json" in problem


def test_what_was_measured_stands_above_what_is_published_and_nothing_gained_last(
    tmp_path: Path,
) -> None:
    names = ("hardware-threads", "zone-reclaim", "memory-maps", "turbo")
    files = {path: text for name in names for path, text in CASES[name].wrong.files.items()}
    machine = replace(Given(files).machine(tmp_path), workload=None)
    measured = {
        "zone-reclaim": Worth("measured", "measured here, faster: 0.98", 2),
        "memory-maps": Worth("measured", "measured here, no difference: 1.00", 0),
    }
    found = examine(machine, None, {}, [RULES[name] for name in names], measured=measured)
    assert [one.name for one in found.findings] == [
        "zone-reclaim", "hardware-threads", "turbo", "memory-maps",
    ]  # fmt: skip
