"""What the user set, and where: hearth takes it in the order in which Spark 4.3 itself does."""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hearth.base.errors import UserError
from hearth.cli.options import read_line
from hearth.machine.paths import java, spark_home
from hearth.spark.command import composed
from hearth.spark.conf import (
    load_spark_env,
    user_deploy_mode,
    user_master,
    user_remote,
    user_settings,
    variable_settings,
)
from planned_machines import a_plan
from support import Command

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Case:
    """Words of a command line, where those in capitals are properties files, and variables."""

    words: str
    environment: dict[str, str] = field(default_factory=dict)


CASES = [
    Case(""),
    Case("--conf spark.a=line"),
    Case("--conf spark.a=first -c spark.a=second"),
    Case("--properties-file MINE"),
    Case("--properties-file MINE --conf spark.a=line"),
    Case("--properties-file MINE --load-spark-defaults"),
    Case("--properties-file EXTRA --properties-file MINE"),
    Case("--extra-properties-file EXTRA"),
    Case("--extra-properties-file EXTRA --extra-properties-file MORE"),
    Case("--extra-properties-file MORE --extra-properties-file EXTRA"),
    Case("--properties-file MINE --extra-properties-file EXTRA --load-spark-defaults"),
    Case("--executor-memory 1g --conf spark.executor.memory=2g"),
    Case("--conf spark.executor.memory=2g --executor-memory 1g"),
    Case("--num-executors 2 --executor-cores 3 --total-executor-cores 6"),
    Case("--conf spark.executor.instances=3 --num-executors 2"),
    Case("--conf spark.cores.max=3 --total-executor-cores 2"),
    Case("--driver-memory 1g"),
    Case("--driver-cores 2 --conf spark.driver.cores=3"),
    Case("", {"SPARK_EXECUTOR_MEMORY": "3g", "SPARK_EXECUTOR_CORES": "5"}),
    Case("--conf spark.executor.memory=2g", {"SPARK_EXECUTOR_MEMORY": "3g"}),
    Case("--properties-file MINE", {"SPARK_EXECUTOR_CORES": "5", "SPARK_DRIVER_MEMORY": "4g"}),
    Case("", {"SPARK_DRIVER_MEMORY": "4g"}),
    Case("", {"MASTER": "local-numa[9]"}),
    Case("--properties-file MASTER", {"MASTER": "local-numa[9]"}),
    Case("--master local-numa[1] --properties-file MASTER", {"MASTER": "local-numa[9]"}),
    Case("", {"DEPLOY_MODE": "cluster", "MASTER": "yarn", "HADOOP_CONF_DIR": "/x"}),
    Case("--deploy-mode client", {"DEPLOY_MODE": "cluster"}),
    Case("--conf spark.submit.deployMode=client", {"DEPLOY_MODE": "cluster"}),
    Case("--remote sc://a"),
    Case("--conf spark.remote=sc://b"),
    Case("", {"SPARK_REMOTE": "sc://c"}),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("precedence")
    (place / "conf").mkdir()
    (place / "conf" / "spark-defaults.conf").write_text(
        "spark.a defaults\nspark.b defaults\nother x\nspark.executor.cores 7\n"
    )
    files = {
        "MINE": "spark.a mine\nspark.c=mine\\\n  more\nother x\nspark.driver.memory 2g\n",
        "EXTRA": "spark.a extra\nspark.b: extra  \nspark.d extra\n",
        "MORE": "spark.d more\nspark.e more\n",
        "MASTER": "spark.master local-numa[2]\n",
    }
    for name, text in files.items():
        (place / name).write_text(text)
    (place / "app.py").touch()
    return place


def words_of(case: Case, folder: Path) -> list[str]:
    files = {path.name: str(path) for path in folder.iterdir() if path.is_file()}
    return [files.get(word, word) for word in [*case.words.split(), "app.py"]]


def environment_of(case: Case, folder: Path) -> dict[str, str]:
    return {"SPARK_CONF_DIR": str(folder / "conf"), "SPARK_HOME": str(folder), **case.environment}


@pytest.fixture(scope="module")
def sparks(folder: Path) -> Iterator[list[dict[str, Any]]]:
    """What SparkSubmitArguments makes of each case."""
    cases = [
        {"words": words_of(case, folder), "environment": environment_of(case, folder)}
        for case in CASES
    ]
    done = subprocess.run(
        [str(java()), "-cp", f"{spark_home()}/jars/*", str(HERE / "Resolve.java")],
        input=json.dumps(cases),
        cwd=folder,
        text=True,
        capture_output=True,
        timeout=240,
        check=False,
    )
    answers = [line for line in done.stdout.splitlines() if line.startswith("ANSWER ")]
    assert answers, done.stderr
    yield json.loads(answers[0].removeprefix("ANSWER "))


def test_settings_master_and_mode_are_those_that_spark_itself_takes(
    folder: Path, sparks: list[dict[str, Any]]
) -> None:
    assert len(sparks) == len(CASES)
    for case, spark in zip(CASES, sparks, strict=True):
        line = read_line(words_of(case, folder))
        environment = environment_of(case, folder)
        settings = user_settings(line, folder, environment)
        made = variable_settings(settings, environment)
        mine = {
            "master": user_master(line, settings, environment),
            "remote": user_remote(line, settings, environment),
            "deployMode": user_deploy_mode(line, settings, environment),
            "conf": {**settings, **{key: value for key, (_, value) in made.items()}},
        }
        spark["deployMode"] = spark["deployMode"] or "client"
        assert mine == spark, case


@pytest.mark.parametrize(
    ("words", "heap", "option"),
    [
        (["--driver-memory", "1g", "--conf", "spark.driver.memory=2g"], "2g", "-Dat=conf"),
        (["--conf", "spark.driver.memory=2g", "--driver-memory", "1g"], "1g", "-Dat=option"),
    ],
)
def test_the_drivers_jvm_starts_with_what_is_last_on_the_line(
    folder: Path, words: list[str], heap: str, option: str
) -> None:
    own = ["--conf", "spark.driver.extraJavaOptions=-Dat=conf"]
    given = ["--driver-java-options", "-Dat=option"]
    words = [*words, *(given + own if option == "-Dat=conf" else own + given), "app.py"]
    settings = user_settings(read_line(words), folder, {})
    assert settings["spark.driver.memory"] == heap
    assert settings["spark.driver.extraJavaOptions"] == option
    home, spark = spark_home(), "org.apache.spark"
    classes = [f"{spark}.launcher.Main", f"{spark}.deploy.SparkSubmit"]
    command = [str(java()), "-cp", f"{home}/jars/*", *classes]
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_CONF_DIR": str(folder / "no")}
    environment["SPARK_SCALA_VERSION"] = "2.13"  # as bin/load-spark-env.sh has it
    for name in ("SPARK_DRIVER_MEMORY", "SPARK_MEM", "SPARK_SUBMIT_OPTS"):
        environment.pop(name, None)
    done = subprocess.run(
        [*command, *words], env=environment, text=True, capture_output=True, timeout=120, check=True
    )
    started = done.stdout.split("\0")
    assert f"-Xmx{heap}" in started
    assert option in started


def test_variables_of_an_older_spark_stand_last() -> None:
    """SPARK_MEM, as SparkContext.executorMemoryInMb and SparkSubmitCommandBuilder read it."""
    both = {"SPARK_MEM": "1g", "SPARK_EXECUTOR_MEMORY": "2g"}
    assert variable_settings({}, both) == {
        "spark.executor.memory": ("SPARK_EXECUTOR_MEMORY", "2g"),
        "spark.driver.memory": ("SPARK_MEM", "1g"),
    }


#: Every key that hearth derives for executors, and what a user could set there.
DERIVED = {
    "spark.driver.memory": "600m",
    "spark.executor.cores": "1",
    "spark.executor.instances": "1",
    "spark.executor.memory": "600m",
    "spark.executor.memoryOverhead": "400m",
    "spark.locality.wait.node": "7s",
    "spark.locality.wait.process": "7s",
    "spark.locality.wait.rack": "7s",
    "spark.scheduler.revive.interval": "7s",
    "spark.shuffle.sort.bypassMergeThreshold": "3",
    "spark.sql.codegen.cache.maxEntries": "300",
    "spark.sql.shuffle.partitions": "6",
}


@pytest.mark.parametrize("level", ["--conf", "--properties-file", "spark-defaults.conf"])
def test_no_derived_setting_covers_one_of_the_users(
    hearth: Command, tmp_path: Path, level: str
) -> None:
    text = "".join(f"{key} {value}\n" for key, value in DERIVED.items())
    conf = tmp_path / "conf"
    conf.mkdir()
    words = {
        "--conf": [w for k, v in DERIVED.items() for w in ("--conf", f"{k}={v}")],
        "--properties-file": ["--properties-file", str(tmp_path / "mine")],
        "spark-defaults.conf": [],
    }[level]
    (tmp_path / "mine").write_text(text)
    (conf / "spark-defaults.conf").write_text(text if not words else "")
    neighbours = ["--conf", "spark.hearth.neighbours=ignore"]
    sizes = ["--executors", "1", "--cores", "1", "--input", "1g"]
    command = ["submit", "--dry-run", *sizes, *neighbours]
    environment = {"SPARK_CONF_DIR": str(conf)}
    derived = hearth(*command, "x.py").stdout
    done = hearth(*command, *words, "x.py", environment=environment)
    assert done.returncode == 0, done.stderr
    for key, value in DERIVED.items():
        assert f"--conf {key}=" in derived, key
        lines = [line for line in done.stdout.splitlines() if f" {key}=" in line]
        assert lines == ([f"  --conf {key}={value} \\"] if level == "--conf" else []), key


def test_the_users_flags_of_the_one_jvm_stand_behind_the_plans() -> None:
    key = "spark.driver.extraJavaOptions"
    conf = {key: "-XX:+UseParallelGC"}
    plan = a_plan({"mode": "native", "master": "local[2]", "conf": conf})
    line = read_line(["--conf", f"{key}=-Dmine=1", "app.py"])
    settings = user_settings(line, Path("/nowhere"), {})
    command = composed(Path("spark-submit"), line, settings, plan, {}, "").command
    assert [word for word in command if key in word] == [f"{key}=-XX:+UseParallelGC -Dmine=1"]


def test_a_directory_for_shuffle_files_named_by_a_variable_is_never_replaced(
    hearth: Command, tmp_path: Path
) -> None:
    """SPARK_LOCAL_DIRS stands before spark.local.dir (Utils.getConfiguredLocalDirs)."""
    command = [
        "submit",
        "--dry-run",
        "--memory",
        "512m",
        "--executors",
        "1",
        "--input",
        "1m",
        "x.py",
    ]
    assert "spark.local.dir=/dev/shm" in hearth(*command).stdout
    own = hearth(*command, environment={"SPARK_LOCAL_DIRS": str(tmp_path)})
    assert own.returncode == 0, own.stderr
    assert "spark.local.dir" not in own.stdout


def test_what_spark_env_sets_counts_as_for_spark_submit(hearth: Command, tmp_path: Path) -> None:
    (tmp_path / "spark-env.sh").write_text(
        "echo 'words of the script'\nMASTER=yarn\nexport OTHER=\"$SPARK_CONF_DIR\"\nunset GONE\n"
    )
    environment = {"SPARK_CONF_DIR": str(tmp_path), "GONE": "x", "MASTER": "local-numa"}
    load_spark_env(Path("/nowhere"), environment)
    assert environment == {
        "SPARK_CONF_DIR": str(tmp_path),
        "SPARK_HOME": "/nowhere",
        "MASTER": "yarn",
        "OTHER": str(tmp_path),
    } or environment == {"SPARK_CONF_DIR": str(tmp_path), "MASTER": "yarn", "OTHER": str(tmp_path)}
    done = hearth("submit", "--dry-run", "x.py", environment={"SPARK_CONF_DIR": str(tmp_path)})
    assert "the master is yarn: hearth only passes through" in done.stderr
    assert "words of the script" not in done.stdout


@pytest.mark.parametrize(
    "way",
    ["exec 3>>LOG", "exec 3>>LOG 1>&3 2>&3", "set -Ceu; set -- a b", "PATH=/none", "umask 777",
     "env() { :; }", "for n in $(seq 3 60); do eval \"exec $n>>LOG\"; done"],
)  # fmt: skip
def test_a_spark_env_may_use_its_shell_as_it_likes(tmp_path: Path, way: str) -> None:
    log = tmp_path / "log"
    (tmp_path / "spark-env.sh").write_text(f"{way.replace('LOG', str(log))}\nMASTER=yarn\n")
    environment = {"SPARK_CONF_DIR": str(tmp_path), "PASSWORD": "hush", "PATH": os.environ["PATH"]}
    load_spark_env(Path("/nowhere"), environment)
    assert (environment["MASTER"], environment["PASSWORD"]) == ("yarn", "hush")
    assert not log.exists() or "hush" not in log.read_text()


def test_a_spark_env_that_ends_the_shell_is_refused_and_nothing_is_lost(tmp_path: Path) -> None:
    """As with spark-submit, which then ends without a word."""
    (tmp_path / "spark-env.sh").write_text("MASTER=yarn\nexit 0\n")
    environment = {"SPARK_CONF_DIR": str(tmp_path), "PASSWORD": "hush"}
    with pytest.raises(UserError, match=r"spark-env.sh: ends the shell that reads it \(exit\)"):
        load_spark_env(Path("/nowhere"), environment)
    assert environment["PASSWORD"] == "hush"


def test_a_spark_env_that_fails_or_was_read_is_treated_as_spark_does(tmp_path: Path) -> None:
    script = tmp_path / "spark-env.sh"
    script.write_text("exit 3\n")
    environment = {"SPARK_CONF_DIR": str(tmp_path), "SPARK_ENV_LOADED": "1"}
    load_spark_env(Path("/nowhere"), environment)
    del environment["SPARK_ENV_LOADED"]
    with pytest.raises(UserError, match=r"spark-env.sh: failed with exit code 3"):
        load_spark_env(Path("/nowhere"), environment)
