"""Data sets: named by what decides their bytes, never trusted half-written, locked while made."""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from hearth.base.errors import UserError
from hearth.base.processes import start_ticks
from hearth.machine.paths import spark_home
from hearth.spark import cds
from hearth.workloads import datasets
from hearth.workloads.catalogue import Catalogue, Generator, Input, Job, Parameter
from hearth.workloads.datasets import MANIFEST, Generated, ensure, wanted_by
from hearth.workloads.tpch import TpchTables
from support import eventually

TEXT = Generator("text", 2, "words", ())
WANTED = Generated(TEXT, 1 << 20, 7, (("vocabulary", "1000"),))
MANIFEST_OF_WANTED = {
    "generator": "text",
    "version": 2,
    "seed": 7,
    "size_bytes": 1 << 20,
    "parameters": {"vocabulary": "1000", "other": "1"},
    "bytes": 1048000,
}


def made(folder: Path, **changes: object) -> Path:
    """A finished data set, as the generator leaves it."""
    folder.mkdir(parents=True)
    (folder / "part-00000.txt").write_text("a few words\n")
    (folder / MANIFEST).write_text(json.dumps({**MANIFEST_OF_WANTED, **changes}))
    return folder


def test_a_finished_data_set_is_used_as_it_is(tmp_path: Path) -> None:
    assert ensure(WANTED, made(tmp_path / "d")) == tmp_path / "d"


def test_the_name_changes_with_all_that_decides_the_bytes() -> None:
    others = [
        Generated(Generator("text", 3, "words", ()), 1 << 20, 7, WANTED.parameters),
        Generated(Generator("tags", 2, "words", ()), 1 << 20, 7, WANTED.parameters),
        Generated(TEXT, 2 << 20, 7, WANTED.parameters),
        Generated(TEXT, 1 << 20, 8, WANTED.parameters),
        Generated(TEXT, 1 << 20, 7, (("vocabulary", "2000"),)),
        Generated(TEXT, 1 << 20, 7),
    ]
    assert len({wanted.name for wanted in [WANTED, *others]}) == 7
    assert WANTED.name == "text_v2_1048576b_seed-7_vocabulary-1000"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"seed": 8}, "holds data with seed 8, not 7"),
        ({"version": 1}, "holds data with version 1, not 2"),
        ({"size_bytes": 5}, "holds data with size_bytes 5, not 1048576"),
        ({"generator": "tags"}, "holds data with generator tags, not text"),
        ({"parameters": {"vocabulary": "5"}}, "holds data with vocabulary 5, not 1000"),
        ({"parameters": {}}, "holds data with vocabulary None, not 1000"),
    ],
)
def test_a_folder_of_other_data_is_refused_by_what_differs(
    tmp_path: Path, changes: dict[str, object], words: str
) -> None:
    with pytest.raises(UserError, match=words):
        ensure(WANTED, made(tmp_path / "d", **changes))


