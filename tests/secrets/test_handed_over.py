"""What a run is given in files goes with the run, however it ends; no other file has a secret."""

import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from hearth.machine.paths import spark_home
from hearth.spark.command import Launch
from hearth.spark.run_files import handed_over, write_plan
from hearth.spark.saved_configs import keep_tuned
from hearth.spark.submit_args import Option, SubmitLine
from support import Command, eventually, program

MARK = "c4n4ry"
#: Hands over, and becomes the application, which names its files and waits.
_RUN = f"""
import os, sys
from pathlib import Path
from hearth.spark.submit_args import Option, SubmitLine
from hearth.spark.command import Launch
from hearth.spark.run_files import handed_over
from hearth.base.processes import detached
options = [
    Option("--conf", "spark.driver.extraJavaOptions=-Xss2m -Dpassword={MARK}Driver"),
    Option("--conf", "spark.executor.extraJavaOptions=-Dpassword={MARK}Executor"),
]
launch = Launch(Path("sh"), options, [], {{}}, [])
launch = handed_over(launch, SubmitLine(), Path(sys.argv[1]))
detached(["/bin/sleep", "20"])
os.execvp("sh", ["sh", "-c", 'printf "%s\\\\n" "$@"; exec sleep 600', *launch.command])
"""


def started(state: Path, temporary: Path) -> tuple[subprocess.Popen[str], list[Path]]:
    """An application, and the files that it was given."""
    temporary.mkdir(exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-c", _RUN, str(state)], text=True, stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(temporary)},
    )  # fmt: skip
    assert process.stdout is not None
    words = [process.stdout.readline().strip() for _ in range(4)]
    arguments = words[1].partition("@")[2]
    assert words[0] == "--conf", words
    assert words[1] == f"spark.driver.extraJavaOptions=-Xss2m @{arguments}"
    assert words[2] == "--extra-properties-file"
    return process, [Path(arguments), Path(words[3])]


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("name", ["state", 'a "state": Zürich', "/proc/none"])
def test_java_options_of_private_files_go_with_the_application(
    tmp_path: Path, name: str, end: signal.Signals
) -> None:
    """Where the state directory takes no file, or its name fits no JVM option, below TMPDIR."""
    process, files = started(tmp_path / name, tmp_path / "tmp")
    parent = tmp_path / ("state/starting" if name == "state" else "tmp")
    with process:
        assert [MARK in file.read_text() for file in files] == [True, True]
        assert {file.parent.parent for file in files} == {parent}
        assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
        process.send_signal(end)
    eventually("its files are gone", lambda: not any(parent.iterdir()))


def test_a_spark_that_takes_one_properties_file_gets_the_users_and_the_private_settings_in_it(
    tmp_path: Path,
) -> None:
    """Spark 4.0 and 4.1: their launcher does not know --extra-properties-file."""
    (tmp_path / "jars").mkdir()
    with zipfile.ZipFile(tmp_path / "jars" / "spark-launcher_2.13-4.1.4.jar", "w") as jar:
        jar.writestr("org/apache/spark/launcher/SparkSubmitOptionParser.class", "--conf")
    (tmp_path / "mine.conf").write_text("spark.a 1\nspark.executor.extraJavaOptions -Xss1m\n")
    named = Option("--properties-file", str(tmp_path / "mine.conf"))
    given = [named, Option("--conf", "spark.executor.extraJavaOptions=-Xss1m -Xlog")]
    launch = Launch(tmp_path / "bin" / "spark-submit", given, [], {}, [])
    name, file = handed_over(launch, SubmitLine(options=(named,)), tmp_path / "state").command[1:]
    assert name == "--properties-file"
    lines = Path(file).read_text().splitlines()
    assert lines == ["spark.a=1", "spark.executor.extraJavaOptions=-Xss1m -Xlog"]


def test_what_a_killed_guardian_left_is_removed_by_a_later_run(tmp_path: Path) -> None:
    for name in ("hearth-run-old", "hearth-run-new"):
        (tmp_path / "state" / "starting" / name).mkdir(parents=True)
    hour_ago = time.time() - 3700
    os.utime(tmp_path / "state" / "starting" / "hearth-run-old", (hour_ago, hour_ago))
    process, files = started(tmp_path / "state", tmp_path / "tmp")
    with process:
        left = {folder.name for folder in (tmp_path / "state" / "starting").iterdir()}
        process.kill()
    assert left == {"hearth-run-new", files[0].parent.name}


