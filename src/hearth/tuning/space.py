"""What is tuned: configurations of executors, and the machine that they run on."""

from dataclasses import dataclass
from typing import Any

from hearth.model.errors import UserError
from hearth.model.ids import parse_ids

_GB = 1 << 30


@dataclass(frozen=True, order=True)
class Cell:
    """One configuration: executors (workers), task slots of each, memory of each in GB."""

    workers: int
    cores_per_worker: int
    memory_per_worker_gb: float

    @property
    def slots(self) -> int:
        """Task slots of all executors."""
        return self.workers * self.cores_per_worker

    @property
    def shown(self) -> str:
        """As people write it: 24x8."""
        return f"{self.workers}x{self.cores_per_worker}"


@dataclass(frozen=True)
class Machine:
    """What the model knows of a machine: hardware threads, cores, memory in GB."""

    threads: int
    cores: int
    memory_gb: float

    @staticmethod
    def of(topology: dict[str, Any]) -> "Machine":
        """From a topology document (contract/topology.schema.json)."""
        memory = sum(node["memory_bytes"] for node in topology["nodes"]) / _GB
        threads = len(parse_ids(topology["cpus"]))
        cores = len(topology["cores"])
        if not cores or not threads:
            raise UserError("--machine: no CPU in it: give a machine with cores")
        return Machine(threads, cores, memory)
