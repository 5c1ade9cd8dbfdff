"""The serial collector stops all tasks while one thread collects."""

from hearth.base.java import COLLECTOR
from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem, published


def _look(machine: Machine) -> Outcome:
    found = COLLECTOR.search(machine.java_options())
    chosen = found[1] if found else None
    slots = max(one.task_slots for one in machine.the_plan().executors)
    if chosen != "SerialGC" or slots < 2:
        return Fine(f"collector: {chosen or 'chosen by the plan'}")
    return Problem(
        f"-XX:+UseSerialGC for executors of {slots} task slots",
        "spark-defaults.conf and variables such as JAVA_TOOL_OPTIONS",
        command="remove it: the plan chooses a parallel collector",
    )


CHECK = Check(
    _look,
    group="spark",
    concerns="heaps",
    better="ParallelGC for batch work, G1 or ZGC where pauses matter",
    source="Kyong 2017; Elasticsearch: bootstrap checks, serial collector",
    worth=published(
        "ParallelGC was 3.3 times as fast as G1 on 120 cores (Kyong 2017); serial was not tried", 0
    ),
    touches="nothing",
)
