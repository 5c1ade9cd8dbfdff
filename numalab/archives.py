"""Archives of loaded classes (JEP 350) for the guest's JVMs, made by running the job here once.

Loading and verifying Spark's classes is most of what an emulated JVM does at start. An archive is
valid where the JDK, the jars and their times are the same, which holds inside the guest.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from numalab.cases import local_numa
from numalab.setup import CACHE

LIMIT_SECONDS = 240
NAMES = ("driver", "executor")


def archives(jar: Path, environment: dict[str, str]) -> list[Path]:
    """The archives for this jar, made on first use.

    Without them (the job did not run on this machine; a warning says how it ended) the guest is
    only slower.
    """
    directory = CACHE / f"archives-{_fingerprint(jar, environment)}"
    made = [directory / f"{name}.jsa" for name in NAMES]
    if not all(path.is_file() for path in made):
        for old in CACHE.glob("archives-*"):
            shutil.rmtree(old)
        directory.mkdir(parents=True)
        _train(jar, environment, directory)
    return [path for path in made if path.is_file()]


def _fingerprint(jar: Path, environment: dict[str, str]) -> str:
    release = Path(environment["JAVA_HOME"], "release").read_text(encoding="utf-8")
    facts = jar.stat()
    parts = [
        local_numa.JAVA_OPTIONS,
        str(jar),
        str(facts.st_mtime_ns),
        str(facts.st_size),
        release,
        *environment.values(),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def _train(jar: Path, environment: dict[str, str], directory: Path) -> None:
    # The driver ends by itself and writes its archive then; executors are ended, so the application
    # asks one for its archive while it lives.
    options = {
        "driver": f"{local_numa.JAVA_OPTIONS} -XX:ArchiveClassesAtExit={directory / 'driver.jsa'}",
        "executor": f"{local_numa.JAVA_OPTIONS} -XX:+RecordDynamicDumpInfo",
    }
    with tempfile.TemporaryDirectory(prefix="train.", dir=CACHE) as scratch:
        everything = {
            **os.environ,
            **environment,
            "HEARTH_STATE": f"{scratch}/state",
            "NUMALAB_EXECUTOR_ARCHIVE": str(directory / "executor.jsa"),
        }
        call = local_numa.command(str(jar), "local-numa[1x1]", options, everything)
        log = directory / "training.log"
        with log.open("wb") as output:
            try:
                done = subprocess.run(
                    [*call, scratch, "1"],
                    env=everything,
                    check=False,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    timeout=LIMIT_SECONDS,
                )
                problem = f"exit {done.returncode}" if done.returncode else ""
            except subprocess.TimeoutExpired:
                problem = f"not done after {LIMIT_SECONDS} s"
    if problem:
        print(
            f"numalab: no class archives, guests will be slower: {problem}, see {log}",
            file=sys.stderr,
        )
