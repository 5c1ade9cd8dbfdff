"""The placement of an application's executors, as the kernel has it (`hearth schema placement`)."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from hearth.base.codec import LEFT_OUT
from hearth.base.limits import Count, Id, IdList, OneOf, Positive, SomeIds, Time

Verdict = Annotated[
    str,
    OneOf(
        "as planned",
        "CPUs as planned, memory not bound",
        "drift",
        "unbound",
        "gone",
        "unreadable",
    ),
]


@dataclass(frozen=True)
class KernelView:
    """The kernel's view of a process."""

    cpus_allowed: IdList  #: union of Cpus_allowed_list over all threads
    #: anonymous mappings, and those of files that are memory, under each memory policy of numa_maps
    policies: dict[str, Positive]
    #: bytes of anonymous memory on each NUMA node, and of files that are memory (memfd, huge
    #: pages); what is mapped several times, as a heap of ZGC up to Java 20, counts as often
    anonymous_bytes: dict[Id, Count]
    threads_on_cpu: dict[Id, Count]  #: threads that last ran on each CPU
    #: Mems_allowed_list: the cpuset's, which a memory policy does not change
    mems_allowed: IdList = ""
    #: of the whole machine; absent where it cannot be read
    cpus_online: IdList | None = field(default=None, metadata=LEFT_OUT)
    #: how many there were
    threads: Count | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class PlacedExecutor:
    """One executor, its place in the plan, and whether it is there."""

    executor_id: str  #: Spark's id; a replacement has a new one
    place: Count  #: id of the executor in the plan; a replacement keeps it
    pid: Positive
    planned_cpus: IdList
    #: empty where the kernel did not let memory be bound (spark.hearth.binding=preferred)
    planned_memory_nodes: IdList
    verdict: Verdict
    #: a sentence for each deviation from the plan; threads are named with their tids, up to a limit
    drift: list[str]
    #: a sentence for what is worth knowing but not drift: threads that the application pinned
    #: inside its place, CPUs on loan
    notes: list[str] = field(default_factory=list, metadata=LEFT_OUT)
    #: absent when the process is gone or unreadable
    kernel: KernelView | None = field(default=None, metadata=LEFT_OUT)
    host: str = ""  #: name of the place as the plan has it
    start_ticks: Count = 0  #: field 22 of /proc/PID/stat
    bound: bool = True  #: whether it was bound when it was started
    #: CPUs of idle executors that it may use too for a while; absent without any
    lent_cpus: SomeIds | None = field(default=None, metadata=LEFT_OUT)
    #: why the kernel refused to let it be read
    unreadable: str | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class Placement:
    """The placement of executors, as the kernel has it: placement.json, and the verb's answer.

    The verb `placement` and the driver write it.
    """

    executors: list[PlacedExecutor]
    app_id: str = ""
    taken_at: Time = ""
    schema: Literal["hearth/placement/2"] = "hearth/placement/2"
