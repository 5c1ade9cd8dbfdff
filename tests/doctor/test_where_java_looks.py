"""Where the driver's JVM and the executors' keep temporary files, and look for native libraries."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from doctor.cases import ROOT_MOUNT, mount
from doctor.made_machine import Given
from hearth.base.absent import Absent
from hearth.doctor.rule import Fine, Problem
from hearth.doctor.rules import RULES

NOEXEC = mount(ROOT_MOUNT, ("/tmp", "tmpfs", "rw,noexec"), ("/fast", "tmpfs", "rw,noexec"))
DRIVER, EXECUTOR = (f"spark.{who}.extraJavaOptions" for who in ("driver", "executor"))


def temporary(folder: str) -> str:
    return f"-Dx=1 -Djava.io.tmpdir={folder}"


def of_user(given: Given, conf: Mapping[str, str], **environment: str) -> Given:
    return replace(given, own={**given.own, "conf": conf, "environment": environment})


@pytest.mark.parametrize(
    ("conf", "environment", "told"),
    [
        ({}, {}, "/tmp of the driver is mounted noexec"),
        ({DRIVER: temporary("/data")}, {}, None),
        ({DRIVER: temporary("/data"), EXECUTOR: temporary("/fast")}, {},
         "/fast of executors is mounted noexec"),
        ({EXECUTOR: temporary("/data")}, {}, "/tmp of the driver is mounted noexec"),
        ({EXECUTOR: temporary("/fast")}, {}, "/tmp of the driver is mounted noexec; "
         "/fast of executors is mounted noexec"),
        ({DRIVER: temporary("/fast"), EXECUTOR: temporary("/fast")}, {},
         "/fast of driver and executors is mounted noexec"),
        ({"spark.executor.defaultJavaOptions": temporary("/fast"), EXECUTOR: temporary("/data"),
          DRIVER: temporary("/data")}, {}, None),
        # A worker of Spark's own starts executors without an option of hearth's.
        ({DRIVER: temporary("/data"), "spark.master": "spark://a:7077"}, {},
         "/tmp of executors is mounted noexec"),
        # hearth's option for executors comes behind this variable, and before the other.
        ({}, {"JAVA_TOOL_OPTIONS": temporary("/data")}, None),
        ({DRIVER: temporary("/data")}, {"_JAVA_OPTIONS": temporary("/fast")},
         "/fast of driver and executors is mounted noexec"),
        ({DRIVER: temporary("/data")}, {"SPARK_SUBMIT_OPTS": temporary("/fast")}, None),
    ],
)  # fmt: skip
def test_the_temporary_directories_of_driver_and_executors_are_judged_each_and_named(
    tmp_path: Path, conf: dict[str, str], environment: dict[str, str], told: str | None
) -> None:
    machine = of_user(NOEXEC, conf, **environment).machine(tmp_path)
    found = RULES["temporary-noexec"].outcome(machine)
    assert not isinstance(found, Absent)
    assert isinstance(found, Fine) if told is None else found.seen == told
    if isinstance(found, Problem):
        for who in ("driver", "executor"):
            assert (f"spark.{who}.extra" in found.command) == (who in found.seen)


def test_options_of_executors_that_are_not_started_are_not_judged(tmp_path: Path) -> None:
    conf = {DRIVER: temporary("/data"), EXECUTOR: temporary("/fast")}
    native = replace(of_user(NOEXEC, conf), plan={"mode": "native"})
    assert isinstance(RULES["temporary-noexec"].outcome(native.machine(tmp_path)), Fine)


def test_a_temporary_directory_that_java_would_not_find_is_told_with_whose_it_is(
    tmp_path: Path,
) -> None:
    given = Given(modes={"tmp": 0o1777, "data": 0o700, "dev/shm": 0o1777})
    gone = of_user(given, {EXECUTOR: temporary("/gone")}).machine(tmp_path)
    found = RULES["directory-modes"].outcome(gone)
    assert isinstance(found, Problem) and found.severity == "harm"
    assert found.seen.startswith("/gone (java.io.tmpdir of executors) does not exist")
    assert found.command == "mkdir /gone"
    there = of_user(given, {EXECUTOR: temporary("/data")}).machine(tmp_path)
    found = RULES["directory-modes"].outcome(there)
    assert isinstance(found, Fine)
    assert "/data (java.io.tmpdir of executors): mode 0700" in found.seen


@pytest.mark.parametrize("check", ["directory-modes", "temporary-noexec"])
@pytest.mark.parametrize("key", [DRIVER, EXECUTOR])
def test_of_a_temporary_directory_that_is_no_name_of_a_file_nothing_is_claimed(
    tmp_path: Path, check: str, key: str
) -> None:
    given = replace(NOEXEC, modes={"tmp": 0o1777, "dev/shm": 0o1777})
    machine = of_user(given, {key: temporary("/a\0b")}).machine(tmp_path)
    assert RULES[check].outcome(machine) == Absent("-Djava.io.tmpdir names no file")
