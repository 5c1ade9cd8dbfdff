"""A shuffle of the number of megabytes given, which do not compress."""

import json
import os
import sys

from pyspark.sql import SparkSession

megabytes = int(sys.argv[1])
spark = SparkSession.builder.appName("spill").getOrCreate()
blocks = spark.sparkContext.parallelize(range(megabytes), 8).map(lambda n: (n, os.urandom(1 << 20)))
count = blocks.groupByKey(4).mapValues(lambda parts: sum(map(len, parts))).count()
print("RESULT", json.dumps({"count": count}))
spark.stop()