def test_no_plan_that_is_kept_holds_a_secret_of_the_users_files(
    hearth: Command, tmp_path: Path
) -> None:
    options = f"-Xss2m -Ddb.password={MARK} -javaagent:/a.jar=password={MARK}"
    (tmp_path / "private.conf").write_text(
        f"spark.executor.extraJavaOptions {options}\nspark.driver.extraJavaOptions {options}\n"
        f"spark.authenticate.secret {MARK}\nspark.executorEnv.DB_PASSWORD {MARK}\n"
    )
    words = ["--properties-file", "private.conf", "--executors", "1", "--cores", "1", "x.py"]
    done = hearth("submit", "--dry-run", *words)
    assert done.returncode == 0, done.stderr
    (plan,) = (file for file in (tmp_path / "state").rglob("*") if file.is_file())
    assert MARK not in plan.read_text() + done.stdout + done.stderr
    assert '"-Xss2m"' not in plan.read_text(), "a plan holds none of the user's Java options"


def test_a_plan_beside_an_unwritable_state_directory_goes_with_the_command(
    tmp_path: Path,
) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    code = f"from {write_plan.__module__} import write_plan; from pathlib import Path; "
    code += "write_plan({'a': 1}, Path('/proc/hearth')); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        eventually("a plan", lambda: list(tmp_path.glob("hearth-run-*/*.json")))
        process.kill()
    eventually("it is gone", lambda: not any(tmp_path.iterdir()))


def stand_in(folder: Path, script: str) -> dict[str, str]:
    """The environment in which a script stands for spark-submit."""
    program(folder / "spark" / "bin" / "spark-submit", script)
    (folder / "tmp").mkdir()
    (folder / "spark" / "jars").symlink_to(spark_home() / "jars")
    (folder / "private.conf").write_text(
        f"spark.executor.extraJavaOptions -Dp={MARK}\nspark.driver.extraJavaOptions -Dp={MARK}\n"
    )
    own = {"HEARTH_STATE": "state", "SPARK_HOME": "spark", "TMPDIR": "tmp"}
    return {**os.environ, **{name: str(folder / path) for name, path in own.items()}}


@pytest.mark.command
@pytest.mark.parametrize("killed", [False, True])
def test_a_profile_leaves_no_java_options_of_private_files(tmp_path: Path, killed: bool) -> None:
    """A stand-in for spark-submit says that it runs."""
    environment = stand_in(tmp_path, f"touch runs; exec sleep {600 if killed else 1}")
    words = ["--master", "local[1]", "--properties-file", "private.conf", "x.py"]
    with subprocess.Popen(
        [sys.executable, "-m", "hearth", "profile", "--no-summary", *words], env=environment,
        cwd=tmp_path, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        eventually("it runs", (tmp_path / "runs").exists)
        starting = tmp_path / "state" / "starting"
        assert {file.name for file in starting.glob("*/*")} == {"args", "properties"}
        if killed:
            process.kill()
    if killed:
        eventually("its files are gone", lambda: not any(starting.iterdir()))
    assert list(starting.iterdir()) == []
    eventually("no temporary file", lambda: not any((tmp_path / "tmp").iterdir()))


def test_what_was_tuned_puts_no_java_option_of_a_private_file_on_the_command_line(
    hearth: Command, tmp_path: Path
) -> None:
    place = str((tmp_path / "x.py").resolve())
    (tmp_path / "x.py").touch()
    flag = {"spark.executor.extraJavaOptions": "-XX:+UseG1GC"}
    keep_tuned(tmp_path / "state", place, {
        "tune": "t-1", "date": "2026-11-23T07:00:00+00:00", "sentence": "Best.", "master": None,
        "executors": 1, "cores": 1, "unbound": False, "conf": {}, "java": flag,
    })  # fmt: skip
    tell = 'printf "%s\\n" "$@"; cat state/starting/*/properties'
    environment = stand_in(tmp_path, tell)
    untrained = ["--conf", "spark.hearth.classDataArchive=false"]
    words = ["--tuned", *untrained, "--properties-file", "private.conf", "x.py"]
    done = hearth("submit", *words, environment=environment)
    command, _, handed = done.stdout.partition("x.py\n")
    assert handed == f"spark.executor.extraJavaOptions=-Dp={MARK} -XX:+UseG1GC\n", done.stderr
    assert MARK not in command
