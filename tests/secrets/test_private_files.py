"""Everything kept is for its owner alone, whatever the umask; nobody else's directory is used."""

import json
import os
import stat
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.base.private_files import open_private, ours, private_directory, write_private
from hearth.cli.options import read_line, write_html
from hearth.machine import class_data as archive
from hearth.record.schema import Launched
from hearth.record.store import RecordWriter, new_directory, write_document
from hearth.report.html.page import page
from hearth.spark.run_files import write_plan
from hearth.spark.saved_configs import keep_compared
from hearth.studies.compare.result import ComparisonSettings
from hearth.studies.compare.study import Comparison
from hearth.studies.engine.arms import Arm
from hearth.studies.engine.trial import Trial, Turn
from support import Command, require

OTHER = 65534  # nobody


@pytest.fixture(params=[0o000, 0o022])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def open_to_others(root: Path) -> list[str]:
    modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in [root, *root.rglob("*")]}
    return [f"{path} {mode:o}" for path, mode in modes.items() if mode & 0o077]


def test_records_plans_choices_comparisons_and_pages_are_private_under_any_umask(
    tmp_path: Path, umask: int
) -> None:
    state = tmp_path / "not" / "there" / "state"
    writer = RecordWriter.create(new_directory(state, "app"), "app", Launched())
    writer.append("samples/process.jsonl", {"pid": 1})
    writer.warn("what", "remedy")
    (writer.directory / "eventlog" / "app").write_text("as Spark writes it")
    writer.finish("finished", 0, 1.0)
    write_plan({"mode": "native"}, state)
    keep_compared(state, read_line(["job.py"]), {"arm": "bound"})
    comparison = Comparison.begin(state, "app", [Arm("native")], ComparisonSettings(0, 1))
    comparison.keep(Trial(Turn("app", "native", 0), 1.0))
    write_html(state / "page.html", page())
    assert len(list(state.rglob("*"))) > 15
    assert open_to_others(tmp_path / "not") == []
    assert umask in (0, 0o022)


def test_a_file_of_the_users_that_a_record_links_keeps_its_mode(tmp_path: Path) -> None:
    writer = RecordWriter.create(new_directory(tmp_path, "app"), "app", Launched())
    for name in ("soft", "hard"):
        (tmp_path / name).write_text("the user's own event log")
        (tmp_path / name).chmod(0o644)
    (writer.directory / "eventlog" / "soft").symlink_to(tmp_path / "soft")
    (writer.directory / "eventlog" / "hard").hardlink_to(tmp_path / "hard")
    writer.finish("finished", 0, 1.0)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("soft", "hard")]
    assert modes == [0o644, 0o644]


def test_directories_that_an_earlier_hearth_left_open_are_closed(tmp_path: Path) -> None:
    records = tmp_path / "records"
    (records / "old").mkdir(parents=True)
    records.chmod(0o755)
    RecordWriter.create(new_directory(tmp_path, "app"), "app", Launched())
    assert stat.S_IMODE(records.stat().st_mode) == 0o700


def test_a_file_is_replaced_and_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("theirs")
    for name in ("document.json", f".other.json.{os.getpid()}", "lines.jsonl"):
        (tmp_path / name).symlink_to(target)
    write_document(tmp_path / "document.json", {"a": 1})
    write_private(tmp_path / "other.json", "{}")
    with pytest.raises(OSError, match="symbolic links"):
        open(tmp_path / "lines.jsonl", "a", opener=open_private)  # noqa: SIM115
    assert target.read_text() == "theirs"
    assert json.loads((tmp_path / "document.json").read_text()) == {"a": 1}


