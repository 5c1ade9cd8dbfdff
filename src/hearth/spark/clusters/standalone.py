"""Settings of a standalone cluster's Workers: spark-env.sh and spark-defaults.conf."""

from collections.abc import Mapping

from hearth.spark.clusters.shape import Layout, properties, spark_defaults


def standalone_files(layout: Layout, conf: Mapping[str, str]) -> dict[str, str]:
    """Return the text of each file by its name."""
    shape, many = layout.shape, len(layout.nodes)
    return {
        "spark-env.sh": (
            f"# One Worker for {many} executor{'s' if many > 1 else ''} of the plan's size; "
            "nothing binds them.\n"
            "# Bound: 'hearth workers start spark://HOST:7077' starts a Worker for each place,\n"
            "# and needs none of these lines.\n"
            f"SPARK_WORKER_CORES={many * shape.task_slots}\n"
            f"SPARK_WORKER_MEMORY={many * (shape.heap_mb + shape.off_heap_mb)}m\n"
        ),
        "spark-defaults.conf": properties(
            spark_defaults(shape, many, layout.plan, conf, overhead=False),
            "The master starts as many executors as fit: their number is not set here.",
        ),
    }
