"""The files of one run: a directory that goes with it, private Java options, its plan.

The directory is for what a run needs while it starts. This process removes it at its end; after
kill -9, or where it has become spark-submit, its guardian does. The guardian's pipe stays open here
and in nothing that a JVM starts, so the kernel closes it with the run. Should the guardian be
killed too, the next run removes what is an hour old: the files are read when Spark starts.

JVM options of the user's files are passed on in files, because every user can read a command line:
the driver's in an argument file of the JVM (`@file`, java(1)), those of executors in a properties
file after the user's own (`--extra-properties-file`, in one with them before Spark 4.2), which only
`--conf` overrides.

The driver reads its plan from a file named by `spark.hearth.plan`. The file's name is a hash of its
content, so a dry run prints exactly the command that runs, a plan takes one file however often it
is used, and files not used for a week are deleted. No application removes its file at its end:
another may be starting from the same one, a program may start a second SparkContext, and a command
that a dry run printed may still be run. So no such file holds a system property or an agent of the
user's, which may be a secret: the driver knows them from its own settings.

`-Xlog` separates its words by colons and quotes, and a JVM under LC_ALL=C cannot write non-ASCII
letters: for a directory whose name JVM options do not take there is a link (`plain_path`).
"""

import atexit
import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from hearth.base.errors import UserError
from hearth.base.private_files import private_directory, write_private
from hearth.base.processes import start_guardian
from hearth.base.temporary import working_directory
from hearth.spark import driver_log
from hearth.spark.command import Launch
from hearth.spark.conf import DRIVER_OPTIONS, file_settings
from hearth.spark.submit_args import Option, SubmitLine

_EXTRA = "--extra-properties-file"
_FILES = ("--properties-file", _EXTRA, "--load-spark-defaults")
_PARSER = "org/apache/spark/launcher/SparkSubmitOptionParser.class"
_PLAIN = re.compile(r"[A-Za-z0-9_./+=@-]+")


def is_plain(directory: Path) -> bool:
    return _PLAIN.fullmatch(str(directory)) is not None


@contextlib.contextmanager
def plain_path(directory: Path) -> Iterator[Path]:
    """Yield the directory or, if its name is not plain, a link to it for as long as needed."""
    if is_plain(directory):
        yield directory
        return
    with working_directory(keep=False, prefix="hearth-record-") as folder:
        link = folder / "record"
        link.symlink_to(directory, target_is_directory=True)
        yield link


def check_locale(state: Path, environment: Mapping[str, str]) -> None:
    """Raise UserError where Spark could not write an event log, and would fail."""
    names = ("LC_ALL", "LC_CTYPE", "LANG")
    chosen = next((environment[name] for name in names if environment.get(name)), "C")
    if not str(state).isascii() and "utf" not in chosen.lower():
        raise UserError(
            f"Spark cannot write the name of the state directory '{state}' in the locale "
            f"'{chosen}': set LC_ALL=C.UTF-8, or HEARTH_STATE to a directory with an ASCII name"
        )


_PREFIX = "hearth-run-"
_STARTING_KEPT_S = 3600
_DELETE = 'read -r _; rm -rf -- "$0"'


def run_directory(state: Path) -> Path:
    """Return a new private directory, which goes with the run: below the state directory, or below
    TMPDIR where that cannot be written or has a name that JVM options do not take. Raises OSError
    if neither can.
    """
    if is_plain(state):
        try:
            return _kept(private_directory(state / "starting"))
        except OSError:
            pass
    return temporary_directory()


def temporary_directory() -> Path:
    """Return a new directory below TMPDIR. Raises OSError."""
    return _kept(Path(tempfile.gettempdir()))


def _kept(parent: Path) -> Path:
    _sweep_directories(parent, time.time() - _STARTING_KEPT_S)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent)).resolve()
    guardian = start_guardian(["sh", "-c", _DELETE, str(folder)])
    assert guardian.stdin is not None
    # Held open until the run ends, also by the program that this process may become.
    os.set_inheritable(os.dup(guardian.stdin.fileno()), True)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _sweep_directories(parent: Path, before: float) -> None:
    for old in parent.glob(f"{_PREFIX}*"):
        try:
            status = old.lstat()
        except FileNotFoundError:
            continue  # another hearth swept it first
        if status.st_uid == os.getuid() and status.st_mtime < before:
            shutil.rmtree(old, ignore_errors=True)


EXECUTOR_OPTIONS = "spark.executor.extraJavaOptions"


