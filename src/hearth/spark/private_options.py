"""Passes JVM options from the user's files in files: every user can read a command line.

The driver's go into an argument file of the JVM (`@file`, java(1)), those of executors into a
properties file after the user's own (`--extra-properties-file`), which only `--conf` overrides.
Both are private, and go with the run (`run_directory`).
"""

import shlex
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from hearth.base.errors import UserError
from hearth.base.private_files import write_private
from hearth.spark.command import Launch
from hearth.spark.conf import OPTION_KEYS
from hearth.spark.run_directory import run_directory
from hearth.spark.submit_args import Option, SubmitLine

DRIVER_OPTIONS = "spark.driver.extraJavaOptions"
EXECUTOR_OPTIONS = "spark.executor.extraJavaOptions"


def handed_over(launch: Launch, line: SubmitLine, state: Path) -> Launch:
    """The launch with options from the user's files moved to files; typed ones stay.

    state: the directory below which the files are written. Raises UserError if they cannot be.
    """
    folder = cache(lambda: run_directory(state))
    typed = {key_of(option) for option in line.options}
    options: list[Option] = []
    private: dict[str, str] = {}
    for option in launch.options:
        key = key_of(option)
        value = (option.value or "").partition("=")[2]
        if key in typed or option.name != "--conf":
            options.append(option)
        elif key == DRIVER_OPTIONS:
            options.append(Option("--conf", f"{key}={_with_argument_file(value, folder)}"))
        elif key == EXECUTOR_OPTIONS:
            private[key] = value
        else:
            options.append(option)
    if private:
        options.append(Option("--extra-properties-file", str(_properties(private, folder))))
    return replace(launch, options=options)


def private_properties(settings: Mapping[str, str], state: Path) -> Path:
    """A properties file for a command that this process starts. Raises UserError."""
    return _properties(settings, lambda: run_directory(state))


def _properties(settings: Mapping[str, str], folder: Callable[[], Path]) -> Path:
    text = "".join(f"{key}={_escaped(value)}\n" for key, value in settings.items())
    return _file("properties", text, folder)


def key_of(option: Option) -> str | None:
    """The setting that an option makes."""
    if option.name == "--conf":
        return (option.value or "").partition("=")[0].strip()
    return OPTION_KEYS.get(option.name)


def _with_argument_file(value: str, folder: Callable[[], Path]) -> str:
    """JVM flags (-X) stay; system properties and agents may hold anything, and go into the file."""
    words = shlex.split(value)
    moved = [word for word in words if not word.startswith(("-X", "@"))]
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
            "the Java options of your configuration files cannot be passed on in a file below "
            f"'{tempfile.gettempdir()}': {error.strerror}; make room, or set TMPDIR"
        ) from error
    return file


def _quoted(word: str) -> str:
    """Within the quotes of an argument file of java(1)."""
    return word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _escaped(value: str) -> str:
    """As java.util.Properties reads it."""
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
