"""What usually surrounds a command may be otherwise: Java options, a home, a current directory,
three open streams, an encoding. A command does its work all the same, or says what is wrong.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hearth.base.java import collector_of, reason_of, without_options
from hearth.machine import class_data
from support import Command, environment, program, require

HEARTH = [sys.executable, str(Path(sys.executable).with_name("hearth"))]
ONE_NODE = "1 node of 16 GB, 2 cores"
VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")


@pytest.mark.parametrize("variable", VARIABLES)
def test_options_for_every_jvm_do_not_reach_hearths_own(hearth: Command, variable: str) -> None:
    options = "-XX:+UseG1GC -Xmx16m -Xlog:gc -verbose:class -Dlicence.key=hush"
    for words in (["topology", "--json"], ["plan", "--json", "--machine", ONE_NODE]):
        done = hearth(*words, environment={variable: options})
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout)["schema"]


@pytest.mark.parametrize("variable", [*VARIABLES, "SPARK_SUBMIT_OPTS"])
def test_a_collector_for_every_jvm_is_the_users_choice(hearth: Command, variable: str) -> None:
    given = {variable: "-XX:+UseSerialGC -Dlicence.key=hush"}
    fixed = ["--conf", "spark.hearth.neighbours=ignore"]
    plan = hearth("plan", "--json", *fixed, environment=given)
    assert "hush" not in plan.stdout + plan.stderr
    document = json.loads(plan.stdout)
    reason = next(each for each in document["reasons"] if each["decision"] == "collector")
    assert (reason["value"], reason["because"]) == ("SerialGC", f"set in {variable}")
    assert "UseParallelGC" not in plan.stdout
    line = hearth("submit", "--dry-run", *fixed, "x.py", environment=given)
    assert line.returncode == 0
    assert "UseParallelGC" not in line.stdout


def test_a_collector_that_is_fixed_anywhere_is_not_varied(monkeypatch: pytest.MonkeyPatch) -> None:
    driver, executor = "spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"
    for variable in (*VARIABLES, "SPARK_SUBMIT_OPTS"):
        monkeypatch.delenv(variable, raising=False)
    assert collector_of({}, driver) is None
    assert collector_of({"spark.executor.defaultJavaOptions": "-XX:+UseZGC"}, executor) == "ZGC"
    assert collector_of({driver: "-Xss2m -XX:+UseG1GC"}, driver) == "G1GC"
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-XX:+UseSerialGC")
    assert (collector_of({}, driver), collector_of({}, executor)) == ("SerialGC", None)
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "-XX:+UseParallelGC")
    assert collector_of({}, executor) == "ParallelGC"


def test_a_jvm_that_does_not_start_is_quoted_with_its_reason_and_no_secret(
    hearth: Command, tmp_path: Path
) -> None:
    program(
        tmp_path / "bin" / "java",
        "echo 'Error occurred during initialization of VM'\n"
        "echo 'Could not reserve enough space for object heap'\n"
        "echo 'Picked up JAVA_TOOL_OPTIONS: -Dlicence.key=hush' >&2\n"
        "echo 'Error: Could not create the Java Virtual Machine.' >&2\nexit 1",
    )
    done = hearth("topology", environment={"JAVA_HOME": str(tmp_path)})
    assert done.returncode == 2
    assert done.stderr == (
        "hearth: java failed with 1 at 'topology': Could not reserve enough space for object heap; "
        "check free memory and JAVA_HOME\n"
    )


def test_the_reason_of_a_jvm_is_its_error_not_what_stands_around_it() -> None:
    picked = "Picked up _JAVA_OPTIONS: -Dkey=hush\n"
    boot = "Error occurred during initialization of boot layer\njava.lang.module.FindException: m\n"
    assert reason_of(picked + boot) == "Error occurred during initialization of boot layer"
    assert reason_of("NOTE: " + picked, "Unrecognized VM option 'x'\n") == (
        "Unrecognized VM option 'x'"
    )
    assert reason_of(picked, "") == ""
    lines = "Picked up JAVA_TOOL_OPTIONS: -Da\n\n  -Dkey=hush\n-Dtext='two\nhush' -Db\n"
    assert (reason_of(lines), reason_of(lines + "no memory\n")) == ("", "no memory")
    assert without_options("Picked up X: -Da='b\nUnmatched quote\n") == "\nUnmatched quote\n"


def test_a_current_directory_that_was_deleted_is_missed_only_where_it_is_needed(
    tmp_path: Path,
) -> None:
    words = {
        f"plan --machine '{ONE_NODE}'": 0,
        "runs": 0,
        f"topology --capture {tmp_path}/capture.tgz": 0,
        "topology --capture here.tgz": 2,
        "submit --dry-run x.py": 2,
        f"submit {tmp_path}/x.py": 2,
    }
    own = environment(tmp_path / "state")
    for command, code in words.items():
        gone = tmp_path / "gone"
        gone.mkdir()
        script = f"cd {gone} && rmdir {gone} && exec {' '.join(HEARTH)} {command}"
        done = subprocess.run(
            ["sh", "-c", script],
            env=own, text=True, capture_output=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == code, (command, done.stderr)
        if code:
            assert done.stderr.startswith("hearth: the current directory has been deleted"), command
            assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_change_nothing_else(tmp_path: Path, closed: str) -> None:
    own = environment(tmp_path / "state")
    for words, code in ((f"plan --json --machine '{ONE_NODE}'", 0), ("xyzzy", 2)):
        script = f"exec {' '.join(HEARTH)} {words} {closed}"
        done = subprocess.run(
            ["sh", "-c", script],
            env=own, text=True, capture_output=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        if code == 0 and " >&-" not in f" {closed}":
            assert json.loads(done.stdout)["schema"]
        assert "Error" not in done.stderr


@pytest.mark.parametrize(
    "encoding",
    [
        {"LC_ALL": "C"},
        {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "latin-1"},
    ],
)
def test_another_encoding_changes_no_answer(
    hearth: Command, tmp_path: Path, encoding: dict[str, str]
) -> None:
    capture = tmp_path / "Größe.tgz"
    assert hearth("topology", "--capture", "plain.tgz").returncode == 0
    (tmp_path / "plain.tgz").rename(capture)
    done = hearth("topology", "--json", "--machine", str(capture), environment=encoding)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["source"].endswith(".tgz")
    shown = hearth("topology", environment=encoding)
    assert shown.returncode == 0, shown.stderr
    assert "PYTHONIOENCODING" not in encoding or "\n`- package 0" in shown.stdout
    unknown = hearth("топология", environment=encoding)
    assert unknown.returncode == 2, unknown.stderr


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """A directory that this process may not enter, also where it is root's."""
    folder.chmod(0)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)
        folder.chmod(0o700)


