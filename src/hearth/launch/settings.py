"""Every Spark setting that the user made, wherever, in Spark's own order of precedence."""

import os
from pathlib import Path

from hearth.launch.arguments import SubmitLine
from hearth.launch.properties import read_properties
from hearth.model.errors import UserError
from hearth.planner.request import parse_conf

#: Options of spark-submit that set a key.
OPTION_KEYS = {
    "--driver-cores": "spark.driver.cores",
    "--driver-java-options": "spark.driver.extraJavaOptions",
    "--driver-library-path": "spark.driver.extraLibraryPath",
    "--driver-memory": "spark.driver.memory",
    "--executor-cores": "spark.executor.cores",
    "--executor-memory": "spark.executor.memory",
    "--num-executors": "spark.executor.instances",
    "--total-executor-cores": "spark.cores.max",
}
#: Those that Spark drops for a master that begins with `local` (SparkSubmit's OptionAssigner).
DROPPED_BY_SPARK = (
    "--executor-cores",
    "--executor-memory",
    "--num-executors",
    "--total-executor-cores",
)


def user_settings(line: SubmitLine, spark_home: Path) -> dict[str, str]:
    """The settings of spark-defaults.conf, the properties file, `--conf`, and the options."""
    settings: dict[str, str] = {}
    chosen = line.last("--properties-file")
    if chosen is None or line.has("--load-spark-defaults"):
        folder = os.environ.get("SPARK_CONF_DIR") or spark_home / "conf"
        defaults = Path(folder) / "spark-defaults.conf"
        if defaults.is_file():
            settings.update(read_properties(defaults, "spark-defaults.conf"))
    for name in ("--properties-file", "--extra-properties-file"):
        file = line.last(name)
        if file is not None:
            settings.update(read_properties(Path(file), name))
    confs = [option.value or "" for option in line.options if option.name == "--conf"]
    settings.update(parse_conf(confs))
    for option in line.options:
        if option.name in OPTION_KEYS and option.value is not None:
            settings[OPTION_KEYS[option.name]] = option.value
    return {key: value for key, value in settings.items() if key.startswith("spark.")}


def user_master(line: SubmitLine, settings: dict[str, str]) -> str | None:
    """The master that the user chose: the option, the setting, or the variable MASTER."""
    return line.last("--master") or settings.get("spark.master") or os.environ.get("MASTER")


def check_spark(spark_home: Path) -> None:
    """Raises UserError where the jar of hearth was not made for this Spark."""
    cores = sorted((spark_home / "jars").glob("spark-core_*.jar"))
    if not any(jar.name.startswith("spark-core_2.13-4.3.") for jar in cores):
        found = cores[-1].name if cores else "no spark-core jar"
        raise UserError(
            f"SPARK_HOME: {found} in {spark_home}/jars: hearth is built for Spark 4.3 (Scala "
            "2.13); point SPARK_HOME at one, or unset it to use the installed pyspark"
        )