@pytest.mark.parametrize("linked", [False, True])
def test_a_directory_that_somebody_else_made_is_refused(
    tmp_path: Path, linked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0:
        require("root", "only root can make a directory of another user's")
    mine = tmp_path / "mine"
    mine.mkdir(0o700)
    place = tmp_path / "plans"
    if linked:  # their link to a directory of mine
        place.symlink_to(mine)
        os.lchown(place, OTHER, OTHER)
    else:
        place.mkdir(0o777)
        os.chown(place, OTHER, OTHER)
    with pytest.raises(PermissionError, match="belongs to user 65534"):
        private_directory(place)
    monkeypatch.setenv("TMPDIR", str(mine))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert write_plan({"mode": "native"}, tmp_path).is_relative_to(mine)


def test_nothing_is_kept_where_others_can_replace_it(
    tmp_path: Path, hearth: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    mine = private_directory(shared / "mine")
    (tmp_path / "link").symlink_to(mine)
    archive = mine / "cli.jsa"
    archive.touch(0o600)
    places = (mine, shared / "new" / "state", tmp_path / "link", tmp_path / "link" / "below")
    shared.chmod(0o777)
    for place in places:
        with pytest.raises(PermissionError, match=f"{shared}' has mode 777 \\('chmod \\+t"):
            private_directory(place)
    assert not ours(archive)
    assert not (shared / "new").exists()
    refused = hearth("submit", "--conf", f"spark.local.dir={shared / 'scratch'}", "app.py")
    assert refused.returncode == 2
    assert f"spark.local.dir: cannot use '{shared / 'scratch'}': others can" in refused.stderr
    (tmp_path / "app.py").touch()
    record = hearth("profile", "app.py", environment={"HEARTH_STATE": str(shared / "state")})
    assert record.returncode == 2
    assert "chmod +t" in record.stderr
    monkeypatch.setenv("TMPDIR", str(private_directory(tmp_path / "tmp")))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert write_plan({"mode": "native"}, shared / "state").is_relative_to(tmp_path / "tmp")
    shared.chmod(0o1777)
    for place in places:
        private_directory(place)
    assert ours(archive)


def test_nothing_is_kept_below_a_directory_of_another_users_of_a_group_or_of_an_acl(
    tmp_path: Path,
) -> None:
    if os.geteuid() != 0:
        require("root", "only root can give files away")
    shared = private_directory(tmp_path / "shared")
    (tmp_path / "link").symlink_to(private_directory(shared / "deep"))

    def refused(why: str, place: Path = shared / "deep") -> None:
        with pytest.raises(PermissionError, match=why):
            private_directory(place / "mine")

    os.chown(shared, OTHER, 0)
    for mode in (0o777, 0o1777, 0o755):
        shared.chmod(mode)
        refused(f"{shared}' belongs to user {OTHER}; use a directory inside")
    os.chown(shared, 0, 0)
    os.chown(tmp_path / "link", OTHER, 0, follow_symlinks=False)
    private_directory(shared / "deep" / "mine")
    refused(f"link' belongs to user {OTHER}", tmp_path / "link")
    shared.chmod(0o775)
    private_directory(shared / "deep" / "mine")
    os.chown(shared, 0, OTHER)
    refused("has mode 775, group nogroup \\('chmod \\+t .* or 'chmod g-w'")
    shared.chmod(0o1775)
    private_directory(shared / "deep" / "mine")
    os.chown(shared, 0, 0)
    shared.chmod(0o700)
    # rwx for the owner and for one more user, linux/posix_acl_xattr.h
    entries = ((1, 7, 2**32 - 1), (2, 7, OTHER), (4, 0, 2**32 - 1), (16, 7, 2**32 - 1))
    acl = [struct.pack("<HHI", *entry) for entry in (*entries, (32, 0, 2**32 - 1))]
    try:
        os.setxattr(shared, "system.posix_acl_access", b"".join([struct.pack("<I", 2), *acl]))
    except OSError as error:
        require("acl", f"a file system with ACLs ({error})")
    refused("has mode 770, with an ACL")


def test_a_directory_may_be_moved_to_another_disk_by_its_owner(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir(0o755)
    (tmp_path / "records").symlink_to(tmp_path / "disk")
    private_directory(tmp_path / "records")
    assert stat.S_IMODE((tmp_path / "disk").stat().st_mode) == 0o700


def test_no_jvm_starts_from_an_archive_that_somebody_else_put_into_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0:
        require("root", "only root can make a directory of another user's")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    training = archive.Training("cli", "key", lambda flag: [sys.executable, "-c", ""], list)
    (tmp_path / "content").write_bytes(b"theirs")
    planted = archive.name_of(training, tmp_path / "content")
    planted.parent.mkdir(0o755)
    planted.write_bytes(b"theirs")
    os.chown(planted, OTHER, OTHER)
    assert archive.existing(training) is None
    assert archive.prepared(training, False) is None
    planted.write_bytes(b"theirs")
    assert archive.existing(training) == planted
    os.chown(planted.parent, OTHER, OTHER)
    assert archive.existing(training) is None
    assert archive.prepared(training, False) is None
