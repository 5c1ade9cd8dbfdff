"""The log of a driver: the user's own logging counts, and without any it is WARN and above."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from hearth.base.errors import UserError
from hearth.spark.driver_log import log_flags, recorded, users_logging

OPTIONS = "spark.driver.extraJavaOptions"
TOLD = "-Dlog4j2.configurationFile=/mine.xml"


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty configuration directory, and no variable that tells Log4j anything."""
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH", "SPARK_SUBMIT_OPTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return tmp_path


def level(wanted: str | None, conf: Mapping[str, str], *, quiet: bool = False) -> str:
    """The level that the driver is given; empty where its log is the user's own."""
    return "".join(log_flags(wanted, conf, "", quiet=quiet)[1:]).removeprefix("-Dhearth.log.level=")


def test_the_level_is_warn_errors_if_quiet_and_what_the_user_asks_for() -> None:
    assert level(None, {}) == "warn"
    assert level(None, {}, quiet=True) == "error"
    assert level("info", {}, quiet=True) == "info"
    assert level(None, {"spark.log.level": "DEBUG"}, quiet=True) == "debug"
    assert level("info", {"spark.log.level": "INFO"}) == "info"
    with pytest.raises(UserError, match=r"--log: 'info' contradicts spark.log.level=WARN"):
        level("info", {"spark.log.level": "WARN"})


def test_a_log4j_of_the_users_own_is_left_alone_and_named_where_log_contradicts_it(
    plain: Path,
) -> None:
    (plain / "log4j2.properties.template").touch()
    assert level(None, {}) == "warn"
    (plain / "log4j2.properties").touch()
    assert log_flags(None, {}, "", quiet=True) == []
    with pytest.raises(UserError, match=r"use --conf spark\.log\.level=INFO instead"):
        level("info", {})
    assert level("info", {"spark.log.level": "info"}) == ""


def test_log4j_is_found_wherever_a_driver_reads_it(tmp_path: Path) -> None:
    site, jar = tmp_path / "site", tmp_path / "mine.jar"
    site.mkdir()
    (site / "log4j2-test.xml").touch()
    with zipfile.ZipFile(jar, "w") as made:
        made.writestr("log4j2.yaml", "")
    empty = tmp_path / "none"
    assert users_logging({OPTIONS: f"-Da=b {TOLD}"}, {}, empty, "") == OPTIONS
    of_defaults = "spark.driver.defaultJavaOptions"
    assert users_logging({of_defaults: TOLD.replace("4j2.", "4j.")}, {}, empty, "") == of_defaults
    for name in ("SPARK_SUBMIT_OPTS", "JDK_JAVA_OPTIONS"):
        assert users_logging({}, {name: TOLD}, empty, "") == name
    assert (
        users_logging({}, {"HADOOP_CONF_DIR": str(site)}, empty, "") == f"'{site}/log4j2-test.xml'"
    )
    for path in (f"/no.jar:{jar}", f"{tmp_path}/*"):
        assert users_logging({}, {}, empty, path) == f"'{jar}!log4j2.yaml'"
    assert users_logging({OPTIONS: "-Dlog4j2.level=x"}, {"A": TOLD}, empty, str(tmp_path)) is None


def test_a_run_on_record_keeps_lines_from_info_on_and_shows_those_that_it_would() -> None:
    ours = " ".join(log_flags("error", {}, ""))
    assert recorded(ours, Path("/r")).endswith(
        "-Dhearth.log.level=info -Dhearth.log.console=error -Dhearth.log.record=info "
        "-Dhearth.log.file=/r/driver.log"
    )
    assert recorded(TOLD, Path("/r")) == TOLD
    assert "record=debug" in recorded(" ".join(log_flags("debug", {}, "")), Path("/r"))
