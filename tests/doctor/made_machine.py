"""A machine of files in a directory, with the contract's worked examples for topology and plan."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hearth.base.absent import Absent
from hearth.base.codec import load_typed
from hearth.doctor.machine import Machine, Space, UserSettings
from hearth.machine.plan import Plan
from hearth.machine.topology import Topology
from hearth.machine.tree import Tree
from support import ROOT

EXAMPLES = ROOT / "contract" / "examples"
TOPOLOGY = load_typed(EXAMPLES / "topology.json", Topology)
PLAN = load_typed(EXAMPLES / "plan.json", Plan)
JAR = "/opt/hearth/hearth-spark_2.13-0.1.0.jar"
AMPLE = Space(100 << 30, 200 << 30, 1000, 2000)
USER = UserSettings(
    environment={},
    conf={},
    local_dirs=["/tmp"],
    temporary="/tmp",
    space=lambda folder: AMPLE,
    spark_version="4.3.0",
    java_version="17.0.15",
    state="/home/a/.local/state/hearth",
    cache="/home/a/.cache/hearth",
    jar=JAR,
    archive_failures=[],
    resolve=lambda name: ["127.0.1.1"],
)


@dataclass(frozen=True)
class Given:
    """Files by path, modes of directories, and what differs from the examples."""

    files: Mapping[str, str | bytes] = field(default_factory=dict)
    user: Mapping[str, Any] = field(default_factory=dict)
    topology: Mapping[str, Any] = field(default_factory=dict)
    plan: Mapping[str, Any] = field(default_factory=dict)
    modes: Mapping[str, int] = field(default_factory=dict)

    def machine(self, root: Path) -> Machine:
        """Return the machine, its files written below a root."""
        root.mkdir(parents=True, exist_ok=True)
        for path, content in self.files.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
        for path, mode in self.modes.items():
            (root / path).mkdir(parents=True, exist_ok=True)
            (root / path).chmod(mode)
        user = replace(USER, **self.user)
        return Machine(
            Tree(root),
            replace(TOPOLOGY, **self.topology),
            replace(PLAN, **self.plan),
            user,
        )


def nothing(root: Path) -> Machine:
    """Return a machine of which nothing can be seen."""
    unknown = Absent("nobody knows")
    return Machine(Tree(root), unknown, unknown, unknown, "ml")


def booted(folder: Path) -> Path:
    """A root directory of a machine that runs: a change of it ends with this boot."""
    boot = folder / "root" / "proc/sys/kernel/random/boot_id"
    boot.parent.mkdir(parents=True)
    boot.write_text("this boot\n")
    return folder / "root"


def files(*texts: str, **more: Any) -> Given:
    """A file for each `path = content`."""
    pairs = (text.partition(" = ") for text in texts)
    return Given({path: content for path, _, content in pairs}, **more)


def limit(name: str, soft: str, hard: str | None = None) -> Given:
    """A line of /proc/self/limits."""
    head = "Limit  Soft Limit  Hard Limit  Units"
    return files(f"proc/self/limits = {head}\n{name}  {soft}  {hard or soft}  units\n")


def mount(*rows: tuple[str, str, str], **more: Any) -> Given:
    """Mount points, kinds and options on the disk 8:1, or without a disk for tmpfs."""
    lines = [
        f"2{n} 1 {'0:3' if kind == 'tmpfs' else '8:1'} / {point} {options} - {kind} source rw\n"
        for n, (point, kind, options) in enumerate(rows)
    ]
    return Given({"proc/self/mountinfo": "".join(lines), **more.pop("files", {})}, **more)


def conf(settings: Mapping[str, str] = {}, **environment: str) -> Given:
    """Settings of spark-defaults.conf, and variables."""
    return Given(user={"conf": settings, "environment": environment})


def nodes(*changes: Mapping[str, Any], **allowed: Any) -> Mapping[str, Any]:
    """A topology of nodes like the example's first, each with some changes."""
    like = TOPOLOGY.nodes[0]
    return {
        "nodes": [replace(like, id=n, **each) for n, each in enumerate(changes)],
        "allowed": replace(TOPOLOGY.allowed, **allowed),
    }
