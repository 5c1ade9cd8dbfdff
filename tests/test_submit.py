"""hearth submit: telling the words apart, and the exact command that runs."""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import zipfile
from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hearth.base.errors import UserError
from hearth.base.ids import show_ids
from hearth.base.redaction import Redaction
from hearth.cli.commands import submit
from hearth.cli.main import main
from hearth.cli.options import read_line
from hearth.machine.paths import check_spark, hearth_jar, spark_home
from hearth.machine.plan import Plan
from hearth.spark import cds
from hearth.spark.command import (
    class_path,
    composed,
    fixed_by_master,
    pass_through_reason,
    users_class_path,
)
from hearth.spark.conf import read_settings, user_settings
from hearth.spark.run_files import KEPT_S, write_plan
from hearth.spark.submission import (
    Occasion,
    Submission,
    check_application,
    check_local_dirs,
    make_ready,
    prepare,
)
from hearth.spark.submit_args import SubmitLine
from planned_machines import a_plan
from support import ROOT, Command, check_golden, program, require

PLAN = a_plan({
    "mode": "partitioned",
    "master": "local-numa[2x4]",
    "conf": {"spark.executor.memory": "8192m", "spark.sql.shuffle.partitions": "16"},
})  # fmt: skip
NATIVE = a_plan({"mode": "native", "master": "local[2]", "conf": {"spark.driver.memory": "3g"}})


def command(words: str, plan: Plan = PLAN, conf: Path | None = None) -> list[str]:
    """The words after spark-submit, for a plan; `/hearth.jar` is the jar."""
    line = read_line(shlex.split(words))
    settings = user_settings(line, conf or Path("/nowhere"), {})
    path = class_path(users_class_path(line, settings), Path("/hearth.jar"))
    path = path if plan is PLAN else ""
    return composed(Path("spark-submit"), line, settings, plan, {}, path).command[1:]


def test_what_follows_the_application_is_never_touched() -> None:
    tail = "app.py --executors 3 --master yarn --conf x=y --dry-run -- --memory"
    line = read_line(shlex.split(f"--executors 2 -- {tail}"))
    assert line.planning.to_words() == ["--executors", "2"]
    assert shlex.join(line.application) == tail
    assert line.options == ()


def test_hearths_options_may_stand_among_those_of_spark_submit() -> None:
    line = read_line(
        shlex.split("--name n --workload sql -v --conf a=b --memory=4g -c c=d app.jar")
    )
    assert line.planning.to_words() == ["--workload", "sql", "--memory", "4g"]
    assert [(o.name, o.value) for o in line.options] == [
        ("--name", "n"),
        ("-v", None),
        ("--conf", "a=b"),
        ("--conf", "c=d"),
    ]
    assert line.application == ("app.jar",)


def test_a_value_that_looks_like_an_option_stays_a_value() -> None:
    line = read_line(
        ["--driver-java-options", "--add-opens=a/b=ALL", "--name", "--dry-run", "a.py"]
    )
    assert line.planning.to_words() == []
    assert line.last("--name") == "--dry-run"


def test_options_that_spark_drops_for_local_masters_become_settings() -> None:
    line = read_line(shlex.split("--executor-memory 4g --num-executors 2 app.py"))
    settings = user_settings(line, Path("/nowhere"), {})
    conf = {"spark.executor.memory": "4g", "spark.executor.instances": "2"}
    plan = replace(PLAN, conf=conf)
    launch = composed(Path("spark-submit"), line, settings, plan, {}, "")
    assert launch.command[1:] == [
        *("--master", "local-numa[2x4]"),
        *("--conf", "spark.executor.memory=4g"),
        *("--conf", "spark.executor.instances=2"),
        "app.py",
    ]
    assert launch.notes[0] == (
        "--executor-memory 4g becomes spark.executor.memory=4g: "
        "Spark drops the option for local masters"
    )


