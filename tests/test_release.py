"""What a release publishes, installed where there is no checkout, no make and no Maven."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hearth.machine.paths import spark_home
from support import ROOT

pytestmark = pytest.mark.spark

SQL = ROOT / "tests" / "local_numa" / "apps" / "sql.py"
SMALL = ["--conf", "spark.hearth.neighbours=ignore", "--conf", "spark.ui.enabled=false"]
SMALL += ["--conf", "spark.hearth.classDataArchive=false"]


def call(*words: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    command = [str(word) for word in words]
    settings = {"timeout": 300, "text": True, "capture_output": True}
    return subprocess.run(command, check=False, **{**settings, **options})  # type: ignore[call-overload, no-any-return]


def surroundings(folder: Path, python: Path) -> dict[str, str]:
    """The environment of a user who has Spark and Java, and installed hearth."""
    inherited = {name: os.environ[name] for name in ("HOME", "JAVA_HOME") if name in os.environ}
    return {
        **inherited,
        "PATH": "/usr/bin:/bin",
        "HEARTH_STATE": str(folder / "state"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "SPARK_HOME": str(spark_home()),
        "PYSPARK_PYTHON": str(python),
    }


def test_the_wheel_alone_runs_a_job_on_bound_executors(tmp_path: Path) -> None:
    built = call(ROOT / "tools" / "dist.sh", "wheel", tmp_path / "dist")
    assert built.returncode == 0, built.stderr
    (wheel,) = (tmp_path / "dist").glob("hearth_spark-*.whl")
    bare = tmp_path / "bare"
    assert call(sys.executable, "-m", "venv", "--without-pip", bare).returncode == 0
    pip = [sys.executable, "-m", "pip", "--python", bare / "bin" / "python", "install", "--quiet"]
    installed = call(*pip, "--no-index", "--no-deps", wheel)
    assert installed.returncode == 0, installed.stderr
    assert list(bare.glob("lib/python*/site-packages/hearth/py.typed")), "it tells its types"
    manual = (bare / "share" / "man" / "man1" / "hearth.1").read_text()
    assert ".SS hearth submit" in manual and "\\-\\-when\\-full" in manual
    words = ["submit", "--executors", "2", "--cores", "1", "--memory", "600m", *SMALL, str(SQL)]
    python = bare / "bin" / "python"
    environment = surroundings(tmp_path, python)
    done = call(bare / "bin" / "hearth", *words, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr[-4000:]
    assert len(json.loads(done.stdout.partition("RESULT ")[2])["days"]) == 7
    (placement,) = (tmp_path / "state" / "applications").glob("*/placement.json")
    executors = json.loads(placement.read_text())["executors"]
    assert [executor["verdict"] for executor in executors] == ["as planned"] * 2
    refused = call(
        bare / "bin" / "hearth", "lab", "run", "word-count", "--size", "1m", env=environment
    )
    assert refused.returncode == 2
    assert "is not installed: pip install " in refused.stderr


def test_packages_alone_brings_local_numa_to_a_spark(tmp_path: Path) -> None:
    built = call(ROOT / "tools" / "dist.sh", "maven", tmp_path / "dist")
    assert built.returncode == 0, built.stderr
    (pom,) = tmp_path.glob("dist/maven/io/hearth/hearth-spark_*/*/*.pom")
    version, name = pom.parent.name, pom.parent.parent.name
    words = ["--master", "local-numa[2x1]", *SMALL, "--conf", f"spark.jars.ivy={tmp_path}/ivy"]
    words += ["--repositories", f"file://{tmp_path}/dist/maven"]
    words += ["--packages", f"io.hearth:{name}:{version}"]
    submit = spark_home() / "bin" / "spark-submit"
    environment = surroundings(tmp_path, Path(sys.executable))
    done = call(submit, *words, SQL, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr[-4000:]
    assert len(json.loads(done.stdout.partition("RESULT ")[2])["days"]) == 7
    assert "as planned" in done.stderr
