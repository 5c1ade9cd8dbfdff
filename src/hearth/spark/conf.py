"""Every Spark setting that the user made anywhere, in Spark's order of precedence."""

from collections.abc import Mapping
from pathlib import Path

from hearth.machine.plan_request import parse_conf
from hearth.spark.properties import read_properties
from hearth.spark.submit_args import SubmitLine

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
#: Keys with which the driver's JVM is started (SparkSubmitCommandBuilder).
_LAST_ON_THE_LINE = (
    "spark.driver.extraJavaOptions",
    "spark.driver.extraLibraryPath",
    "spark.driver.memory",
)
#: Variables that stand for a setting, the first before the next (SparkSubmitArguments,
#: SparkContext.executorMemoryInMb and the launcher of Spark 4.3).
_VARIABLES = {
    "SPARK_DRIVER_MEMORY": ("spark.driver.memory",),
    "SPARK_EXECUTOR_MEMORY": ("spark.executor.memory",),
    "SPARK_EXECUTOR_CORES": ("spark.executor.cores",),
    "SPARK_MEM": ("spark.driver.memory", "spark.executor.memory"),
}
#: Options that Spark drops for a master that begins with `local` (SparkSubmit's OptionAssigner).
DROPPED_BY_SPARK = (
    "--executor-cores",
    "--executor-memory",
    "--num-executors",
    "--total-executor-cores",
)


def user_settings(
    line: SubmitLine, spark_home: Path, environment: Mapping[str, str]
) -> dict[str, str]:
    """The settings of spark-defaults.conf, the properties files, `--conf`, and the options."""
    settings = _of_files(line, spark_home, environment)
    confs = [option.value or "" for option in line.options if option.name == "--conf"]
    settings.update(parse_conf(confs))
    for option in line.options:
        key = OPTION_KEYS.get(option.name)
        if key is not None and option.value is not None and key not in _LAST_ON_THE_LINE:
            settings[key] = option.value
    settings.update(_last_on_the_line(line))
    return {key: value for key, value in settings.items() if key.startswith("spark.")}


def _of_files(line: SubmitLine, spark_home: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """The defaults, the properties file over them, the extra ones over that, each over the last."""
    chosen = line.last("--properties-file")
    files: list[tuple[Path, str]] = []
    defaults = conf_folder(spark_home, environment) / "spark-defaults.conf"
    if (chosen is None or line.has("--load-spark-defaults")) and defaults.is_file():
        files.append((defaults, "spark-defaults.conf"))
    if chosen is not None:
        files.append((Path(chosen), "--properties-file"))
    files += [
        (Path(option.value), option.name)
        for option in line.options
        if option.name == "--extra-properties-file" and option.value is not None
    ]
    settings: dict[str, str] = {}
    for path, what in files:
        settings.update(read_properties(path, what))
    return settings


def _last_on_the_line(line: SubmitLine) -> dict[str, str]:
    """What the driver's JVM starts with: its launcher takes the last, be it option or `--conf`."""
    found: dict[str, str] = {}
    for option in line.options:
        value = option.value or ""
        if option.name == "--conf":
            found.update(parse_conf([value]))
        elif option.name in OPTION_KEYS:
            found[OPTION_KEYS[option.name]] = value
    return {key: value for key, value in found.items() if key in _LAST_ON_THE_LINE}


def variable_settings(
    settings: Mapping[str, str], environment: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """Settings that Spark takes from variables if nothing else sets them: (variable, value)."""
    found: dict[str, tuple[str, str]] = {}
    for name, keys in _VARIABLES.items():
        for key in keys:
            if environment.get(name) and key not in settings:
                found.setdefault(key, (name, environment[name]))
    return found


def conf_folder(spark_home: Path, environment: Mapping[str, str]) -> Path:
    return Path(environment.get("SPARK_CONF_DIR") or spark_home / "conf")


def user_master(
    line: SubmitLine, settings: Mapping[str, str], environment: Mapping[str, str]
) -> str | None:
    """The master that the user chose: the option, the setting, or the variable MASTER."""
    return line.last("--master") or settings.get("spark.master") or environment.get("MASTER")


def user_remote(
    line: SubmitLine, settings: Mapping[str, str], environment: Mapping[str, str]
) -> str | None:
    """The Spark Connect server that the user chose, in the same order."""
    named = line.last("--remote") or settings.get("spark.remote")
    return named or environment.get("SPARK_REMOTE")


def user_deploy_mode(
    line: SubmitLine, settings: Mapping[str, str], environment: Mapping[str, str]
) -> str:
    """Where the user wants the driver, in the same order."""
    named = line.last("--deploy-mode") or settings.get("spark.submit.deployMode")
    return named or environment.get("DEPLOY_MODE") or "client"
