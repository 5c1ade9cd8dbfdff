"""Read the list of workloads from their jar, so that there is only one."""

import difflib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from hearth.base.codec import load_typed, typed
from hearth.base.errors import UserError
from hearth.base.java import QUIET, own_directory, own_environment, reason_of
from hearth.base.private_files import private_directory, write_private
from hearth.base.processes import die_with
from hearth.machine import class_data, paths

MAIN = "io.hearth.workloads.Main"
_USER_ERROR = 2
_SHORT_LIVED = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"]


@dataclass(frozen=True)
class Parameter:
    """A setting of a job or a generator.

    published: what the study used, or empty. choices: all its values, where they are few.
    """

    name: str
    default: str
    help: str
    published: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Input:
    """A data set that a job reads; `shared` parameters of the job go to its generator too."""

    name: str
    generator: str
    shared: tuple[str, ...]


@dataclass(frozen=True)
class Job:
    """One workload; `stream` names what a streaming job's source sends; None of a batch job."""

    name: str
    family: str
    summary: str
    stresses: str
    published: str
    parameters: tuple[Parameter, ...]
    inputs: tuple[Input, ...]
    stream: str | None = None


@dataclass(frozen=True)
class Generator:
    """A generator of a kind of data; a new version makes other bytes from the same seed.

    distribution: what the values are drawn from, and where that comes from.
    """

    name: str
    version: int
    summary: str
    parameters: tuple[Parameter, ...]
    distribution: str = ""


@dataclass(frozen=True)
class Catalogue:
    """All jobs and generators, in the jar's order."""

    jobs: tuple[Job, ...]
    generators: tuple[Generator, ...]

    def job(self, name: str) -> Job:
        """Raise UserError with the nearest names for one that is unknown."""
        for job in self.jobs:
            if job.name == name:
                return job
        raise UserError(f"'{name}' is not a job: {self._hint(name)}")

    def generator(self, name: str) -> Generator:
        for generator in self.generators:
            if generator.name == name:
                return generator
        raise UserError(f"'{name}' is not a generator of this jar: run 'make setup'")

    def _hint(self, name: str) -> str:
        names = [job.name for job in self.jobs]
        near = difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.5)
        near = near or [known for known in names if name.lower() in known][:3]
        return f"did you mean {' or '.join(near)}?" if near else "see 'hearth lab run --list'"


def load() -> Catalogue:
    """Return the catalogue; the jar is asked once, and what it said kept until it changes."""
    jar = paths.workloads_jar()
    file = paths.cache_home() / f"catalogue-{class_data.key([jar], [])}.json"
    try:
        return load_typed(file, Catalogue)
    except (OSError, ValueError):
        text = ask("catalogue")  # not kept yet, or damaged
    try:
        _keep(file, text)
    except OSError as error:
        print(f"hearth: the jar will be asked each time: {error}", file=sys.stderr)
    return typed(json.loads(text), Catalogue)


def ask(*words: str) -> str:
    """Ask the jar's main class; plain Java, no Spark session.

    Raises UserError with its own one-line message if the user can correct it.
    """
    # Spark's other jars come last: they are opened only for a class that a job's own class needs.
    path = f"{paths.workloads_jar()}:{paths.spark_home() / 'jars'}/*"
    done = subprocess.run(
        [str(paths.java()), *QUIET, *_SHORT_LIVED, "-cp", path, MAIN, *words],
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        cwd=own_directory(),
        env=own_environment(),
        check=False,
        preexec_fn=die_with(os.getpid()),
    )
    if done.returncode == _USER_ERROR:
        raise UserError(done.stderr.strip().splitlines()[-1].removeprefix("workloads: "))
    if done.returncode:
        raise RuntimeError(f"java ended with {done.returncode}: {reason_of(done.stderr)}")
    return done.stdout


def _keep(file: Path, text: str) -> None:
    private_directory(file.parent)
    for old in file.parent.glob("catalogue-*.json"):
        old.unlink(missing_ok=True)
    write_private(file, text)
