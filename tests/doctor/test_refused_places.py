"""What the doctor makes of places that this user may not enter, limits that are used up, and
captures and records that a hostile hand has made.
"""

import io
import os
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.base.absent import Absent
from hearth.base.errors import UserError
from hearth.cli.commands.doctor import _silenced
from hearth.cli.main import main
from hearth.doctor.machine import local_dirs, space_of
from hearth.doctor.reading import _conf_file, _resolve, _unpacked
from hearth.machine import paths
from hearth.machine.tree import Tree
from support import require

_NOBODY = 65534


@pytest.fixture
def hidden(tmp_path: Path) -> Iterator[Path]:
    """A directory that exists, and that this process may not enter while the test runs."""
    if os.geteuid() != 0:
        require("root", "a second user is played by root")
    inner = tmp_path / "hidden" / "inner"
    inner.mkdir(parents=True)
    inner.parent.chmod(0o700)
    try:
        os.seteuid(_NOBODY)
    except OSError as error:  # a namespace with one user, or without the capability
        require("root", f"a second user is played by root: {error.strerror}")
    try:
        yield inner
    finally:
        os.seteuid(0)


def test_settings_and_findings_of_a_directory_that_is_anothers_are_not_seen(
    hidden: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    found = _conf_file(hidden)
    assert isinstance(found, Absent) and found.reason.endswith("Permission denied")
    assert not isinstance(space_of(str(hidden / "scratch")), Absent)
    monkeypatch.setenv("SPARK_HOME", str(hidden))
    with pytest.raises(UserError, match="SPARK_HOME: no bin/spark-submit"):
        paths.spark_home()
    assert _silenced(hidden / "silenced.json") == {}
    assert capsys.readouterr().err.endswith("Permission denied: no finding is silenced\n")


def test_a_place_of_anothers_is_named_with_what_to_choose(
    hidden: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = hidden / "box.tar.gz"
    assert main(["topology", "--capture", str(file)]) == 2
    said = capsys.readouterr().err
    assert f"'{file}': Permission denied: choose another place" in said


def test_an_error_is_one_line_whatever_line_breaks_the_user_gave(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["lab", "study", "run", "one\ntwo"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_directories_of_a_record_that_no_file_can_have_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
    assert local_dirs({"spark.local.dir": "/a\0b, /c"}) == ["/c"]


def test_where_no_thread_can_be_started_the_address_of_a_name_is_not_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    found = _resolve("localhost")
    assert isinstance(found, Absent) and "can't start new thread" in found.reason


def test_a_capture_with_thousands_of_folders_in_one_another_is_read_without_them(
    tmp_path: Path,
) -> None:
    file = tmp_path / "deep.tar"
    with tarfile.open(file, "w", format=tarfile.PAX_FORMAT) as archive:
        for name in ("box/proc/" + "a/" * 3000 + "b", "box/proc/cmdline"):
            member = tarfile.TarInfo(name)
            member.size = 5
            archive.addfile(member, io.BytesIO(b"quiet"))
    with _unpacked(file) as root:
        assert Tree(root).text("proc/cmdline") == "quiet"
        assert not Tree(root).has("proc/a")
