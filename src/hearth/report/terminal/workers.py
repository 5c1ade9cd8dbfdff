"""Workers of a standalone cluster: each with its place, and where the kernel has its threads."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from hearth.base.codec import to_json
from hearth.base.durations import show_moment
from hearth.base.ids import parse_ids
from hearth.base.sizes import counted, show_bytes
from hearth.report.terminal.screen import Screen, table
from hearth.spark.workers import Place, WorkerSet

_HEAD = ["place", "CPUs", "nodes", "cores", "memory", "worker", "executors", "restarts", "kernel"]
_RIGHT = "place cores memory worker executors restarts"


def show_settings(started: WorkerSet) -> list[str]:
    """Return what an application is to ask for, so that its executors fill the Workers."""
    cores = min(place.cores for place in started.places)
    memory_mb = min(place.memory_mb for place in started.places)
    return [
        "to fill each worker with one executor, submit applications with",
        f"  spark-submit --master {started.master} --executor-cores {cores} "
        f"--executor-memory {memory_mb}m ...",
        f"'hearth workers status' shows them; 'hearth workers stop {started.name}' stops them",
    ]


def show_workers(sets: Sequence[WorkerSet], screen: Screen) -> list[str]:
    """Return a table for each set of Workers that runs, and a line for each that has ended."""
    if not sets:
        return ["no workers are running here: 'hearth workers start MASTER' starts them"]
    lines: list[str] = []
    for each in sets:
        state = "running" if each.alive else _ended(each)
        lines += [
            screen.title(each.name) + f"  {state}",
            f"  {each.master}, supervisor {each.pid}, started {show_moment(each.started_at)}",
        ]
        if each.alive:
            lines += table(screen, _HEAD, [_row(place) for place in each.places], right=_RIGHT)
            lines += [
                f"  place {place.id}: the previous worker: {place.last_exit}"
                for place in each.places
                if place.last_exit
            ]
        lines.append("")
    return lines[:-1]


def _ended(each: WorkerSet) -> str:
    return "stopped" if each.state == "finished" else "ended: the supervisor was killed"


def _row(place: Place) -> list[str]:
    size = show_bytes(place.memory_mb << 20)
    pids = place.executors()
    worker = str(place.pid) if place.alive else "-"
    head = [str(place.id), place.cpus, place.memory_nodes, str(place.cores), size, worker]
    return [*head, str(len(pids)), str(place.restarts), _kernel(place)]


def _kernel(place: Place) -> str:
    """Return whether all threads of a Worker and its executors may run on its CPUs alone."""
    if not place.alive or place.pid is None:
        return "no worker"
    if not place.bound:
        return "not bound"
    strays = stray_threads([place.pid, *place.executors()], parse_ids(place.cpus))
    return "as planned" if not strays else f"{counted(strays, 'thread')} may run elsewhere"


def stray_threads(pids: Iterable[int], cpus: Iterable[int]) -> int:
    """Return how many threads of processes may run on other CPUs (Cpus_allowed_list, proc(5))."""
    planned = set(cpus)
    return sum(not set(parse_ids(allowed)) <= planned for pid in pids for allowed in _allowed(pid))


def _allowed(pid: int) -> Iterable[str]:
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        try:
            text = status.read_text(errors="replace")
        except OSError:  # ended meanwhile
            continue
        yield text.partition("Cpus_allowed_list:\t")[2].partition("\n")[0]


def workers_document(sets: Sequence[WorkerSet]) -> dict[str, Any]:
    """Return the document of `hearth workers status --json`."""
    return {
        "schema": "hearth/workers-status/1",
        "workers": [
            {
                **to_json(each),
                "alive": each.alive,
                "places": [
                    {**to_json(place), "alive": place.alive, "executors": place.executors()}
                    for place in each.places
                ],
            }
            for each in sets
        ],
    }
