"""Contexts that cannot be made, one after the other in one JVM, and what each leaves of leases.

Arguments: for each, KEY=VALUE of a setting that is wrong, with which Spark or hearth refuses.
"""

import json
import os
import sys
from pathlib import Path

from pyspark import SparkConf, SparkContext

report = {}
for word in sys.argv[1:]:
    key, value = word.split("=", 1)
    try:
        SparkContext(conf=SparkConf().set(key, value))
        said = "made"
    except Exception as problem:
        said = str(problem)
    leases = Path(os.environ["HEARTH_LEASES"]).glob("hearth-lease-*")
    report[key] = {"said": said, "leases": [lease.name for lease in leases]}
print("RESULT", json.dumps(report))
