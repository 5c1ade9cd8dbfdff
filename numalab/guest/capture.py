"""Saves what the kernel tells about a process as it is, for judging outside the guest."""

from __future__ import annotations

from pathlib import Path

FILES = ("status", "numa_maps", "cgroup", "comm")


def capture_process(pid: int, directory: Path, proc: Path = Path("/proc")) -> None:
    """Copies a process's status, numa_maps, command line and each thread's stat to `directory`.

    Raises OSError where the process is gone or not ours to read.
    """
    directory.mkdir(parents=True, exist_ok=True)
    source = proc / str(pid)
    for name in FILES:
        (directory / name).write_bytes((source / name).read_bytes())
    words = (source / "cmdline").read_bytes().split(b"\0")
    (directory / "cmdline").write_bytes(b"\n".join(words))
    threads = sorted((source / "task").iterdir(), key=lambda task: int(task.name))
    lines = [line for task in threads if (line := _thread(task))]
    (directory / "threads").write_text("".join(lines), encoding="utf-8")


def _thread(task: Path) -> str | None:
    """A thread's stat line and mask; nothing for one that ended while we looked."""
    try:
        status = (task / "status").read_text(encoding="utf-8", errors="replace")
        stat = (task / "stat").read_text(encoding="utf-8", errors="replace").strip()
    except (FileNotFoundError, ProcessLookupError):
        return None
    mask = next(line for line in status.splitlines() if line.startswith("Cpus_allowed_list:"))
    return f"{mask.split(':', 1)[1].strip()}\t{stat}\n"
