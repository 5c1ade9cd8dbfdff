"""Ends before its executors can have started."""

from pyspark import SparkContext

SparkContext().stop()
