"""A bounded choice of tasks for the Gantt chart, as columns."""

from array import array
from typing import Any

#: Rows kept; a run of more tasks keeps every second, fourth, eighth ... one.
MOST_ROWS = 100_000

STATES = ("success", "failed", "killed", "running")


class Slots:
    """Which of an executor's slots each task took, from launch and finish times alone.

    Tasks come in the order in which they finished; each goes to the slot that was freed last
    before its launch. A driver notes a task's finish a little after its slot is free again, so
    where all of the executor's slots seem taken, it goes to the one that is freed first.
    """

    __slots__ = ("_free_since",)

    def __init__(self) -> None:
        self._free_since: list[int] = []

    def take(self, launch_ms: int, finish_ms: int, most: int | None = None) -> int:
        """Return the slot of one task, of `most` slots."""
        best = -1
        for slot, since in enumerate(self._free_since):
            if since <= launch_ms and (best < 0 or since > self._free_since[best]):
                best = slot
        taken = len(self._free_since)
        if best < 0 and most is not None and taken >= most:
            best = min(range(taken), key=self._free_since.__getitem__)
        elif best < 0:
            best = taken
            self._free_since.append(finish_ms)
        self._free_since[best] = finish_ms
        return best


class TaskRows:
    """Every n-th task that ended, n a power of two and as small as MOST_ROWS allows."""

    def __init__(self) -> None:
        self._most = MOST_ROWS
        self.stride = 1
        self._seen = 0
        self._slots: dict[str, Slots] = {}
        self.executors: dict[str, int] = {}
        self.columns = {name: array("q") for name in
                        ("task", "executor", "slot", "start_ms", "end_ms", "stage", "attempt",
                         "state")}  # fmt: skip

    def add(
        self, stage: int, attempt: int, info: dict[str, Any], state: str, slots: int | None
    ) -> None:
        """Take one ended task into account; `slots`: how many its executor had at that time."""
        executor = info["Executor ID"]
        number = self.executors.get(executor)
        if number is None:
            number = self.executors[executor] = len(self.executors)
            self._slots[executor] = Slots()
        launch, finish = info["Launch Time"], info["Finish Time"]
        slot = self._slots[executor].take(launch, finish, slots)
        self._seen += 1
        if (self._seen - 1) % self.stride:
            return
        row = (info["Task ID"], number, slot, launch, finish, stage, attempt, STATES.index(state))
        for column, value in zip(self.columns.values(), row, strict=True):
            column.append(value)
        if len(self.columns["task"]) > self._most:
            self._thin()

    def _thin(self) -> None:
        self.stride *= 2
        for name, column in self.columns.items():
            self.columns[name] = column[::2]
