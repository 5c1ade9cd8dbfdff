"""Where do the CPU seconds of queries go: TPC-H under hearth submit, sampled by async-profiler?

    ASYNC_PROFILER_HOME=... .venv/bin/python benchmarks/cpu_parts.py --scale 1 --repeat 2

Applications are `query_partitions.py`'s. The profiler samples all threads of the JVM each 10 ms of
CPU time, from the first query on, each pass apart. Threads of compilers and collectors are parts of
their own; else a sample counts for the part that its innermost frame names which names one.
"""

import collections
import os
import re
import tempfile
from pathlib import Path

import query_partitions
from harness import Benchmark, Turn
from results import Row, names, runs, spread, table

from hearth.workloads import tpch

EVERY_S = 0.01
THREADS = {
    "second compiler (C2)": r"C2 CompilerThre",
    "first compiler (C1)": r"C1 CompilerThre",
    "collections": r"GC Thread|VM Thread",
}
#: In this order of one frame.
FRAMES = {
    "class loading": r"java/lang/(ClassLoader|invoke/)|jdk/internal/(loader|reflect)|URLClassPath"
    r"|SystemDictionary|ClassFileParser|InstanceKlass::(link|init)|Link(Resolv)?er|Verifier",
    "code generation (Janino)": r"org/codehaus/|expressions/codegen/|oCodeGen|GenerateUnsafe",
    "Parquet": r"parquet/|sql/execution/vectorized/|snappy|datasources/(File|Codec)",
    "shuffle": r"spark/(shuffle|storage|network)/|ShuffleExternal|exchange/|lz4|io/hearth/wire",
    "planning": r"catalyst/(analysis|parser|optimizer|trees|rules|plans|planning|catalog|QueryPl)"
    r"|sql/execution/(QueryExecution|SparkPlanner|SparkStrateg|adaptive)"
    r"|sql/(classic|internal|SparkSession)/|org/antlr|io/hearth/(sql|spark)",
    "events, tasks": r"spark/(scheduler|util/(ListenerBus|kvstore)|status|rpc|ui|metrics)"
    r"|io/netty|executor/.*Metrics|serializer/Java|ClosureCleaner|java/io/Object|jackson|py4j",
    "operators": r"Generated|unsafe/|catalyst/|spark/(rdd|sql)",
}
PARTS = [*THREADS, *FRAMES, "other"]
AGENT = """
import subprocess
def agent(words):
    command = ["jcmd", str(os.getppid()), "JVMTI.agent_load", {library!r}, f'"{{words}}"']
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
start = "start,event=itimer,interval=10ms,threads"
agent(start)
def ended(number):
    agent("stop,collapsed,threads,file={folder}/" + str(number))
    agent(start)
"""


def main() -> None:
    bench = Benchmark(__doc__, page, arms=("submit", "large-pages"))
    query_partitions.add_tpch_options(bench)
    options = bench.parse()
    library = Path(os.environ.get("ASYNC_PROFILER_HOME", ""), "lib/libasyncProfiler.so").resolve()
    if not library.is_file():
        bench.parser.error(f"ASYNC_PROFILER_HOME: no '{library}'")
    bench.begin()
    queries = [tpch.query_text(number, options.scale) for number in range(1, 23)]
    with tempfile.TemporaryDirectory(prefix="hearth-parts-") as name:
        folder = Path(name)
        data = options.data or query_partitions.data_of(options.scale)
        agent = AGENT.format(library=str(library), folder=folder)
        application = query_partitions.written(
            folder, data, options.scale, queries, options.passes, agent
        )
        commands = query_partitions.arms(folder, application)
        query_partitions.one(commands["submit"])
        query_partitions.await_archives()

        def run(turn: Turn) -> Row:
            row = query_partitions.one(commands[turn.arm])
            texts = [(folder / str(number)).read_text() for number in range(options.passes)]
            return {**row, "parts": [parts(text) for text in texts]}

        bench.measure(run)
    bench.report()


def parts(collapsed: str) -> dict[str, float]:
    """Return the CPU seconds of each part."""
    samples: dict[str, int] = collections.Counter()
    for line in collapsed.splitlines():
        stack, _, count = line.rpartition(" ")
        samples[part_of(*stack.split(";"))] += int(count)
    return {part: round(count * EVERY_S, 2) for part, count in samples.items()}


def part_of(thread: str, *frames: str) -> str:
    """Return the part that a stack, outermost frame first, counts for."""
    by_thread = (part for part, names in THREADS.items() if re.search(names, thread))
    by_frame = (
        part
        for frame in reversed(frames)
        for part, names in FRAMES.items()
        if re.search(names, frame)
    )
    return next(by_thread, None) or next(by_frame, "other")


def page(rows: list[Row]) -> list[str]:
    """Return the table in Markdown: CPU seconds of each part, by arm and pass; then what memory
    and collections took.
    """
    some = runs(rows)
    columns = [
        (arm, number) for arm in names(some, "arm") for number in range(len(some[0]["parts"]))
    ]

    def cells(part: str) -> list[str]:
        return [
            spread([row["parts"][number].get(part, 0.0) for row in some if row["arm"] == arm], 1)
            for arm, number in columns
        ]

    heads = [f"`{arm}`, pass {number + 1}" for arm, number in columns]
    lines = table(["Part, CPU s", *heads], [[part, *cells(part)] for part in PARTS])
    for arm in names(some, "arm"):
        peak, paused = (
            spread([row[key] for row in some if row["arm"] == arm], digits)
            for key, digits in (("peak_mb", 0), ("gc_s", 1))
        )
        lines += ["", f"`{arm}`: at most {peak} MB resident, {paused} s in collections."]
    return lines


if __name__ == "__main__":
    main()
