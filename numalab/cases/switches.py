"""What the doctor would change, on a real kernel, as root: each setting that a guest has.

Every setting is set wrong first, is then changed and put back as for a run of a comparison, and
changed by the command that the doctor prints. Runs after all other cases.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from hearth.base.absent import Absent
from hearth.doctor.machine import Machine
from hearth.doctor.reading import read_machine
from hearth.doctor.rule import Problem
from hearth.doctor.rules import RULES, changes_of, memory
from hearth.machine.plan import PlanRequest
from hearth.machine.switch import Switch

VM, KERNEL = "proc/sys/vm", "proc/sys/kernel"
CPUS, PAGES = "sys/devices/system/cpu", "sys/kernel/mm"
#: What is wrong by these values.
WRONG = {
    "clock-source": {"sys/devices/system/clocksource/clocksource0/current_clocksource": "acpi_pm"},
    "dirty-pages": {f"{VM}/dirty_background_ratio": "30"},
    "hardware-threads": {f"{CPUS}/smt/control": "off"},
    "huge-pages-defrag": {f"{PAGES}/transparent_hugepage/defrag": "always"},
    "memory-maps": {f"{VM}/max_map_count": "65530"},
    "numa-balancing": {f"{KERNEL}/numa_balancing": "0"},  # the plan of so few CPUs binds nothing
    "offline-cpus": {f"{CPUS}/cpu3/online": "0"},
    "overcommit": {f"{VM}/overcommit_memory": "2"},
    "reserved-huge-pages": {f"{PAGES}/hugepages/hugepages-2048kB/nr_hugepages": "128"},
    "swappiness": {f"{VM}/swappiness": "60"},
    "zone-reclaim": {f"{VM}/zone_reclaim_mode": "1"},
}
#: Settings that the kernel changes along.
BESIDE = {"dirty-pages": (f"{VM}/dirty_background_bytes",)}
SWAP = Path("/root/swap")
SWAP_MB = 16


def collect(job: dict[str, object], evidence: Path) -> None:
    """Leaves, of each setting, what was set wrong, while and after it was switched, and by hand."""
    del job
    _swap_on()
    memory.MOST_DIRTY_BYTES = 1 << 30  # no guest has the memory that this check is for
    with read_machine(None, PlanRequest()) as read:
        if isinstance(read.user, Absent):
            raise RuntimeError(read.user.reason)
        machine = replace(read, user=replace(read.user, local_dirs=["/root"]))
        switch = Switch(Path("/"), Path("/tmp/switched"))
        switched = {name: _switched(name, machine, switch) for name in WRONG}
    (evidence / "switched.json").write_text(json.dumps(switched, indent=2), encoding="utf-8")
    lasting = _kept_wrong("swappiness", _by_hand)
    (evidence / "command.json").write_text(json.dumps(lasting, indent=2), encoding="utf-8")


def _swap_on() -> None:
    SWAP.write_bytes(bytes(SWAP_MB << 20))
    SWAP.chmod(0o600)
    for words in (["mkswap", str(SWAP)], ["swapon", str(SWAP)]):
        subprocess.run(words, check=True, capture_output=True)


def _switched(name: str, machine: Machine, switch: Switch) -> dict[str, object]:
    rule = RULES[name]

    def there_and_back() -> dict[str, object]:
        wrong, outcome = _values(name), rule.outcome(machine)
        if not isinstance(outcome, Problem):
            return {"no problem": str(outcome)}
        with switch.held(switch.plan(name, changes_of(name, machine))):
            fixed, then = _values(name), rule.outcome(machine)
        undone = _values(name)
        command, _ = outcome.commands(name) or ("false", "")
        _run(command)
        return {
            "wrong": wrong,
            "seen": outcome.seen,
            "fixed": fixed,
            "then": str(then),
            "undone": undone,
            "by_command": _values(name),
        }

    return _kept_wrong(name, there_and_back)


def _kept_wrong(name: str, act: Callable[[], dict[str, object]]) -> dict[str, object]:
    """Acts while the setting is wrong; says instead why that could not be."""
    before = {path: _value(path) for path in WRONG[name]}
    try:
        for path, value in WRONG[name].items():
            _write(path, value)
        return act()
    except Exception as problem:
        return {"failed": f"{type(problem).__name__}: {problem}"}
    finally:
        for path, value in before.items():
            if _value(path) != value:
                _write(path, value)


def _by_hand() -> dict[str, object]:
    """As a user does who types what is printed: what sysctl makes of the file that is written."""
    done = subprocess.run(
        [sys.executable, "-m", "hearth", "doctor", "--json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "HEARTH_STATE": "/tmp/hearth-doctor"},
    )
    name, findings = "swappiness", json.loads(done.stdout)["findings"]
    (finding,) = (one for one in findings if one["name"] == name)
    drop_in = Path("/etc/sysctl.d/90-hearth-swappiness.conf")
    drop_in.parent.mkdir(parents=True, exist_ok=True)
    _run(finding["command"])
    _run(finding["lasting"])
    by_command = _values(name)
    _write(f"{VM}/swappiness", "60")
    _run(f"sysctl -q -p {drop_in}")
    return {
        "by_command": by_command,
        "drop_in": drop_in.read_text(encoding="utf-8"),
        "by_sysctl": _values(name),
    }


def _run(command: str) -> None:
    subprocess.run(["sh", "-c", command], check=True, capture_output=True)


def _values(name: str) -> dict[str, str]:
    return {path: _value(path) for path in (*WRONG[name], *BESIDE.get(name, ()))}


def _value(path: str) -> str:
    """What is set: the word in brackets where there are several."""
    text = Path("/", path).read_text(encoding="ascii").strip()
    return text.partition("[")[2].partition("]")[0] or text


def _write(path: str, value: str) -> None:
    Path("/", path).write_text(f"{value}\n", encoding="ascii")
