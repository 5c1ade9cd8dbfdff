"""Threads on CPUs of several runs beside each other: one axis of time, one of CPUs."""

from collections import Counter
from collections.abc import Sequence

from hearth.analysis.document import Analysis, ThreadTrace
from hearth.base.absent import Absent
from hearth.report.blocks import Cell, View
from hearth.report.html.axis import cpu_rows
from hearth.report.html.run import label
from hearth.report.html.shown import executor_name

#: Observations that are drawn of each run.
MOST_PLACES = 20_000
#: The kind of the threads that run tasks; of a trace without kinds all threads are drawn.
_TASK = "task"


def beside(runs: Sequence[Analysis], executors: list[str]) -> View | None:
    """Return the picture, its legend, its numbers and what is absent; None where one run or none
    has a trace. executors: of all runs, in colour order; the last colour is of other processes."""
    traced = [(run, run.threads) for run in runs if not isinstance(run.threads, Absent)]
    if len(traced) < 2:
        return None
    used = (cpu for _, threads in traced for cpu in threads.columns.cpu)
    cpus = cpu_rows(used, [run.machine for run, _ in traced])
    row = {cpu: number for number, (cpu, _) in enumerate(cpus)}
    nodes = list(dict.fromkeys(node for _, node in cpus if node is not None))
    drawn = [_Drawn(run, threads, executors) for run, threads in traced]
    users = sorted({who for each in drawn for who in each.who})
    return {
        "document": {
            "wall_s": max(run.record.wall_s for run, _ in traced),
            "cpus": cpus,
            "runs": [each.document(row, executors) for each in drawn],
        },
        "legend": [(who % 8, _name(who, executors)) for who in users],
        "label": "; ".join(f"{each.label}: {each.moves}" for each in drawn),
        "names": [(each.label, each.moves) for each in drawn],
        "head": ["run", "process", "seen", *(f"node {node}" for node in nodes)],
        "rows": [cells for each in drawn for cells in each.shares(dict(cpus), nodes, executors)],
        "absent": [(label(run), run.threads.reason) for run in runs
                   if isinstance(run.threads, Absent)],
    }  # fmt: skip


def _name(who: int, executors: list[str]) -> str:
    return executor_name(executors[who]) if who < len(executors) else "other processes of the run"


class _Drawn:
    """The observations of one run that are drawn, and whose they are."""

    def __init__(self, run: Analysis, threads: ThreadTrace, executors: list[str]) -> None:
        columns = threads.columns
        pids = {e.pid: executors.index(e.id) for e in run.executors if e.pid is not None}
        tasks = {(name.pid, name.tid) for name in threads.names if name.kind == _TASK}
        keys = zip(columns.pid, columns.tid, strict=True)
        drawn = [i for i, key in enumerate(keys) if not tasks or key in tasks]
        self.t = [columns.t[i] for i in drawn]
        self.cpu = [columns.cpu[i] for i in drawn]
        self.who = [pids.get(columns.pid[i], len(executors)) for i in drawn]
        self.label, number = label(run), moves(threads)
        self.moves = f"{number:,} move{'' if number == 1 else 's'} between nodes"

    def document(self, row: dict[int, int], executors: list[str]) -> View:
        """Return what the script draws; series: the moments and rows of each executor in turn."""
        every = max(1, -(-len(self.t) // MOST_PLACES))
        series: dict[int, list[list[float]]] = {}
        for t, cpu, who in list(zip(self.t, self.cpu, self.who, strict=True))[::every]:
            series.setdefault(who, []).append([t, row[cpu]])
        points = [[who % 8, _name(who, executors), series[who]] for who in sorted(series)]
        return {"label": self.label, "moves": self.moves, "points": points}

    def shares(
        self, node_of: dict[int, str | None], nodes: list[str], executors: list[str]
    ) -> list[list[Cell]]:
        """Return the drawing as a table: on which nodes each executor's threads were seen."""
        counts: dict[int, Counter[str]] = {}
        for cpu, who in zip(self.cpu, self.who, strict=True):
            counts.setdefault(who, Counter())[node_of[cpu] or ""] += 1
        return [
            [
                *(self.label, _name(who, executors), of.total()),
                *(f"{of[node] / of.total():.1%}" for node in nodes),
            ]
            for who, of in sorted(counts.items())
        ]


def moves(threads: ThreadTrace) -> int:
    """Return how often the threads that are drawn changed their node."""
    counts, of_tasks = threads.node_transitions, any(one.kind == _TASK for one in threads.names)
    return counts.get(_TASK, 0) if of_tasks else sum(counts.values())