def test_a_setting_of_the_users_is_not_given_twice() -> None:
    words = command("--conf spark.sql.shuffle.partitions=16 app.py")
    assert words.count("spark.sql.shuffle.partitions=16") == 1


def test_a_class_path_of_the_users_own_stays_where_nothing_is_added_to_it() -> None:
    """As in a native plan, which is plain Spark."""
    words = command("--driver-class-path /mine.jar app.py", NATIVE)
    assert words[words.index("--driver-class-path") + 1] == "/mine.jar"


def test_the_jar_is_added_to_the_users_class_path_wherever_he_set_it(tmp_path: Path) -> None:
    assert command("app.py")[-3:] == ["--driver-class-path", "/hearth.jar", "app.py"]
    assert "/mine.jar:/hearth.jar" in command("--driver-class-path /mine.jar app.py")
    key = "spark.driver.extraClassPath"
    assert "/mine.jar:/hearth.jar" in command(f"--conf {key}=/mine.jar app.py")
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(f"{key} /mine.jar\n")
    assert "/mine.jar:/hearth.jar" in command("app.py", conf=tmp_path)


@pytest.mark.parametrize("asked", ["docker", "bind none"])
def test_what_is_asked_of_executors_is_said_to_be_idle_where_the_plan_has_none(
    hearth: Command, asked: str
) -> None:
    alone = ["--conf", "spark.hearth.neighbours=ignore"]
    plan = json.loads(hearth("plan", "--json", *alone).stdout)
    done = hearth("submit", "--dry-run", *f"--{asked}".split(), *alone, "job.py")
    assert done.returncode == 0
    said = f"--{asked.split()[0]} has no effect: the plan is one JVM: fix executors" in done.stderr
    assert said == (plan["mode"] == "native")


@pytest.mark.parametrize(
    ("setting", "sized"),
    [
        ("spark.app.name=mine", True),
        ("spark.sql.shuffle.partitions=7", False),
        ("spark.hearth.sql.partitionsByQuery=false", False),
    ],
)
def test_one_jvm_has_hearths_rule_for_queries_unless_the_user_says_otherwise(
    hearth: Command, setting: str, sized: bool
) -> None:
    words = ["spark.hearth.neighbours=ignore", setting]
    alone = [word for setting in words for word in ("--conf", setting)]
    one_jvm = json.loads(hearth("plan", "--json", *alone).stdout)["mode"] == "native"
    shown = hearth("submit", "--dry-run", *alone, "job.py").stdout
    assert ("--conf spark.hearth.sql.partitionsByQuery=true" in shown) == (one_jvm and sized)
    assert "hearth-spark_" in shown, "it keeps and shows the run"
    assert ("--conf spark.plugins=io.hearth.plugin.OneJvm" in shown) == one_jvm


def test_a_command_that_is_passed_on_logs_as_it_always_does_unless_the_user_asks_hearth(
    hearth: Command,
) -> None:
    def shown(*words: str) -> str:
        return hearth("submit", "--dry-run", *words, "x.py").stdout

    mine = ["--master", "local[1]", "--driver-java-options", "-Da=b"]
    assert "log4j2" not in shown(*mine)
    assert "-Dhearth.log.level=info -Da=b'" in shown("--log", "info", *mine)
    assert "-Dhearth.log.level=error -Da=b'" in shown("--quiet", *mine)
    assert "log4j2" not in shown("--quiet", "--master", "yarn", "--deploy-mode", "cluster")


def test_the_wires_jar_is_added_where_the_user_names_its_shuffle_manager(hearth: Command) -> None:
    words = ["submit", "--dry-run", "--conf", "spark.hearth.neighbours=ignore", "job.py"]
    manager = "spark.shuffle.manager=org.apache.spark.shuffle.wire.WireShuffleManager"
    assert "hearth-wire_" not in hearth(*words).stdout
    wired = hearth(*words[:2], "--conf", manager, *words[2:]).stdout
    assert "hearth-wire_" in wired and "hearth-spark_" in wired


