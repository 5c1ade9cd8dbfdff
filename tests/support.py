"""What tests share: what they need of their surroundings, golden files."""

import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from hearth.base.codec import parse, raw_lines, typed
from hearth.base.ids import show_ids
from hearth.base.json_schema import schema_of
from hearth.cli.commands.schema import DOCUMENTS
from hearth.spark.cds import class_path, driver_flags
from hearth.studies.engine.trial import Trial

ROOT = Path(__file__).resolve().parents[1]

#: UCX for Java, as Maven keeps it.
JUCX = Path.home() / ".m2/repository/org/openucx/jucx/1.18.1/jucx-1.18.1.jar"

#: Runs the installed `hearth`.
Command = Callable[..., subprocess.CompletedProcess[str]]


def required() -> set[str]:
    """The features that must not be skipped, from HEARTH_REQUIRE."""
    return set(filter(None, os.environ.get("HEARTH_REQUIRE", "").split(",")))


def require(feature: str, reason: str) -> None:
    """Skips the test, visibly; fails it where HEARTH_REQUIRE names the feature."""
    if feature in required():
        pytest.fail(f"HEARTH_REQUIRE names {feature}, but {reason}", pytrace=False)
    pytest.skip(f"needs {feature}: {reason}")


#: The two CPUs of tests that divide them between applications, and how the kernel lists both.
TWO_CPUS = tuple(sorted(os.sched_getaffinity(0))[:2])
BOTH_CPUS = show_ids(TWO_CPUS)


def check_golden(name: str, actual: str, folder: Path = ROOT / "tests" / "golden") -> None:
    """Holds a text against the file FOLDER/NAME; HEARTH_UPDATE_GOLDEN=1 writes it anew."""
    file = folder / name
    if os.environ.get("HEARTH_UPDATE_GOLDEN"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(actual, encoding="utf-8")
    assert file.is_file(), f"{file} is missing: HEARTH_UPDATE_GOLDEN=1 writes it"
    assert actual == file.read_text(encoding="utf-8")


#: How long a line of a document may be.
LINE = 120


def filled(text: str, indent: str = "") -> str:
    """A paragraph of a document, or an item of a list, in lines of a document's length."""
    return textwrap.fill(
        text, LINE, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )


#: What leads a command to another Spark, another master or another screen than the test's.
ELSEWHERE = {"SPARK_HOME", "SPARK_CONF_DIR", "SPARK_LOCAL_DIRS", "MASTER", "COLUMNS"}


def command(*words: str) -> list[str]:
    """The command line of the installed `hearth`."""
    return [sys.executable, str(Path(sys.executable).with_name("hearth")), *words]


def environment(state: Path, **more: str) -> dict[str, str]:
    """The environment of a command whose state is kept in the given folder."""
    return _own(state, more)


def hearth(
    state: Path, *words: str, environment: Mapping[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Runs the installed `hearth`, in the folder that its state is in.

    environment: more of it. options: of subprocess.run.
    """
    given = {"cwd": state.parent, "timeout": 400, "text": True, "capture_output": True, **options}
    own = _own(state, environment or {})
    return subprocess.run(command(*words), check=False, env=own, **given)


def _own(state: Path, more: Mapping[str, str]) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    return {**inherited, "HEARTH_STATE": str(state), "NO_COLOR": "1", **more}


def a_trial(run: Mapping[str, Any], subject: str = "a") -> Trial:
    """A run of a study, of its JSON with the arm and the repetition beside the rest."""
    turn = {"subject": subject, "arm": run["arm"], "repetition": run["repetition"]}
    return typed({"turn": turn, **run}, Trial)


def validator(name: str) -> Draft202012Validator:
    """The schema of a document: that of `contract/`, or the one made from its classes."""
    file = ROOT / "contract" / f"{name}.schema.json"
    schema = parse(file.read_bytes()) if file.is_file() else schema_of(name, DOCUMENTS[name])
    return Draft202012Validator(schema)


def validate(name: str, document: Any) -> None:
    """Holds a document, as JSON would carry it, against its schema."""
    validator(name).validate(json.loads(json.dumps(document)))


def driver_settings(spark: Path, jar: Path | None, *options: str) -> dict[str, str]:
    """Spark's settings for a driver with these JVM options.

    It starts from a class-data archive where one has been made: in half of the CPU time.
    spark: Spark's home. jar: hearth's, for its class path.
    """
    flags = driver_flags(spark, jar, make=False, debug=False)
    path = class_path(spark, jar) if flags else str(jar or "")
    settings = {
        "spark.driver.extraClassPath": path,
        "spark.driver.extraJavaOptions": shlex.join([*flags, *options]),
    }
    return {key: value for key, value in settings.items() if value}


def confs(settings: Mapping[str, object]) -> list[str]:
    """Settings as words of a command line of Spark's."""
    return [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]


def as_text(page: str) -> str:
    """A page without the marks that keep an option in one line."""
    return re.sub(r'<span class="whole">(.*?)</span>', r"\1", page)


def says(text: str, pattern: str) -> bool:
    """Whether a message has the parts of a pattern, in this order: `…` stands for any words.

    The parts are what a user needs: the name, the value, the limit, what to do.
    """
    parts = [re.escape(part.strip()) for part in pattern.split("…")]
    return re.search(".*?".join(parts), text, re.DOTALL) is not None


def program(file: Path, script: str) -> Path:
    """A program in sh that stands for the real one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


def fake_perf(folder: Path, lines: list[str], then: str = "") -> str:
    """A perf that says these lines, and keeps in FOLDER/asked what it was asked for."""
    said = "".join(f"{line}\n" for line in lines)
    answer = f"cat >&2 <<'END'\n{said}END\n{then}"
    return str(program(folder / "perf", f'echo "$@" >>"{folder}/asked"\n{answer}'))


def probed(probe: Any, target: object, count: int) -> list[tuple[str, dict[str, Any]]]:
    """The first rows of a probe that reads a stream, each with the name of its file."""
    rows: list[tuple[str, dict[str, Any]]] = []

    def enough() -> bool:
        rows.extend(probe.sample([target]))
        return len(rows) >= count

    eventually(f"{count} rows", enough)
    probe.close()
    return rows


def running(*marks: str) -> list[str]:
    """The processes of which command line and directory hold all the marks."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            words += f" {(place / 'cwd').readlink()}"
        except OSError:
            continue
        if all(mark in words for mark in marks):
            found.append(words)
    return found


def json_lines(file: Path) -> list[Any]:
    """Every whole line of the file, none of which is damaged."""
    return [parse(line) for line in raw_lines(file)]


#: Long, as waiting costs nothing where a test passes, and other work may have the machine.
PATIENCE_S = 240.0


def eventually(
    what: str, check: Callable[[], object], seconds: float = PATIENCE_S, look_s: float = 0.05
) -> None:
    """Waits until `check` is true; fails with `what` when it is not within `seconds`."""
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(look_s)
