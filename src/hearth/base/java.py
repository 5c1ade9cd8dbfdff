"""The environment of hearth's own short JVMs, from which nothing may change their answer.

An application's JVMs are the user's, and get the user's environment as it is.
"""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

#: Options for every JVM: the second is read by the `java` command only (java(1)).
OPTION_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
#: Options for the JVM that spark-submit becomes.
SUBMIT_OPTIONS = "SPARK_SUBMIT_OPTS"
COLLECTOR = re.compile(r"-XX:\+Use(\w+GC)\b")
#: How a JVM announces that it has read a variable: with its value, which may be a secret.
_ANNOUNCED = re.compile(r"^(NOTE: )?Picked up \w+: ", re.MULTILINE)
_BLANK = re.compile(r"\s+")
#: General words that a JVM adds to the reason (java(1), `LauncherHelper`).
_GENERAL = (
    "Error: Could not create the Java Virtual Machine",
    "Error: A fatal exception has occurred. Program will exit",
    "Error occurred during initialization of VM",
)
#: Everything that a JVM itself has to say goes to standard error: standard output is the answer.
QUIET = ["-Xlog:disable", "-XX:+DisplayVMOutputToStderr"]


def collector_of(settings: Mapping[str, str], key: str) -> str | None:
    """Return the collector that the user chose, such as `G1GC`, by Spark's settings or the
    environment.

    key: `spark.driver.extraJavaOptions` or that of executors.
    """
    driver = key.startswith("spark.driver.")
    names = (*OPTION_VARIABLES, SUBMIT_OPTIONS) if driver else OPTION_VARIABLES
    given = [os.environ.get(name, "") for name in names]
    given += [settings.get(name, "") for name in (key.replace("extra", "default"), key)]
    match = COLLECTOR.search(" ".join(given))
    return match[1] if match else None


def own_environment() -> dict[str, str]:
    """Return this process's environment without the options that the user gives to JVMs, and with
    the encoding in which Python writes the names of files: in the locale C, Java has no other
    letters than those of ASCII.
    """
    dropped = (*OPTION_VARIABLES, SUBMIT_OPTIONS)
    variables = {name: value for name, value in os.environ.items() if name not in dropped}
    wide = sys.getfilesystemencoding() in (
        "utf-8",
        "ascii",
    )  # whose bytes are passed on as they are
    return {**variables, "LC_ALL": "C.UTF-8"} if wide else variables


def own_directory() -> str | None:
    """Return where such a JVM starts: none starts in a directory that has been deleted.

    None: as it is.
    """
    try:
        Path.cwd()
    except FileNotFoundError:
        return "/"
    return None


def reason_of(*outputs: str) -> str:
    """Return the line of a JVM that did not start, or of its program, that says why; empty without
    one.

    outputs: what it wrote to each stream. The JVM's own errors are often on standard output.
    """
    lines = list(_lines(outputs))
    errors = [line for line in lines if line.startswith(("Error", "Exception in", "java.lang."))]
    return next(iter([*errors[:1], *lines[-1:]]), "")


def _lines(outputs: tuple[str, ...]) -> Iterator[str]:
    for output in outputs:
        for line in without_options(output).splitlines():
            text = line.strip()
            if text and not text.startswith(_GENERAL):
                yield text


def without_options(output: str) -> str:
    """Return a JVM's output without the options that it has picked up, which may be secrets and
    have line breaks.
    """
    parts, at = [], 0
    while match := _ANNOUNCED.search(output, at):
        parts.append(output[at : match.start()])
        at = _end_of_options(output, match.end())
    return "".join([*parts, output[at:]])


def _end_of_options(output: str, at: int) -> int:
    """Return where options end: they go on behind a line break where another follows, or quoted."""
    while at < len(output):
        character = output[at]
        if character in "\"'":
            at = max(at, output.find(character, at + 1)) + 1
        elif character != "\n":
            at += 1
        else:
            following = _BLANK.match(output, at)
            if following is None or not output.startswith("-", following.end()):
                break
            at = following.end()
    return at