def test_what_executors_are_to_be_bound_to_is_passed_on_or_refused_by_name(
    hearth: Command,
) -> None:
    words = ["submit", "--dry-run", "--executors", "1", "--cores", "1"]
    scope = "spark.hearth.binding.scope"
    package = hearth(*words, "--bind", "package", "job.py")
    assert f"--conf {scope}=package" in package.stdout.replace("\\\n ", "")
    none = hearth(*words, "--bind", "none", "job.py")
    assert "--conf spark.hearth.binding=off" in none.stdout.replace("\\\n ", "")
    plain = hearth(*words, "--bind", "node", "job.py")
    assert "spark.hearth.binding" not in plain.stdout
    for bind, key, value in (
        ("node", scope, "package"),
        ("none", "spark.hearth.binding", "required"),
    ):
        done = hearth(*words, "--bind", bind, "--conf", f"{key}={value}", "job.py")
        assert done.returncode == 2
        assert f"--bind: {bind} contradicts {key}={value}: give one of them" in done.stderr


@pytest.mark.parametrize(
    "plugins", ["com.example.A,org.apache.spark.CometPlugin", "org.apache.spark.CometPlugin"]
)
def test_a_native_engine_among_the_users_plugins_has_memory_and_shuffle(
    hearth: Command, plugins: str
) -> None:
    words = ["submit", "--dry-run", "--packages", "a:b:1", "--conf", f"spark.plugins={plugins}"]
    words += ["--conf", "spark.sql.extensions=com.example.B, com.example.A"]
    shown = hearth(*words, "job.py").stdout.replace("\\\n", " ").split()
    assert shown[shown.index("--packages") + 1] == "a:b:1"
    last = {key: value for key, _, value in (word.partition("=") for word in shown)}
    assert last["spark.plugins"].removesuffix(",io.hearth.plugin.OneJvm") == plugins
    assert last["spark.memory.offHeap.enabled"] == "true"
    assert last["spark.shuffle.manager"].endswith(".CometShuffleManager")
    rule = "io.hearth.sql.QuerySizedShuffles"
    assert last["spark.sql.extensions"] == f"{rule},com.example.B,com.example.A"


def test_a_native_plan_is_plain_spark() -> None:
    assert command("--name n app.py", NATIVE) == [
        *("--master", "local[2]"),
        *("--name", "n"),
        *("--conf", "spark.driver.memory=3g"),
        "app.py",
    ]


