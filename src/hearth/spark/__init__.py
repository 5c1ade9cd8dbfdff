"""Turn a plan into the spark-submit command line that runs it."""
