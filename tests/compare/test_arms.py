"""The arms, the kernel's setting that one of them changes, and the choices that are kept."""

from pathlib import Path
from typing import cast

import pytest

from hearth.base.errors import UserError
from hearth.cli.options import read_line
from hearth.spark.saved_configs import (
    TunedConfig,
    application,
    forget_compared,
    keep_compared,
    keep_tuned,
    kept_compared,
    kept_tuned,
)
from hearth.studies.engine.arms import (
    arms_named,
    kernel_setting,
    no_docker,
    profile_words,
    tuned_arm,
)


def test_native_is_the_users_own_line_on_local_without_what_only_a_plan_takes() -> None:
    line = read_line(["--executors", "2", "--master", "local-numa", "--conf", "a=b", "x.py", "7"])
    native, bound = arms_named(["native", "bound"])
    assert profile_words(native, line) == [
        "--master", "local[*]", "--conf", "a=b", "x.py", "7",
    ]  # fmt: skip
    assert profile_words(bound, line) == [
        "--executors", "2", "--master", "local-numa", "--conf", "a=b", "x.py", "7",
    ]  # fmt: skip


def test_a_docker_command_that_cannot_be_started_is_not_said_to_be_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (no_docker() or "").startswith("the docker command is not installed")
    (tmp_path / "docker").touch(mode=0o644)
    assert no_docker() == "the docker command cannot be started: Permission denied"


def test_unbound_is_the_same_plan_with_one_word_more() -> None:
    line = read_line(["--executors", "2", "x.py"])
    unbound, _ = arms_named(["unbound", "native"])
    assert profile_words(unbound, line) == ["--executors", "2", "--bind", "none", "x.py"]


def test_package_and_adaptive_are_the_same_plan_with_an_option_more() -> None:
    line = read_line(["--executors", "2", "x.py"])
    package, adaptive = arms_named(["package", "adaptive"])
    assert profile_words(package, line) == ["--executors", "2", "--bind", "package", "x.py"]
    assert profile_words(adaptive, line) == ["--executors", "2", "--width", "adaptive", "x.py"]


TUNED: TunedConfig = {
    "tune": "t", "date": "2026-11-23", "sentence": "2x1 is best.", "master": None, "executors": 2,
    "cores": 1, "unbound": True, "conf": {"spark.sql.shuffle.partitions": "8"},
    "java": {"spark.executor.extraJavaOptions": "-XX:+UseG1GC"},
}  # fmt: skip


def test_tuned_is_what_the_tune_found_with_the_users_own_jvm_options(tmp_path: Path) -> None:
    line = read_line(["--conf", "spark.executor.extraJavaOptions=-Xss4m", "x.py", "7"])
    users = {"spark.executor.extraJavaOptions": "-Xss4m"}
    tuned = tuned_arm(TUNED, "x.py", users, users.keys(), tmp_path)
    assert profile_words(tuned, line) == [
        "--bind", "none", "--master", "local-numa[2x1]",
        "--conf", "spark.executor.extraJavaOptions=-Xss4m",
        "--conf", "spark.sql.shuffle.partitions=8",
        "--conf", "spark.executor.extraJavaOptions=-Xss4m -XX:+UseG1GC", "x.py", "7",
    ]  # fmt: skip


def test_jvm_options_of_the_users_files_reach_no_command_line_in_the_arm_tuned(
    tmp_path: Path,
) -> None:
    users = {"spark.executor.extraJavaOptions": "-Dpassword=hush42"}
    tuned = tuned_arm(TUNED, "x.py", users, [], tmp_path)
    words = profile_words(tuned, read_line(["x.py"]))
    assert "hush42" not in " ".join(words)
    assert tuned.properties is not None
    assert "hush42 -XX:+UseG1GC" in tuned.properties.read_text()
    assert tuned.properties.stat().st_mode & 0o777 == 0o600


def test_tuned_as_one_jvm_is_run_under_that_master(tmp_path: Path) -> None:
    one = TUNED | {"master": "local[2]", "executors": None, "cores": None, "unbound": False}
    tuned = tuned_arm(cast(TunedConfig, one), "x.py", {}, [], tmp_path)
    assert profile_words(tuned, read_line(["--memory", "2g", "x.py"]))[:2] == [
        "--master", "local[2]",
    ]  # fmt: skip


