"""Of the applications that shuffle."""

from pyspark import SparkContext


def remote_bytes(context: SparkContext) -> int:
    """Return what Spark says that tasks have read from other executors."""
    gateway = context._gateway
    none = gateway.jvm.java.util.ArrayList()
    no_quantiles = gateway.new_array(gateway.jvm.double, 0)
    store = context._jsc.sc().statusStore()
    stages = store.stageList(none, False, False, no_quantiles, none)
    return sum(stages.apply(i).shuffleRemoteBytesRead() for i in range(stages.size()))