def test_a_cache_that_cannot_be_read_costs_time_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As where `su` or `sudo` keeps HOME=/root."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    (tmp_path / "home").mkdir()
    training = class_data.Training("cli", "key", lambda _: ["true"], lambda _: ["true"])
    with locked(tmp_path / "home"):
        assert class_data.prepared(training, debug=False) is None
        assert capsys.readouterr().err == ""
        assert class_data.prepared(training, debug=True) is None
        assert "no class-data archive: [Errno 13]" in capsys.readouterr().err


def test_a_home_of_another_users_refuses_no_command_that_keeps_nothing(tmp_path: Path) -> None:
    python = "/usr/bin/python3"
    if os.getuid() != 0 or not shutil.which("setpriv"):
        require("root", "only root can become another user")
    recent = [python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
    if subprocess.run(recent, check=False).returncode:
        require("python3", f"{python} is older than 3.11")
    (tmp_path / "home").mkdir(mode=0o700)
    folders = [entry for entry in sys.path if entry]
    own = {
        "HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], "PYTHONPATH": ":".join(folders),
        "JAVA_HOME": os.environ.get("JAVA_HOME", ""),
    }  # fmt: skip
    user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    submit = ["submit", "--dry-run", "--executors", "1", "local:/x.py"]
    for words, lines in ((["topology"], 0), (submit, 2)):
        done = subprocess.run(
            [*user, python, "-m", "hearth", *words],
            env=own, cwd="/", text=True, capture_output=True, timeout=120, check=False,
        )  # fmt: skip
        if "No module named" in done.stderr or "ermission denied: '/root" in done.stderr:
            require("second user", "another user cannot read this checkout")
        assert done.returncode == 0, done.stderr
        said = [line for line in done.stderr.splitlines() if "ermission denied" in line]
        assert len(said) <= lines, done.stderr