def test_settings_come_in_sparks_order_of_precedence(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text("spark.a 1\nspark.b 1\nother 1\n")
    file = tmp_path / "mine.conf"
    file.write_text("spark.b 2\nspark.c 2\nspark.driver.memory 2g\nspark.master local-numa[2]\n")

    def settings(words: str) -> dict[str, str]:
        return user_settings(read_line(shlex.split(words)), tmp_path, {})

    assert settings("app.py") == {"spark.a": "1", "spark.b": "1"}
    own = settings(f"--properties-file {file} --conf spark.c=3 --driver-memory 4g app.py")
    assert own == {
        "spark.b": "2",
        "spark.c": "3",
        "spark.driver.memory": "4g",
        "spark.master": "local-numa[2]",
    }
    both = settings(f"--properties-file {file} --load-spark-defaults app.py")
    assert (both["spark.a"], both["spark.b"]) == ("1", "2")


@pytest.mark.parametrize(
    ("master", "fixed"),
    [(None, (None, None)), ("local-numa", (None, None)), ("local-numa[4]", (4, None)),
     ("local-numa[4x12]", (4, 12))],
)  # fmt: skip
def test_each_form_of_the_master_fixes_what_it_says(
    master: str | None, fixed: tuple[int | None, int | None]
) -> None:
    assert fixed_by_master(master) == fixed


def test_one_plan_takes_one_file_and_old_ones_are_swept(tmp_path: Path) -> None:
    first = write_plan({"a": 1}, tmp_path)
    assert write_plan({"a": 1}, tmp_path) == first
    assert json.loads(first.read_text())["a"] == 1
    old = time.time() - KEPT_S - 60
    os.utime(first, (old, old))
    second = write_plan({"a": 2}, tmp_path)
    assert list(second.parent.iterdir()) == [second]


def place_free(text: str) -> str:
    """A command without what differs between machines."""
    text = re.sub(r"\S*/pyspark/bin/spark-submit", "SPARK_HOME/bin/spark-submit", text)
    text = re.sub(r"[^\s=]*/state/plans/[0-9a-f]{16}", "STATE/plans/HASH", text)
    text = re.sub(r"(\S*[:\s])?\S*/hearth-spark_\S*?\.jar", r"\1HEARTH_JAR", text)
    text = re.sub(r"file:\S*/(?=log4j2\.properties)", "HEARTH/", text)
    text = text.replace(sys.executable, "PYTHON")
    text = re.sub(r"(spark\.(?:driver|executor)\.memory(?:Overhead)?)=\d+m", r"\1=SIZE", text)
    return text.replace(str(ROOT), "ROOT")


def test_a_dry_run_prints_the_exact_command(hearth: Command) -> None:
    words = ["--executors", "1", "--cores", "1", "--memory", "512m", "--name", "my job"]
    words += ["--conf", "spark.hearth.classDataArchive=false"]
    words += ["--conf", "spark.hearth.neighbours=ignore"]
    done = hearth("submit", "--dry-run", *words, "job.py", "a b", "$HOME")
    assert done.returncode == 0, done.stderr
    check_golden("submit_dry_run.txt", place_free(done.stdout))
    assert len(done.stderr.splitlines()) == 5


@pytest.mark.spark
def test_the_command_that_a_dry_run_prints_is_the_one_that_runs(
    hearth: Command, tmp_path: Path
) -> None:
    """A stand-in for spark-submit tells its words, the workers' Python and the CPUs it may use."""
    home = tmp_path / "spark"
    tell = 'printf "%s\\n" "$@" "$PYSPARK_PYTHON" && exec grep Cpus_allowed_list /proc/self/status'
    program(home / "bin" / "spark-submit", tell)
    (home / "jars").symlink_to(spark_home() / "jars")
    words = ["--executors", "1", "--cores", "1", "--memory", "512m", "--name", "my job"]
    words += ["--conf", "spark.hearth.neighbours=ignore"]
    words += ["--conf", "spark.hearth.classDataArchive=false", "job.py", "a b", "$HOME"]
    (tmp_path / "job.py").touch()
    environment = {"SPARK_HOME": str(home)}
    printed = hearth("submit", "--dry-run", *words, environment=environment)
    ran = hearth("submit", *words, environment=environment)
    by_hand = subprocess.run(
        ["sh", "-c", printed.stdout], capture_output=True, text=True, check=True
    )
    assert by_hand.stdout == ran.stdout
    assert "job.py\na b\n$HOME\n" in ran.stdout


def test_reserved_cpus_are_left_by_what_a_dry_run_prints(hearth: Command, tmp_path: Path) -> None:
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        require("cpus", "this process may use only one")
    rest = show_ids(allowed[1:])
    words = ["submit", "--dry-run", "--reserve-cpus", str(allowed[0])]
    planned = hearth(*words, "--conf", "spark.hearth.neighbours=ignore", "job.py")
    assert f"taskset --cpu-list {rest} " in planned.stdout, planned.stderr
    passed = hearth(*words, "--master", "local[1]", "job.py")
    assert passed.stdout.startswith(f"taskset --cpu-list {rest} ")
    assert "--reserve-cpus" not in passed.stdout


def test_a_reservation_of_all_cpus_is_refused(refused: Callable[..., str]) -> None:
    said = refused("submit", "--reserve-cpus", "0-9999", "--master", "local[1]", "x.py")
    assert "leaves none of CPUs" in said


def test_another_master_is_passed_through_untouched(hearth: Command) -> None:
    words = ["--master", "yarn", "--num-executors", "4", "--deploy-mode", "cluster", "job.py", "-x"]
    done = hearth("submit", "--dry-run", "--executors", "3", *words)
    assert shlex.split(done.stdout.replace("\\\n", ""))[1:] == words
    assert done.stderr == (
        "hearth: the master is yarn: hearth only passes through the command, "
        "so --executors 3 has no effect\n"
    )


@pytest.mark.command
def test_what_this_machine_cannot_give_is_refused_by_name(refused: Callable[..., str]) -> None:
    assert "--executors: 60000" in refused("submit", "--executors", "60000", "x.py")
    huge = ("--conf", "spark.executor.memory=900t")
    assert "spark.executor.memory: " in refused("submit", *huge, "x.py")


def test_an_application_that_is_no_file_is_named(
    refused: Callable[..., str], tmp_path: Path
) -> None:
    assert f"'{tmp_path}/none'" in refused("submit", f"file:{tmp_path}/none/of.py")


def test_the_plan_is_named_by_the_command_that_shows_it() -> None:
    words = "--input 2g --executors 2 --conf a.password=x --conf b=c job.py"
    assert submit.plan_command(read_line(words.split())) == (
        "hearth plan --input 2g --executors 2 --python "
        "--conf 'a.password=*********(redacted)' --conf b=c"
    )


@pytest.mark.parametrize("master", ["local[2]", "yarn", "spark://numa:7077", "k8s://local", "mine"])
def test_the_masters_of_others_are_passed_on(master: str) -> None:
    assert pass_through_reason(read_line(["x.py"]), master, None) == f"the master is {master}"


@pytest.mark.parametrize(
    "remote", ["hdfs://a/x.py", "s3a://b/x.jar", "local:/x.jar", "spark-shell"]
)
def test_an_application_that_is_no_file_here_is_left_to_spark(remote: str) -> None:
    check_application(remote)


def test_an_option_of_hearths_behind_the_application_gets_a_note(hearth: Command) -> None:
    words = ["--master", "yarn", "job.py", "--dry-run", "--input", "a", "--cores=3"]
    said = hearth("submit", "--dry-run", *words).stderr.splitlines()[1:]
    assert said == [
        f"hearth: {name} after job.py is the application's; hearth's options go before job.py"
        for name in ("--dry-run", "--cores")
    ]


@pytest.mark.parametrize(
    "core", ["spark-core_2.13-4.0.5.jar", "spark-core_2.13-4.3.1-SNAPSHOT.jar"]
)
def test_the_sparks_that_the_jar_is_for_are_accepted(tmp_path: Path, core: str) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / core).touch()
    check_spark(tmp_path)


