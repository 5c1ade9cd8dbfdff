"""Calls `io.hearth.core.cli.Main`: a verb and a JSON request in, one JSON document out.

The planner lives once, on the JVM side; see ARCHITECTURE.md for why.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from hearth.model.errors import UserError
from hearth.model.processes import die_with
from hearth.planner import archive, places

_MAIN = "io.hearth.core.cli.Main"
_USER_ERROR = 2
# A short-lived program: little to compile, nothing to collect in parallel.
_SHORT_LIVED = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xss8m"]
_COMPUTING = ["-XX:+UseSerialGC", "-Xlog:disable"]
_LIBRARIES = ("scala-library-2.13*.jar", "jackson-core-2*.jar", "jackson-databind-2*.jar")
_ANNOTATIONS = "jackson-annotations-2*.jar"


def call(
    verb: str, *arguments: str, request: Any = None, debug: bool = False, compute: bool = False
) -> Any:
    """The document that a verb answers.

    compute: for a verb whose loops must be compiled well, which a short-lived JVM does without.
    Raises UserError with the JVM side's own one-line message where the user can put it right.
    """
    java = places.java()
    jvm = [*(_COMPUTING if compute else _SHORT_LIVED), "-cp", _class_path(), _MAIN]
    flags = [] if compute else archive.archive_flags(java, jvm, debug)
    text = json.dumps(request) if request is not None else ""
    done = subprocess.run(
        [str(java), *flags, *jvm, verb, *arguments],
        input=text,
        capture_output=True,
        encoding="utf-8",
        check=False,
        preexec_fn=die_with(os.getpid()),
    )
    if done.returncode == _USER_ERROR:
        raise UserError(done.stderr.strip())
    if done.returncode:
        raise RuntimeError(f"java ended with {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def _class_path() -> str:
    jars = places.spark_home() / "jars"
    found = [_one(jars, pattern) for pattern in (*_LIBRARIES, _ANNOTATIONS)]
    return ":".join(str(path) for path in [places.hearth_jar(), *found])


def _one(folder: Path, pattern: str) -> Path:
    matches = sorted(folder.glob(pattern))
    if not matches:
        raise UserError(f"no {pattern} in {folder}: hearth needs Spark 4.3 for Scala 2.13")
    return matches[-1]