def test_tuned_is_skipped_by_name_where_nothing_was_tuned(tmp_path: Path) -> None:
    tuned = tuned_arm(None, "x.py", {}, [], tmp_path)
    assert tuned.skipped is not None
    assert "run 'hearth tune x.py' first" in tuned.skipped


def test_balanced_is_skipped_by_name_where_the_kernel_cannot_balance(tmp_path: Path) -> None:
    _, balanced = arms_named(["native", "balanced"], tmp_path / "numa_balancing")
    assert balanced.skipped == f"this kernel has no {tmp_path / 'numa_balancing'}"


def test_balanced_switches_it_on_and_unbound_off_where_the_kernel_can(tmp_path: Path) -> None:
    setting = tmp_path / "numa_balancing"
    setting.write_text("1\n")
    arms = arms_named(["native", "unbound", "balanced", "bound"], setting)
    assert [arm.balancing for arm in arms] == [None, "0", "1", None]


@pytest.mark.parametrize(
    ("names", "word"),
    [
        (["native", "nativ"], "'nativ' is not an arm"),
        (["native"], "two arms"),
        (["bound"] * 2, "once"),
    ],
)
def test_arms_that_make_no_comparison_are_refused(names: list[str], word: str) -> None:
    with pytest.raises(UserError, match=word):
        arms_named(names)


def test_a_kernel_setting_is_put_back_after_an_error(tmp_path: Path) -> None:
    setting = tmp_path / "numa_balancing"
    setting.write_text("0\n")
    with pytest.raises(ZeroDivisionError), kernel_setting("1", setting):
        assert setting.read_text().strip() == "1"
        _ = 1 / 0
    assert setting.read_text().strip() == "0"


_COMPARED = {
    "arm": "native",
    "comparison": "c",
    "sentence": "Do not bind.",
    "master": None,
    "words": [],
}


def test_a_kept_choice_is_found_for_the_same_application_and_forgotten(tmp_path: Path) -> None:
    keep_compared(tmp_path, read_line(["job.py"]), _COMPARED)
    found = kept_compared(tmp_path, read_line(["job.py", "--other", "arguments"]))
    assert found is not None
    assert found["arm"] == "native"
    assert kept_compared(tmp_path, read_line(["other.py"])) is None
    assert forget_compared(tmp_path, read_line(["job.py"]))
    assert kept_compared(tmp_path, read_line(["job.py"])) is None


def test_a_choice_and_a_tune_of_one_application_are_kept_side_by_side(tmp_path: Path) -> None:
    line = read_line(["job.py"])
    keep_compared(tmp_path, line, _COMPARED)
    keep_tuned(tmp_path, application(line), TUNED)
    (file,) = tmp_path.rglob("*.json")
    assert kept_compared(tmp_path, line) == _COMPARED
    assert kept_tuned(tmp_path, application(line)) == TUNED
    assert forget_compared(tmp_path, line) and kept_compared(tmp_path, line) is None
    assert kept_tuned(tmp_path, application(line)) == TUNED and file.is_file()


@pytest.mark.parametrize(
    "words",
    [["--master", "local-numa"], ["--executors", "2"], ["--executors=2"], ["--bind", "none"]],
)
def test_what_the_user_fixes_speaks_against_a_kept_choice(tmp_path: Path, words: list[str]) -> None:
    keep_compared(tmp_path, read_line(["job.py"]), _COMPARED)
    assert kept_compared(tmp_path, read_line([*words, "job.py"])) is None


def test_a_choice_does_not_travel_to_another_machine(tmp_path: Path) -> None:
    for name, cpus in (("here", "0-3"), ("there", "0-7")):
        node = tmp_path / name / "sys/devices/system/node/node0"
        node.mkdir(parents=True)
        (node / "cpulist").write_text(cpus + "\n")
        (tmp_path / name / "proc").mkdir()
        (tmp_path / name / "proc/cpuinfo").write_text("processor: 0\nmodel name : X\n")
    line = read_line(["job.py"])
    keep_compared(tmp_path, line, _COMPARED, tmp_path / "here")
    assert kept_compared(tmp_path, line, tmp_path / "here") is not None
    assert kept_compared(tmp_path, line, tmp_path / "there") is None
