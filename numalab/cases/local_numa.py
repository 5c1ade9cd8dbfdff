"""A Spark job under `local-numa`: placement of executors and Python workers, and a lost one."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

LIMIT_SECONDS = 1800  # most of what the tests give a boot
ARCHIVES = Path("/numalab/archives")
# What keeps an emulated JVM quick; nothing of it touches placement.
JAVA_OPTIONS = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions "
    "-XX:ArchiveRelocationMode=0"
)
CONFIGURATION = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.local.dir": "/tmp/spark",
    "spark.python.worker.reuse": "true",
    "spark.hearth.handOver": "off",  # each in its place, whoever is slower here
    "spark.hearth.classDataArchive": "false",  # made outside already: see archives.py
}


def collect(job: dict[str, object], evidence: Path) -> None:
    """Submits the application; leaves its evidence, its output and hearth's own record of it."""
    submit(job, evidence, {}, os.environ)


def submit(
    job: dict[str, object],
    evidence: Path,
    settings: dict[str, str],
    environment: Mapping[str, str],
    application: str = "local_numa_app",
) -> None:
    """The same with further settings of Spark, or with another application of this folder."""
    if not job["jar"]:
        raise FileNotFoundError("no hearth jar was built: run `make setup`")
    state = Path(f"/tmp/hearth-{evidence.name}")
    options = {name: archive_use(ARCHIVES / f"{name}.jsa") for name in ("driver", "executor")}
    master = str(job["master"])
    call = command(str(job["jar"]), master, options, environment, settings, application)
    call += [str(evidence), str(job["executors"])]
    with (evidence / "output.txt").open("wb") as output:
        done = subprocess.run(
            call,
            stderr=output,
            check=False,  # its progress is on the console
            timeout=LIMIT_SECONDS,
            env={**environment, "HEARTH_STATE": str(state)},
        )
    (evidence / "status").write_text(str(done.returncode), encoding="ascii")
    if state.is_dir():
        shutil.copytree(state, evidence / "state", ignore=shutil.ignore_patterns("*.jsa", "*.sock"))


def archive_use(archive: Path) -> str:
    """The JVM options that start from an archive of loaded classes, where there is one."""
    return f"{JAVA_OPTIONS} -XX:SharedArchiveFile={archive}" if archive.is_file() else JAVA_OPTIONS


def command(
    jar: str,
    master: str,
    java_options: dict[str, str],
    environment: Mapping[str, str],
    further: Mapping[str, str] | None = None,
    application: str = "local_numa_app",
) -> list[str]:
    """The command line of an application of this folder, without its two arguments.

    What bin/spark-submit would start, without the JVM that it starts to find that out.
    """
    # In a fixed order: an archive holds for one class path only, and `jars/*` expands in the order
    # of the file system.
    jars = sorted(Path(environment["SPARK_HOME"], "jars").glob("*.jar"))
    class_path = ":".join([jar, *map(str, jars)])
    settings = {
        **CONFIGURATION,
        "spark.executor.extraJavaOptions": java_options["executor"],
        "spark.executor.extraClassPath": class_path,
        **(further or {}),
    }
    words = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    java = f"{environment['JAVA_HOME']}/bin/java"
    return [
        *(java, *java_options["driver"].split(), "-Xmx512m", "-cp", class_path),
        *("org.apache.spark.deploy.SparkSubmit", "--master", master, "--jars", jar),
        *words,
        str(Path(__file__).with_name(f"{application}.py")),
    ]