def test_a_folder_of_the_users_own_files_is_never_written_into(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear reader")
    with pytest.raises(UserError, match=f"has files and no {MANIFEST}"):
        ensure(WANTED, tmp_path)
    with pytest.raises(UserError, match="is not a directory"):
        ensure(WANTED, tmp_path / "letter.txt")
    assert [file.name for file in tmp_path.iterdir()] == ["letter.txt"]


@pytest.mark.parametrize("text", ["", "{", "[1]"])
def test_a_damaged_manifest_is_named(tmp_path: Path, text: str) -> None:
    folder = made(tmp_path / "d")
    (folder / MANIFEST).write_text(text)
    with pytest.raises(UserError, match="delete the folder"):
        ensure(WANTED, folder)


def test_a_size_that_the_disk_has_no_room_for_is_refused_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(datasets.shutil, "disk_usage", lambda _: usage(10, 10, (1 << 20) - 1))
    with pytest.raises(UserError, match=r"--size: 1 MB does not fit, .* is free"):
        ensure(WANTED, tmp_path / "new" / "d")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("defaults", "archived"),
    [
        ("", True),
        ("spark.executor.memory 1g", True),
        ("spark.driver.extraJavaOptions -Dmine=1", False),
        ("spark.driver.extraClassPath /mine.jar", False),
        ("spark.hearth.classDataArchive false", False),
    ],
)
def test_a_generator_starts_from_an_archive_unless_the_user_sets_what_that_would_replace(
    defaults: str, archived: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "spark-defaults.conf").write_text(defaults)
    monkeypatch.setenv("SPARK_CONF_DIR", str(conf))
    monkeypatch.setattr("hearth.machine.class_data.existing", lambda _: Path("/a home/a.jsa"))
    commands: list[list[str]] = []

    def run_child(command: list[str], *_: object, **__: object) -> int:
        commands.append(command)
        made(tmp_path / "data")
        return 0

    monkeypatch.setattr(datasets, "run_child", run_child)
    ensure(WANTED, tmp_path / "data")
    name = "spark.driver.extraJavaOptions="
    given = [word.removeprefix(name) for word in commands[0] if word.startswith(name)]
    quiet = ["-Xlog:disable", "-Xlog:all=warning,cds*=off:stderr"]
    flags = ["-XX:SharedArchiveFile=/a home/a.jsa", "-Xshare:auto", *quiet]
    assert [shlex.split(words) for words in given] == ([flags] if archived else [])
    path = f"spark.driver.extraClassPath={cds.class_path(spark_home(), None)}"
    assert (path in commands[0]) is archived


def test_a_jobs_setting_reaches_the_generator_that_shares_it() -> None:
    clusters = Generator("clusters", 1, "c", ())
    settings = (Parameter("dimensions", "20", "", ""), Parameter("iterations", "4", "", ""))
    inputs = (Input("points", "clusters", ("dimensions",)),)
    job = Job("k-means", "ml", "", "", "", settings, inputs, None)
    offer = Catalogue((job,), (clusters,))
    default = wanted_by(offer, job, {"iterations": "9"}, 5 << 20, 3)
    assert default == {"points": Generated(clusters, 5 << 20, 3, (("dimensions", "20"),))}
    chosen = wanted_by(offer, job, {"dimensions": "7"}, None, 3)["points"]
    assert chosen.parameters == (("dimensions", "7"),)
    assert chosen.size_bytes > 0


def test_the_home_of_the_data_is_the_users_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARTH_DATA", "/big/disk")
    assert datasets.data_home() == Path("/big/disk")
    monkeypatch.delenv("HEARTH_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert datasets.data_home() == Path("/elsewhere/hearth/data")


_HOLDER = """
import subprocess, sys, time
from pathlib import Path
from hearth.workloads import datasets
from hearth.spark.children import run_child
with datasets._lock(Path(sys.argv[1])) as lock:
    run_child(["sh", "-c", "echo $$; exec sleep 60"], {}, Path(sys.argv[2]), inherited=(lock,))
"""


def test_a_killed_maker_and_its_child_leave_no_lock(tmp_path: Path) -> None:
    place, log = tmp_path / "d", tmp_path / "log"
    holder = subprocess.Popen([sys.executable, "-c", _HOLDER, str(place), str(log)])
    eventually("the lock is held", lambda: log.is_file() and log.read_text().strip())
    child = int(log.read_text())
    waiter = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(place), str(tmp_path / "second")],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert waiter.stderr is not None
    assert "waiting for another process that is making" in waiter.stderr.readline()
    assert not (tmp_path / "second").exists(), "two may not make the same data"
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    eventually("the lock ends with its owner", (tmp_path / "second").exists)
    assert start_ticks(child) is None, "the lock is free only when the child is gone too"
    waiter.kill()
    waiter.communicate()


def test_the_size_of_tpch_is_its_scale_unless_the_user_names_one() -> None:
    scale = Parameter("scale", "0", "", "")
    job = Job("tpch", "sql", "", "", "", (scale,), (Input("tpch", "tpch", ()),), None)
    offer = Catalogue((job,), ())
    by_size = wanted_by(offer, job, {}, 2 << 30, 1)["tpch"]
    assert by_size == TpchTables(2.0)
    assert wanted_by(offer, job, {"scale": "0.5"}, 2 << 30, 1)["tpch"].name == "tpch_scale-0.5"