def test_a_spark_of_another_version_is_refused(hearth: Command, tmp_path: Path) -> None:
    for folder in ("bin", "jars"):
        (tmp_path / "spark" / folder).mkdir(parents=True)
    (tmp_path / "spark" / "bin" / "spark-submit").touch()
    (tmp_path / "spark" / "jars" / "spark-core_2.12-3.5.1.jar").touch()
    done = hearth("submit", "x.py", environment={"SPARK_HOME": str(tmp_path / "spark")})
    assert done.returncode == 2
    assert "SPARK_HOME: spark-core_2.12-3.5.1.jar in" in done.stderr
    assert "hearth is for Spark 4.0 to 4.3 (Scala 2.13); point SPARK_HOME at one" in done.stderr


@pytest.mark.parametrize("variable", [False, True])
def test_a_local_directory_that_cannot_be_used_is_refused_in_one_line(
    hearth: Command, tmp_path: Path, variable: bool
) -> None:
    file = tmp_path / "file"
    file.touch()
    both = f"{tmp_path},{file}/local"
    source = "SPARK_LOCAL_DIRS" if variable else "spark.local.dir"
    words = ["x.py"] if variable else ["--conf", f"spark.local.dir={both}", "x.py"]
    done = hearth("submit", *words, environment={source: both} if variable else {})
    assert done.returncode == 2
    assert done.stderr == (
        f"hearth: {source}: cannot use '{file}/local': '{file}' is not a directory; "
        "choose writable directories\n"
    )


