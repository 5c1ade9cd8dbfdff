"""What a driver writes to its log: the user's own logging counts; without any, WARN and above.

A file of Log4j's that is named to the JVM counts from its start; spark.log.level counts once there
is a SparkContext. Executors are not asked: each keeps its log, from INFO, in a file of its own.
"""

import contextlib
import os
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from hearth.base.errors import UserError
from hearth.base.java import OPTION_VARIABLES, SUBMIT_OPTIONS
from hearth.machine import paths
from hearth.spark.conf import DRIVER_OPTIONS, conf_folder

#: Those of `--log`.
LEVELS = ("error", "warn", "info", "debug")
_SPARKS_KEY = "spark.log.level"
_SPARKS_LEVELS = ("all", "trace", "debug", "info", "warn", "error", "fatal", "off")
_USUAL, _RECORDED = "warn", "info"
_FILE = Path(__file__).with_name("log4j2.properties").as_uri()
_CONFIGURATION = f"-Dlog4j2.configurationFile={_FILE}"
#: How the words begin that are added to a driver's JVM options; none of them is a secret.
OWN = (_CONFIGURATION, "-Dhearth.log.")
_LEVEL = "-Dhearth.log.level="
#: How Log4j is told of a file, as a property of the JVM (both spellings are its own).
_TOLD = re.compile(r"-Dlog4j2?\.configurationFile=(\S+)")
_KEYS = (DRIVER_OPTIONS, DRIVER_OPTIONS.replace("extra", "default"))
_VARIABLES = ("LOG4J_CONFIGURATION_FILE", "LOG4J2_CONFIGURATION_FILE")
#: Folders of the class path that variables name.
_CONFIGURED = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
_NAMES = re.compile(r"log4j2(-test)?\.(properties|ya?ml|jso?n|xml)")


def log_flags(
    wanted: str | None, settings: Mapping[str, str], class_path: str, *, quiet: bool = False
) -> list[str]:
    """Return the driver's JVM flags for its log; none where the user configures logging himself.

    wanted: of `--log`. settings: the user's own, as is class_path. Raises UserError where `--log`
    says something else than the user's own logging.
    """
    theirs = settings.get(_SPARKS_KEY, "").strip().lower()
    if theirs and wanted not in (None, theirs):
        other = f"{_SPARKS_KEY}={settings[_SPARKS_KEY]}"
        raise UserError(f"--log: '{wanted}' contradicts {other}: give one of them")
    conf = conf_folder(paths.spark_home(), os.environ)
    own = users_logging(settings, os.environ, conf, class_path)
    if own is None:
        level = wanted or (theirs if theirs in _SPARKS_LEVELS else "error" if quiet else _USUAL)
        return [_CONFIGURATION, f"{_LEVEL}{level}"]
    if wanted is not None and not theirs:
        instead = f"--conf {_SPARKS_KEY}={wanted.upper()}"
        raise UserError(f"--log: '{wanted}': {own} configures logging: use {instead} instead")
    return []


def users_logging(
    settings: Mapping[str, str], environment: Mapping[str, str], conf: Path, class_path: str
) -> str | None:
    """Return what of the user's configures Log4j; None where nothing does."""
    options = {name: environment.get(name, "") for name in (*OPTION_VARIABLES, SUBMIT_OPTIONS)}
    options |= {key: settings.get(key, "") for key in _KEYS}
    told = [name for name, words in options.items() if _TOLD.search(words)]
    told += [name for name in _VARIABLES if environment.get(name)]
    if told:
        return told[0]
    places = [environment.get(name, "") for name in _CONFIGURED]
    on_path = [*class_path.split(":"), *environment.get("SPARK_DIST_CLASSPATH", "").split(":")]
    return next((f"'{file}'" for file in _files([str(conf), *places, *on_path])), None)


def _files(places: Iterable[str]) -> Iterator[str]:
    """Yield Log4j's files in folders and jars of a class path; `folder/*` is all jars in it.

    What cannot be read here, Log4j does not find either.
    """
    for path in map(Path, filter(None, places)):
        with contextlib.suppress(OSError, zipfile.BadZipFile):
            if path.is_dir():
                yield from (str(file) for file in path.iterdir() if _NAMES.fullmatch(file.name))
            elif path.name == "*":
                yield from _files(map(str, sorted(path.parent.glob("*.jar"))))
            elif path.suffix == ".jar":
                names = zipfile.ZipFile(path).namelist()
                yield from (f"{path}!{name}" for name in names if _NAMES.fullmatch(name))


def recorded(options: str, record: Path) -> str:
    """Return the driver's JVM options of a run on record, whose lines from INFO are kept there.

    options: those without a record; where the log is the user's own they stay as they are.
    """
    levels = [word.removeprefix(_LEVEL) for word in options.split() if word.startswith(_LEVEL)]
    if _CONFIGURATION not in options.split() or not levels:
        return options
    seen = levels[-1]
    kept = seen if seen in ("all", "trace", "debug") else _RECORDED
    flags = {"level": kept, "console": seen, "record": kept, "file": record / "driver.log"}
    return " ".join([options, *(f"-Dhearth.log.{name}={value}" for name, value in flags.items())])