def handed_over(launch: Launch, line: SubmitLine, state: Path) -> Launch:
    """Return the launch with options from the user's files moved to files; typed ones stay.

    state: the directory below which the files are written. Raises UserError if they cannot be.
    """
    folder = cache(lambda: run_directory(state))
    typed = {option.key for option in line.options}
    options: list[Option] = []
    private: dict[str, str] = {}
    for option in launch.options:
        key = option.key
        value = (option.value or "").partition("=")[2]
        if key in typed or option.name != "--conf":
            options.append(option)
        elif key == DRIVER_OPTIONS:
            options.append(Option("--conf", f"{key}={_with_argument_file(value, folder)}"))
        elif key == EXECUTOR_OPTIONS:
            private[key] = value
        else:
            options.append(option)
    if private or line.has(_EXTRA):
        options = _with_properties(
            options, private, line, launch.spark_submit.parent.parent, folder
        )
    return replace(launch, options=options)


def _with_properties(
    options: list[Option],
    private: Mapping[str, str],
    line: SubmitLine,
    spark: Path,
    folder: Callable[[], Path],
) -> list[Option]:
    """Return the options with a file of these settings behind the user's own files.

    Spark 4.0 and 4.1 take one file only: there it holds what the user's files set too.
    """
    if _takes_extra_files(spark):
        extra = [Option(_EXTRA, str(_properties(private, folder)))] if private else []
        return [*options, *extra]
    settings = {**file_settings(line, spark, os.environ), **private}
    others = [option for option in options if option.name not in _FILES]
    return [*others, Option("--properties-file", str(_properties(settings, folder)))]


def _takes_extra_files(spark: Path) -> bool:
    """Return whether this Spark's launcher knows the option."""
    for jar in (spark / "jars").glob("spark-launcher_*.jar"):
        with contextlib.suppress(OSError, KeyError, BadZipFile), ZipFile(jar) as file:
            return _EXTRA.encode() in file.read(_PARSER)
    return True


def private_properties(settings: Mapping[str, str], state: Path) -> Path:
    """Return a properties file for a command that this process starts. Raises UserError."""
    return _properties(settings, lambda: run_directory(state))


def _properties(settings: Mapping[str, str], folder: Callable[[], Path]) -> Path:
    text = "".join(f"{key}={_escaped(value)}\n" for key, value in settings.items())
    return _file("properties", text, folder)


def _with_argument_file(value: str, folder: Callable[[], Path]) -> str:
    """Leave JVM flags (-X) and hearth's own properties; move other properties and agents, which may
    hold anything, into the file.
    """
    words = shlex.split(value)
    moved = [word for word in words if not word.startswith(("-X", "@", *driver_log.OWN))]
    if not moved:
        return value
    text = "".join(f'"{_quoted(word)}"\n' for word in moved)
    file = _file("args", text, folder)
    return shlex.join([*(word for word in words if word not in moved), f"@{file}"])


def _file(name: str, text: str, folder: Callable[[], Path]) -> Path:
    try:
        file = folder() / name
        write_private(file, text)
    except OSError as error:
        raise UserError(
            "cannot pass on the Java options of your configuration files in a file below "
            f"'{tempfile.gettempdir()}': {error.strerror}; free space, or set TMPDIR"
        ) from error
    return file


def _quoted(word: str) -> str:
    """Escape a word within the quotes of an argument file of java(1)."""
    return word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _escaped(value: str) -> str:
    """Escape a value for java.util.Properties."""
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")


KEPT_S = 7 * 24 * 3600


def write_plan(plan: dict[str, Any], state: Path) -> Path:
    """Return the path of the plan's file below the state directory; old ones there are deleted.

    If that cannot be written, a directory that goes with this process is used, with a warning: the
    application does not depend on hearth's state. Raises UserError if neither works.
    """
    text = json.dumps(plan, indent=1, sort_keys=True)
    name = f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"
    folder = state / "plans"
    try:
        return _written(name, text, folder)
    except OSError as error:
        problem = f"cannot write the plan to '{folder}': {error.strerror}"
    try:
        instead = _written(name, text, temporary_directory())
    except OSError as error:
        raise UserError(
            f"{problem}, nor to '{tempfile.gettempdir()}': {error.strerror}; "
            "free space, or set HEARTH_STATE to a writable directory"
        ) from error
    print(f"hearth: {problem}; it is in '{instead}' while this runs", file=sys.stderr)
    return instead


def _written(name: str, text: str, folder: Path) -> Path:
    private_directory(folder)
    _sweep_plans(folder, time.time() - KEPT_S)
    write_private(folder / name, text)
    return folder / name


def _sweep_plans(folder: Path, before: float) -> None:
    for file in folder.iterdir():
        try:
            if file.stat().st_mtime < before:
                file.unlink()
        except FileNotFoundError:
            continue  # another hearth swept it first