def test_a_local_directory_that_spark_can_make_or_does_not_look_at_is_accepted(
    tmp_path: Path,
) -> None:
    file = tmp_path / "file"
    file.touch()
    check_local_dirs({"spark.local.dir": f"{tmp_path}/new/deep,{tmp_path}"}, {})
    assert list(tmp_path.iterdir()) == [file]
    check_local_dirs({"spark.local.dir": str(file)}, {"SPARK_LOCAL_DIRS": str(tmp_path)})
    check_local_dirs({}, {})


def test_a_local_directory_that_cannot_be_written_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may write anywhere: what the kernel answers to others is given here."""
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK | os.X_OK)
    with pytest.raises(UserError, match=f"'{tmp_path}' cannot be written"):
        check_local_dirs({"spark.local.dir": f"{tmp_path}/new"}, {})


def test_the_users_python_runs_the_application_and_a_line_says_which(
    hearth: Command, tmp_path: Path
) -> None:
    """hearth may be installed in an environment of its own, as by `uv tool install`."""
    words = ["submit", "--dry-run", "--executors", "1", "--cores", "1"]
    own = hearth(*words, "x.py", environment={"VIRTUAL_ENV": sys.prefix})
    assert f"env PYSPARK_PYTHON={sys.executable} " in own.stdout
    assert "the application runs in" not in own.stderr
    for name in ("active", "first"):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "bin" / "python3").symlink_to(sys.executable)
    path = f"{tmp_path}/first/bin:{os.environ['PATH']}"
    cases = {"VIRTUAL_ENV": "active", "CONDA_PREFIX": "active", "NOT_SO": "first"}
    for variable, taken in cases.items():
        given = {"VIRTUAL_ENV": "", variable: f"{tmp_path}/active", "PATH": path}
        done = hearth(*words, "x.py", environment=given)
        python = f"{tmp_path}/{taken}/bin/python3"
        assert f"env PYSPARK_PYTHON={python} " in done.stdout, variable
        assert f"the application runs in {python} (" in done.stderr, variable
    assert "the application runs in" not in hearth(*words, "x.jar", environment=given).stderr
    for choice in ({"PYSPARK_PYTHON": "/usr/bin/python3"}, {"PYSPARK_DRIVER_PYTHON": "x"}):
        assert "PYSPARK_PYTHON" not in hearth(*words, "x.py", environment=given | choice).stdout


@pytest.mark.spark
def test_the_exit_code_is_the_applications(hearth: Command, tmp_path: Path) -> None:
    (tmp_path / "seven.py").write_text("import sys; print('ran', *sys.argv[1:]); sys.exit(7)\n")
    done = hearth("submit", "--executors", "1", "--cores", "1", "seven.py", "--cores", "x y")
    assert done.returncode == 7
    assert "ran --cores x y" in done.stdout
    assert "plan: 1 bound executor (local-numa[1x1])" in done.stderr
    last = next(line for line in reversed(done.stderr.splitlines()) if line.startswith("hearth: "))
    assert re.fullmatch(
        r"hearth: failed after .* s, .* CPU s \(.* user, .* system\), exit code 7", last
    ), "a program's own end asks for no profile"
    shown = hearth("report", "last").stdout
    assert "seven: failed after" in shown and "it made no SparkContext" in shown
    assert shown.endswith(" hearth profile seven.py --cores 'x y'\n")


@pytest.mark.spark
def test_a_quiet_submit_prints_what_the_program_prints_and_errors(
    hearth: Command, tmp_path: Path
) -> None:
    levels = 'log.info("a note"), log.warn("a warning"), log.error("an error")'
    java = "spark._jvm.org.apache.logging.log4j.LogManager"
    (tmp_path / "logs.py").write_text(
        "from pyspark.sql import SparkSession\nspark = SparkSession.builder.getOrCreate()\n"
        f"log = {java}.getLogger('mine')\n{levels}\nspark.stop(), print('ran')\n"
    )
    done = hearth("submit", "--quiet", "--conf", "spark.ui.enabled=false", "logs.py")
    assert (done.returncode, done.stdout) == (0, "ran\n")
    java = "WARNING: Using incubator modules"  # Java's own: no option keeps it back
    lines = [line for line in done.stderr.splitlines() if not line.startswith(java)]
    assert [line.partition(" ERROR ")[2] for line in lines] == ["mine: an error"]


def test_a_driver_with_a_place_of_its_own_is_bound_to_it() -> None:
    plan = replace(PLAN, driver=replace(PLAN.driver, bound=True, cpus="6-7"))
    launch = composed(Path("spark-submit"), read_line(["a.py"]), {}, plan, {}, "/h.jar")
    assert launch.command[:4] == ["taskset", "--cpu-list", "6-7", "spark-submit"]
    assert "taskset --cpu-list 6-7 spark-submit" in launch.shell_text(Redaction.of({}))


def test_the_flags_of_the_drivers_archive_stand_before_the_users_own() -> None:
    line = read_line(["--driver-java-options", "-Dmine=1", "a.py"])
    settings = user_settings(line, Path("/nowhere"), {})
    flags = ["-XX:SharedArchiveFile=/a.jsa"]
    made = composed(Path("spark-submit"), line, settings, PLAN, {}, "/h.jar", flags)
    assert made.command.count("--driver-java-options") == 0
    wanted = "spark.driver.extraJavaOptions=-XX:SharedArchiveFile=/a.jsa -Dmine=1"
    assert wanted in made.command


def parsed(words: list[str]) -> SubmitLine:
    parser = ArgumentParser()
    submit.add_arguments(parser)
    parser.add_argument("--debug", action="store_true")
    return submit.parse(parser, words).line


def prepared(words: list[str], occasion: Occasion) -> Submission:
    """What `hearth submit` makes of these words before it runs anything."""
    line = parsed(words)
    return prepare(line, read_settings(line), lambda _: None, occasion)


@pytest.mark.command
def test_an_application_is_not_held_up_by_archives_that_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its executors write none at their end, it says when they come; a measured run has them."""
    monkeypatch.setenv("HEARTH_STATE", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # nobody has been told here
    monkeypatch.setattr(cds, "is_missing", lambda *_: True)
    made = []
    monkeypatch.setattr(cds, "driver_flags", lambda *_, make, **__: ["-Xarchive"] if make else made)
    (tmp_path / "a.py").touch()
    without = "spark.hearth.classDataArchive=false"
    for measured in (False, True):
        words = ["--executors", "1", "--cores", "1", str(tmp_path / "a.py")]
        ready = prepared(words, Occasion(measured=measured))
        assert (without in ready.launch.command) is not measured
        assert (ready.afterwards is None) is measured
        assert any("when this application is over" in n for n in ready.launch.notes) != measured


@pytest.mark.command
def test_what_is_made_ready_for_measured_runs_holds_no_lease_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hearth.spark.submission.offer", lambda _: pytest.fail("it takes a lease"))
    made: list[bool] = []
    monkeypatch.setattr(cds, "driver_flags", lambda *_, make, **__: made.append(make) or [])
    monkeypatch.chdir(tmp_path)
    Path("a.py").touch()
    make_ready(parsed(["a.py"]), {})
    assert made == [True]


@pytest.mark.parametrize(("words", "waits"), [([], False), (["--arm", "native"], True)])
def test_only_a_profile_that_a_study_makes_waits_for_archives(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str], waits: bool
) -> None:
    seen: list[Occasion] = []

    def prepare(*given: object) -> None:
        seen.extend(each for each in given if isinstance(each, Occasion))
        raise UserError("planned")

    monkeypatch.setattr("hearth.cli.commands.profile.prepare", prepare)
    monkeypatch.setenv("HEARTH_STATE", str(tmp_path))
    assert main(["profile", *words, "x.py"]) == 2
    assert [occasion.measured for occasion in seen] == [waits]


