"""hearth cache: what can be made again is listed, and bounded on demand."""

import fcntl
import os
from pathlib import Path

import pytest

from hearth.workloads.datasets import MANIFEST
from support import Command

KB = 1024


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Three archives, an answer, a part that is being written, a data set and a user's folder."""
    home = tmp_path / "cache" / "hearth"
    (home / "data" / "words-1").mkdir(parents=True)
    (home / "data" / "mine").mkdir()
    for age, name in enumerate(("driver-c.jsa", "driver-b.jsa", "driver-a.jsa", "machine-1.json")):
        (home / name).write_bytes(b"x" * 100 * KB)
        os.utime(home / name, (1e9 - age, 1e9 - age))
    (home / "driver-a.jsa.sum").write_text("1")
    (home / "driver-d.7.part").write_text("half")
    (home / "driver-e.8.part").mkdir()  # of a command killed long ago along with its guardian
    (home / "driver-e.8.part" / "archive").write_bytes(b"x" * 100 * KB)
    os.utime(home / "driver-e.8.part", (1e9 + 1, 1e9 + 1))
    (home / "data" / "words-1" / MANIFEST).write_text("{}")
    (home / "data" / "words-1" / "part-0").write_bytes(b"x" * 200 * KB)
    (home / "data" / "mine" / "thesis").write_text("years")
    return home


def left(cache: Path) -> set[str]:
    return {str(file.relative_to(cache)) for file in cache.rglob("*") if file.is_file()}


def run(hearth: Command, cache: Path, *words: str) -> str:
    done = hearth("cache", *words, environment={"XDG_CACHE_HOME": str(cache.parent)})
    assert (done.returncode, done.stderr) == (0, "")
    return str(done.stdout)


def test_each_kind_is_listed_with_its_size_and_what_bounds_it(hearth: Command, cache: Path) -> None:
    before = left(cache)
    lines = {line.split()[0]: line for line in run(hearth, cache).splitlines()}
    assert "4  400 KB  class-data archives" in lines["archives"]
    assert "1  100 KB" in lines["answers"]
    assert "1  200 KB" in lines["data"]
    assert left(cache) == before


def test_a_limit_removes_the_oldest_until_the_rest_fits(hearth: Command, cache: Path) -> None:
    before = left(cache)
    # 700 kB in all: the answer and two archives go, then 400 kB stay.
    assert run(hearth, cache, "--limit", "450k").startswith("removed 3, 300 KB")
    assert before - left(cache) == {
        *("machine-1.json", "driver-a.jsa", "driver-a.jsa.sum", "driver-b.jsa")
    }
    assert run(hearth, cache, "--limit", "1g").startswith("removed 0, 0 B")


def test_a_kind_is_removed_and_neither_the_users_files_nor_what_is_written_now(
    hearth: Command, cache: Path
) -> None:
    run(hearth, cache, "--remove", "data")
    assert not (cache / "data" / "words-1").exists()
    assert (cache / "driver-a.jsa").exists()
    run(hearth, cache, "--remove", "all")
    assert left(cache) == {"driver-d.7.part", "data/mine/thesis"}


def test_a_data_set_that_another_process_makes_stays(hearth: Command, cache: Path) -> None:
    with (cache / "data" / ".words-1.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        said = run(hearth, cache, "--remove", "data")
    assert f"kept '{cache}/data/words-1': another process is using it" in said
    assert (cache / "data" / "words-1" / "part-0").exists()
