"""Runs several jobs in one Spark application and gives what each left, ready for its check."""

import dataclasses
import json
import os
import subprocess
from pathlib import Path
from typing import Any

from hearth.machine import paths
from hearth.workloads.checks import FinishedRun
from support import ROOT, confs, driver_settings

MAIN = "io.hearth.workloads.Main"


def jar() -> Path:
    (found,) = (ROOT / "src" / "hearth" / "jars").glob("hearth-workloads_*.jar")
    return found


def submit(folder: Path, *words: str, timeout: int = 300) -> subprocess.CompletedProcess[str]:
    """Plain Spark, two threads, with the words given to the workloads' main class."""
    home = paths.spark_home()
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "4"}
    command = [
        str(home / "bin" / "spark-submit"),
        "--master",
        "local[2]",
        *confs({**settings, **driver_settings(home, None)}),
        "--class",
        MAIN,
        str(jar()),
    ]
    return subprocess.run(
        [*command, *words],
        cwd=folder,
        env={**os.environ, "SPARK_HOME": str(home)},
        timeout=timeout,
        text=True,
        capture_output=True,
        check=False,
    )


def plain_java(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What the main class says before it comes to a Spark session."""
    path = f"{jar()}:{paths.spark_home() / 'jars'}/*"
    command = [str(paths.java()), "-XX:TieredStopAtLevel=1", "-cp", path, MAIN, *words]
    return subprocess.run(
        command, cwd=folder, timeout=240, text=True, capture_output=True, check=False
    )


def planned(folder: Path, name: str, job: str, data: dict[str, Path], **settings: str) -> dict:
    """One line of `run-all`; a setting's underscores stand for hyphens."""
    return {
        "job": job,
        "data": {key: str(path) for key, path in data.items()},
        "answer": str(folder / name / "answer"),
        "result": str(folder / name / "result.json"),
        "parameters": {key.replace("_", "-"): value for key, value in settings.items()},
    }


def run_all(folder: Path, runs: dict[str, dict[str, Any]]) -> dict[str, FinishedRun]:
    """Each planned run's outcome by its name."""
    for name in runs:
        (folder / name).mkdir()
    file = folder / "runs.jsonl"
    file.write_text("".join(json.dumps(run) + "\n" for run in runs.values()), encoding="utf-8")
    done = submit(folder, "run-all", str(file))
    assert done.returncode == 0, done.stderr[-4000:]
    return {name: _finished(run) for name, run in runs.items()}


def _finished(run: dict[str, Any]) -> FinishedRun:
    result = json.loads(Path(run["result"]).read_text(encoding="utf-8"))
    data = {name: Path(path) for name, path in run["data"].items()}
    return FinishedRun(run["job"], result["parameters"], data, Path(run["answer"]), result)


def with_answer(run: FinishedRun, **values: Any) -> FinishedRun:
    """The run, had its answer held other values."""
    answer = {**run.result["answer"], **values}
    return dataclasses.replace(run, result={**run.result, "answer": answer})