@pytest.mark.command
@pytest.mark.parametrize(
    ("words", "file", "archived"),
    [
        ([], "spark-defaults.conf", True),
        ([], "log4j2.properties.template", True),
        ([], "jline.properties", False),
        (["--driver-class-path", "/mine.jar"], "spark-defaults.conf", False),
        (["--conf", "spark.driver.extraClassPath=/mine.jar"], "spark-defaults.conf", False),
        (["--conf", "spark.hearth.classDataArchive=false"], "spark-defaults.conf", False),
    ],
)
def test_a_class_path_whose_order_matters_goes_without_an_archive(
    words: list[str],
    file: str,
    archived: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An archive puts Spark's jars before its configuration directory and all else."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / file).touch()
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "conf"))
    monkeypatch.setenv("HEARTH_STATE", str(tmp_path))
    archive = tmp_path / "driver.jsa"
    monkeypatch.setattr("hearth.machine.class_data.existing", lambda _: archive)
    (tmp_path / "a.py").touch()
    ready = prepared([*words, str(tmp_path / "a.py")], Occasion(measured=True))
    command = ready.launch.command
    jars = f"{spark_home()}/jars/*"
    assert any(f"-XX:SharedArchiveFile={archive} " in word for word in command) is archived
    assert any(jars in word for word in command) is archived


