"""Contexts, one after the other in one JVM: what Spark or hearth says, what each leaves of leases.

Arguments: for each, its settings as JSON. One that is made counts four elements, and is stopped.
"""

import json
import os
import sys
from pathlib import Path

from pyspark import SparkConf, SparkContext


def tried(settings: dict[str, str]) -> str:
    try:
        context = SparkContext(conf=SparkConf().setAll(list(settings.items())))
    except Exception as problem:
        return str(problem)
    counted = context.parallelize(range(4), 4).count()
    context.stop()
    return f"counted {counted}"


report = []
for word in sys.argv[1:]:
    said = tried(json.loads(word))
    leases = Path(os.environ["HEARTH_LEASES"]).glob("hearth-lease-*")
    report.append({"said": said, "leases": [lease.name for lease in leases]})
print("RESULT", json.dumps(report))
