package io.hearth.core.launch

/**
 * Which variables of its driver's environment an executor in a container has: those by which Spark, Java,
 * Python, Hadoop and their libraries go. No others, as an environment often holds keys and passwords of
 * what has nothing to do with Spark; `spark.executorEnv.NAME` adds to them.
 */
object ContainerEnvironment {
  private val Names = Set(
    "CONDA_PREFIX JAVA_HOME JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS KRB5CCNAME KRB5_CONFIG LANG",
    "LANGUAGE LD_LIBRARY_PATH LOGNAME HOME PATH REQUESTS_CA_BUNDLE SSL_CERT_DIR SSL_CERT_FILE TZ USER",
    "VIRTUAL_ENV"
  ).flatMap(_.split(' '))

  private val Beginnings =
    Vector("CUDA_", "HADOOP_", "HEARTH_", "HIVE_", "LC_", "MALLOC_", "MKL_") ++
      Vector(
        "NUMEXPR_",
        "NVIDIA_",
        "OMP_",
        "OPENBLAS_",
        "PYSPARK_",
        "PYTHON",
        "SPARK_",
        "UCX_",
        "YARN_"
      )

  /** As the gateway's of PySpark, which is the driver's alone. */
  private val Secret = "(?i).*(secret|password|passwd|token|credential|gateway).*".r

  /** @param names of all variables, sorted or not */
  def of(names: Iterable[String]): Vector[String] = names.toVector
    .filter(name => Names(name) || Beginnings.exists(name.startsWith))
    .filterNot(Secret.matches)
    .sorted
}
