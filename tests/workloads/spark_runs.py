"""Runs several jobs in one Spark application and gives what each left, ready for its check."""

import dataclasses
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hearth.machine import paths
from hearth.workloads.catalogue import MAIN
from hearth.workloads.checks import FinishedRun
from support import confs, driver_settings

Runs = dict[str, FinishedRun]
#: Of a run: the job's name, the directory of each input, and its settings, "_" for "-".
Plan = tuple[str, dict[str, Path], dict[str, str]]


def submitting(settings: dict[str, str], *options: str, master: str = "local[2]") -> list[str]:
    """The command of spark-submit up to the main class's words; options: those of the driver."""
    home = paths.spark_home()
    quiet = {"spark.ui.enabled": "false", **driver_settings(home, None, *options), **settings}
    program = [str(home / "bin" / "spark-submit"), "--master", master, *confs(quiet)]
    return [*program, "--class", MAIN, str(paths.workloads_jar())]


def submit(folder: Path, *words: str, timeout: int = 1800) -> subprocess.CompletedProcess[str]:
    """Plain Spark, two threads, with the words given to the workloads' main class."""
    return subprocess.run(
        [*submitting({"spark.sql.shuffle.partitions": "4"}), *words],
        cwd=folder,
        env={**os.environ, "SPARK_HOME": str(paths.spark_home())},
        timeout=timeout,
        text=True,
        capture_output=True,
        check=False,
    )


def plain_java(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What the main class says before it comes to a Spark session."""
    path = f"{paths.workloads_jar()}:{paths.spark_home() / 'jars'}/*"
    command = [str(paths.java()), "-XX:TieredStopAtLevel=1", "-cp", path, MAIN, *words]
    return subprocess.run(
        command, cwd=folder, timeout=240, text=True, capture_output=True, check=False
    )


def run_all(folder: Path, plans: dict[str, Plan]) -> subprocess.CompletedProcess[str]:
    """Run each plan, in FOLDER/NAME."""
    lines = []
    for name, (job, data, settings) in plans.items():
        (folder / name).mkdir()
        line = {
            "job": job,
            "data": {key: str(path) for key, path in data.items()},
            "answer": str(folder / name / "answer"),
            "result": str(folder / name / "result.json"),
            "parameters": {key.replace("_", "-"): value for key, value in settings.items()},
        }
        lines.append(json.dumps(line) + "\n")
    file = folder / "runs.jsonl"
    file.write_text("".join(lines), encoding="utf-8")
    return submit(folder, "run-all", str(file))


def finished(folder: Path, plans: dict[str, Plan]) -> Runs:
    """Run all plans; each one's outcome by its name."""
    done = run_all(folder, plans)
    assert done.returncode == 0, done.stderr[-4000:]
    runs = {}
    for name, (job, data, _) in plans.items():
        result = json.loads((folder / name / "result.json").read_text(encoding="utf-8"))
        answer = folder / name / "answer"
        runs[name] = FinishedRun(job, result["parameters"], data, answer, result)
    return runs


def with_answer(run: FinishedRun, **values: Any) -> FinishedRun:
    """The run, had its answer held other values."""
    answer = {**run.result["answer"], **values}
    return dataclasses.replace(run, result={**run.result, "answer": answer})


def damaged(run: FinishedRun, folder: Path, damage: Callable[[Path], None]) -> FinishedRun:
    """The run with a copy of its answer's files, damaged."""
    copy = folder / "answer"
    shutil.copytree(run.answer, copy)
    damage(copy)
    return dataclasses.replace(run, answer=copy)