@pytest.mark.command
@pytest.mark.parametrize("bound", [False, True])
def test_hearths_jar_stands_behind_the_archive_of_one_jvm_and_before_that_of_a_bound_driver(
    bound: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One JVM runs tasks, whose classes are in the archive of plain Spark alone."""
    monkeypatch.setenv("HEARTH_STATE", str(tmp_path))
    archives = []
    monkeypatch.setattr(cds, "driver_flags", lambda _, jar, **__: archives.append(jar) or ["-Xa"])
    (tmp_path / "a.py").touch()
    fixed = ["--executors", "1"] if bound else ["--conf", "spark.hearth.neighbours=ignore"]
    words = [*fixed, "--conf", "spark.ui.enabled=false", str(tmp_path / "a.py")]
    ready = prepared(words, Occasion())
    if not bound and not (ready.plan and ready.plan.is_native):
        require("cores", "one JVM is planned on few cores only")
    first, last = [hearth_jar(), "*"] if bound else ["slf4j-api", hearth_jar()]
    (path,) = [word for word in ready.launch.command if f"{spark_home()}/jars/*" in word]
    assert archives == [hearth_jar() if bound else None]
    assert str(first) in path.split(":")[0] and path.endswith(str(last))


def test_no_jar_of_spark_hides_a_file_of_the_configuration_directory(tmp_path: Path) -> None:
    jars = sorted((spark_home() / "jars").glob("*.jar"))
    assert cds._shadowing(jars) == ""
    with zipfile.ZipFile(tmp_path / "site.jar", "w") as made:
        made.writestr("core-site.xml", "")
    found = cds._shadowing([tmp_path / "site.jar"])
    assert found.startswith(f"{tmp_path}/site.jar has a file 'core-site.xml'")


def test_a_configuration_directory_that_cannot_be_listed_costs_the_archive_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if os.getuid() != 0:
        require("root", "only root can become another user")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        monkeypatch.setenv("SPARK_CONF_DIR", folder)
        os.seteuid(65534)
        try:
            assert cds.driver_flags(Path("/no"), None, make=False, debug=False) == []
            assert not cds.is_missing(Path("/no"), None)
        finally:
            os.seteuid(0)
