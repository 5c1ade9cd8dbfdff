"""Every Spark setting that the user made anywhere, in Spark's order of precedence."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, MutableMapping
from pathlib import Path

from hearth.base.errors import UserError
from hearth.machine import paths
from hearth.machine.plan import parse_conf
from hearth.spark.submit_args import OPTION_KEYS, SubmitLine

DRIVER_OPTIONS = "spark.driver.extraJavaOptions"
#: Keys with which the driver's JVM is started (SparkSubmitCommandBuilder).
_LAST_ON_THE_LINE = (
    DRIVER_OPTIONS,
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
_LIMIT_S = 60
# What the script prints is not part of the answer, and no descriptor is free: it may use any.
_SOURCE = 'exec >&2; set -a; . "$0"; exec {env} -0 >|/proc/{pid}/fd/{answer}'
_SHELLS_OWN = ("_", "SHLVL", "PWD", "OLDPWD")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_NAMED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_KEY = re.compile(r"((?:\\.|[^\\\s=:])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)


def read_settings(line: SubmitLine) -> dict[str, str]:
    """Return the user's settings for this command line; each command reads them once and hands them
    on.

    Changes this process's environment as `spark-env.sh` does, as spark-submit would.
    """
    Path.cwd()  # neither a shell nor a JVM starts in a directory that is gone
    home = paths.spark_home()
    load_spark_env(home, os.environ)
    return user_settings(line, home, os.environ)


def user_settings(
    line: SubmitLine, spark_home: Path, environment: Mapping[str, str]
) -> dict[str, str]:
    """Return what spark-defaults.conf, the properties files, `--conf` and the options set."""
    settings = file_settings(line, spark_home, environment)
    confs = [option.value or "" for option in line.options if option.name == "--conf"]
    settings.update(parse_conf(confs))
    for option in line.options:
        key = OPTION_KEYS.get(option.name)
        if key is not None and option.value is not None and key not in _LAST_ON_THE_LINE:
            settings[key] = option.value
    settings.update(_last_on_the_line(line))
    return {key: value for key, value in settings.items() if key.startswith("spark.")}


def file_settings(
    line: SubmitLine, spark_home: Path, environment: Mapping[str, str]
) -> dict[str, str]:
    """Return the defaults, overridden by the properties file, then by each of the extra ones."""
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
    """Return the driver's setting: its launcher takes the last, be it option or `--conf`."""
    settings: dict[str, str] = {}
    for option in line.options:
        value = option.value or ""
        if option.name == "--conf":
            settings.update(parse_conf([value]))
        elif option.name in OPTION_KEYS:
            settings[OPTION_KEYS[option.name]] = value
    return {key: value for key, value in settings.items() if key in _LAST_ON_THE_LINE}


