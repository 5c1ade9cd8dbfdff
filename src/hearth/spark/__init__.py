"""From a plan to the spark-submit command line that runs it."""
