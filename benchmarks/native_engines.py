"""What does a native engine bring, and hearth to it: TPC-H on Spark, on Comet, and under hearth?

    .venv/bin/python benchmarks/native_engines.py --scale 1 --repeat 5

Spark 4.1 comes from tools/versions.sh, Comet's jar by `--packages`. Every run is an application of
its own: `--queries` of TPC-H, all of them `--passes` times. Arms: `comet`, Comet in `spark-submit
--master local[*]` as a careful user sets it: its plugin and shuffle manager, a heap of 4 GB, a
third of the memory off the heap, as many worker threads as CPUs (which Comet's tuning guide
advises), ParallelGC, Kryo and four shuffle partitions for each CPU; `hearth`, `hearth submit
--engine comet`, which is one JVM on few CPUs; `submit`, the same without an engine. One application
before these warms the page cache, and is dropped. Answers must be equal in all arms. Use taskset
for fewer CPUs.
"""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from harness import Benchmark, settings
from other_versions import fetched
from query_partitions import add_tpch_options, arms, data_of, one, page, written

from hearth.machine.plan import ENGINES
from hearth.spark.engines import PUBLISHED
from hearth.workloads import tpch

ARMS = ("comet", "hearth", "submit")
MANAGER = "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager"


def main() -> None:
    bench = Benchmark(__doc__, page, arms=ARMS)
    add_tpch_options(bench, passes=3)
    numbers = "1,3,5,6,9,12,14,18"
    bench.parser.add_argument("--queries", default=numbers, help="numbers of TPC-H's")
    options = bench.parse()
    bench.begin()
    queries = [tpch.query_text(int(n), options.scale) for n in options.queries.split(",")]
    spark = next(home for home in fetched("sparks") if home.parent.name.startswith("4.1"))
    os.environ["SPARK_HOME"] = str(spark)
    with tempfile.TemporaryDirectory(prefix="hearth-engines-") as folder:
        data = options.data or data_of(options.scale)
        application = written(Path(folder), data, options.scale, queries, options.passes)
        commands = commands_of(Path(folder), application)
        one(commands["hearth"])
        bench.measure(lambda turn: one(commands[turn.arm]))
    bench.report()


def commands_of(folder: Path, application: Sequence[str]) -> dict[str, list[str]]:
    """Return the command of each arm."""
    cpus = len(os.sched_getaffinity(0))
    memory_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    careful = {
        "spark.jars.packages": PUBLISHED["comet"].coordinates["4.1"],
        "spark.plugins": ENGINES["comet"],
        "spark.shuffle.manager": MANAGER,
        "spark.driver.memory": "4g",
        "spark.memory.offHeap.enabled": "true",
        "spark.memory.offHeap.size": f"{memory_mb // 3}m",
    }
    plain = arms(folder, application)
    behind = len(application)

    def with_more(command: list[str], *words: str) -> list[str]:
        """Return a command with more words before its application."""
        return [*command[:-behind], *words, *application]

    worker_threads = f"COMET_WORKER_THREADS={cpus}"
    alone = {"spark.hearth.neighbours": "ignore"}  # what others run changes no plan
    loaded = ("--engine", "comet", *settings(alone))
    return {
        "comet": ["env", worker_threads, *with_more(plain["careful"], *settings(careful))],
        "hearth": with_more(plain["submit"], *loaded),
        "submit": with_more(plain["submit"], *settings(alone)),
    }


if __name__ == "__main__":
    main()
