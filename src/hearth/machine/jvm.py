"""Call `io.hearth.core.cli.Main`: a verb and a JSON request in, one JSON document out.

The planner lives once, on the JVM side; see ARCHITECTURE.md for why.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from hearth.base.codec import parse
from hearth.base.errors import UserError
from hearth.base.java import QUIET, own_directory, own_environment, reason_of
from hearth.base.private_files import open_private
from hearth.base.processes import die_with
from hearth.machine import class_data, paths

_MAIN = "io.hearth.core.cli.Main"
_USER_ERROR = 2
_OWN_FAULT = 70
#: What a JVM older than the jar says; its `release` file did not tell its version.
_TOO_OLD = "UnsupportedClassVersionError"
_BESIDE = 19  # the lowest priority, nice(2)
# A short-lived program: little to compile, nothing to collect in parallel.
_SHORT_LIVED = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xss8m"]
_COMPUTING = ["-XX:+UseSerialGC"]
_LIBRARIES = ("scala-library-2.13*.jar", "jackson-core-2*.jar", "jackson-databind-2*.jar")
_ANNOTATIONS = "jackson-annotations-2*.jar"
#: What reads the archives of captures.
_COMPRESSION = (
    "commons-compress-1*.jar",
    "commons-io-2*.jar",
    "commons-lang3-3*.jar",
    "commons-codec-1*.jar",
    "xz-1*.jar",
)


def call(
    verb: str,
    *arguments: str,
    request: Any = None,
    debug: bool = False,
    compute: bool = False,
    inherits: tuple[int, ...] = (),
) -> Any:
    """Return the document that a verb answers.

    compute: for a verb whose loops must be compiled well, which a short-lived JVM does without.
    inherits: file descriptors that the verb is given.
    Raises UserError with the JVM side's own one-line message if the user can correct it.
    """
    text = json.dumps(request) if request is not None else ""
    done = subprocess.run(
        command(verb, *arguments, debug=debug, compute=compute),
        input=text,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        pass_fds=inherits,
        cwd=own_directory(),
        env=own_environment(),
        preexec_fn=die_with(os.getpid()),
    )
    if done.returncode == _USER_ERROR:
        raise UserError(done.stderr.strip().splitlines()[-1])
    if done.returncode == _OWN_FAULT:
        raise RuntimeError(f"java ended with {done.returncode}: {done.stderr.strip()}")
    if done.returncode:
        if _TOO_OLD in done.stderr:
            raise paths.too_old(paths.java(), "is too old")
        raise UserError(_no_answer(verb, done))
    try:
        return parse(done.stdout)
    except ValueError as error:
        raise UserError(
            f"java's answer to '{verb}' cannot be read: {error}; run it again, and report it "
            "if that does not help"
        ) from error


def _no_answer(verb: str, done: subprocess.CompletedProcess[str]) -> str:
    """For a JVM that did not start or was killed; hearth's own exit codes are 2 and 70."""
    reason = reason_of(done.stderr, done.stdout)
    how = f"was killed by signal {-done.returncode}" if done.returncode < 0 else "failed"
    code = f" with {done.returncode}" if done.returncode > 0 else ""
    remedy = "check free memory and JAVA_HOME"
    return f"java {how}{code} at '{verb}': {reason or 'it said nothing'}; {remedy}"


def begin(command: list[str], answer: Path) -> subprocess.Popen[str]:
    """Start a `command` in the background; its document goes to the file `answer`.

    It runs at the lowest priority and ends with this process. Standard error is a pipe.
    """
    ask = die_with(os.getpid())

    def prepare() -> None:
        os.nice(_BESIDE)
        ask()

    with open(answer, "wb", opener=open_private) as file:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            cwd=own_directory(),
            env=own_environment(),
            preexec_fn=prepare,  # noqa: PLW1509 - this process has one thread
        )


def command(verb: str, *arguments: str, debug: bool = False, compute: bool = False) -> list[str]:
    """Return the command of a verb; raise UserError if Java, Spark or hearth's jar is missing."""
    java = paths.java()
    jvm = [*QUIET, *(_COMPUTING if compute else _SHORT_LIVED), "-cp", _class_path(), _MAIN]
    flags = [] if compute else class_data.archive_flags(java, jvm, debug)
    return [str(java), *flags, *jvm, verb, *arguments]


def _class_path() -> str:
    jars = paths.spark_home() / "jars"
    found = [_one(jars, pattern) for pattern in (*_LIBRARIES, _ANNOTATIONS, *_COMPRESSION)]
    return ":".join(str(path) for path in [paths.hearth_jar(), *found])


def _one(folder: Path, pattern: str) -> Path:
    matches = sorted(folder.glob(pattern))
    if not matches:
        raise UserError(f"no {pattern} in {folder}: hearth needs {paths.SPARK_VERSIONS}")
    return matches[-1]
