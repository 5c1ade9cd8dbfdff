"""Count the words of text files and print the ten most frequent ones.

hearth submit examples/word_count.py FILE...
"""

import sys

from pyspark.sql import SparkSession

session = SparkSession.builder.appName("word count").getOrCreate()
lines = session.sparkContext.textFile(",".join(sys.argv[1:]))
words = lines.flatMap(lambda line: line.lower().split())
counts = words.map(lambda word: (word, 1)).reduceByKey(lambda a, b: a + b)
for word, count in counts.takeOrdered(10, key=lambda pair: (-pair[1], pair[0])):
    print(f"{count:>8}  {word}")
session.stop()