def variable_settings(
    settings: Mapping[str, str], environment: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """Return settings Spark takes from variables if nothing else sets them: (variable, value)."""
    by_key: dict[str, tuple[str, str]] = {}
    for name, keys in _VARIABLES.items():
        for key in keys:
            if environment.get(name) and key not in settings:
                by_key.setdefault(key, (name, environment[name]))
    return by_key


def conf_folder(spark_home: Path, environment: Mapping[str, str]) -> Path:
    return Path(environment.get("SPARK_CONF_DIR") or spark_home / "conf")


def user_master(
    line: SubmitLine, settings: Mapping[str, str], environment: Mapping[str, str]
) -> str | None:
    """Return the master that the user chose: the option, the setting, or the variable MASTER."""
    return line.last("--master") or settings.get("spark.master") or environment.get("MASTER")


def user_remote(
    line: SubmitLine, settings: Mapping[str, str], environment: Mapping[str, str]
) -> str | None:
    """Return the Spark Connect server that the user chose, in the same order."""
    named = line.last("--remote") or settings.get("spark.remote")
    return named or environment.get("SPARK_REMOTE")


def user_deploy_mode(
    line: SubmitLine, settings: Mapping[str, str], environment: Mapping[str, str]
) -> str:
    """Return where the user wants the driver, in the same order."""
    named = line.last("--deploy-mode") or settings.get("spark.submit.deployMode")
    return named or environment.get("DEPLOY_MODE") or "client"


def read_properties(path: Path, what: str) -> dict[str, str]:
    """Read a Java properties file as Spark does (java.util.Properties, UTF-8 with replacements).

    what: names the file in the error where it cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UserError(f"{what}: cannot read '{path}': {error}") from error
    settings = {}
    for line in _logical_lines(text):
        match = _KEY.fullmatch(line)
        if match:
            settings[_unescape(match[1])] = _unescape(match[2]).strip()
    if any("\0" in key + value for key, value in settings.items()):  # no word of a command line
        raise UserError(f"{what}: '{path}' holds a NUL character: is it a properties file?")
    return settings


def _logical_lines(text: str) -> list[str]:
    """Return lines without comments; one that ends in an odd number of backslashes continues."""
    lines: list[str] = []
    pending = ""
    for raw in re.split(r"\r\n|\r|\n", text):
        line = raw.lstrip(" \t\f")
        if not pending and line[:1] in ("", "#", "!"):
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            pending += line[:-1]
            continue
        lines.append(pending + line)
        pending = ""
    return [*lines, pending] if pending else lines


def _unescape(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        code = match[1]
        return chr(int(code[1:], 16)) if len(code) == 5 else _NAMED.get(code, code)

    # Two escapes may be the halves of one character: Java writes those above U+FFFF so.
    return _ESCAPE.sub(plain, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def load_spark_env(spark_home: Path, environment: MutableMapping[str, str]) -> None:
    """Change `environment` as spark-env.sh does, where there is one and no script has read it.

    Every script of Spark's sources it first (bin/load-spark-env.sh): what it sets overrides the
    caller's environment.

    Raises UserError where the script fails or ends the shell that reads it.
    """
    script = conf_folder(spark_home, environment) / "spark-env.sh"
    if environment.get("SPARK_ENV_LOADED") or not script.is_file():
        return
    given = {**environment, "SPARK_HOME": str(spark_home), "SPARK_CONF_DIR": str(script.parent)}
    result = _sourced(script, given)
    for name in set(environment) - set(result):
        del environment[name]
    changed = {name: value for name, value in result.items() if given.get(name) != value}
    environment.update({n: v for n, v in changed.items() if n not in _SHELLS_OWN})


def _sourced(script: Path, environment: dict[str, str]) -> dict[str, str]:
    answer = os.memfd_create("spark-env")
    try:
        _source(script, environment, answer)
        os.lseek(answer, 0, os.SEEK_SET)
        with open(answer, "rb", closefd=False) as file:
            words = os.fsdecode(file.read()).split("\0")
    finally:
        os.close(answer)
    variables = dict(word.split("=", 1) for word in words if "=" in word)
    if not variables:
        raise UserError(
            f"{script}: ends the shell that reads it (exit), and so spark-submit: "
            "use 'return' instead"
        )
    return variables


def _source(script: Path, environment: dict[str, str], answer: int) -> None:
    """Have a shell read the script, and write its environment to the file `answer`."""
    env = shutil.which("env") or "env"  # the script may change the path
    code = _SOURCE.format(env=env, pid=os.getpid(), answer=answer)
    try:
        done = subprocess.run(
            ["bash", "-c", code, str(script)],
            env=environment,
            stdin=subprocess.DEVNULL,
            timeout=_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UserError(
            f"{script}: did not finish within {_LIMIT_S} s, and spark-submit reads it too: "
            "correct it"
        ) from error
    if done.returncode:
        raise UserError(
            f"{script}: failed with exit code {done.returncode}, and spark-submit reads it too: "
            "correct it"
        )
