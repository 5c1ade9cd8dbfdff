"""What makes class-data archives when an application is over: what it waits for, and its end."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from hearth.spark import cds
from support import eventually, running

#: In place of spark-submit: says how it was started, and has a child as a driver has.
_SUBMIT = f"""#!{sys.executable}
import os, subprocess, sys, time
from pathlib import Path
child = subprocess.Popen(["sleep", "300"])
over = (Path(os.environ["MARKS"]) / "over").exists()
idle = os.sched_getscheduler(0) == os.SCHED_IDLE
options = [name for name in os.environ if "JAVA" in name and "OPT" in name]
maker = os.getppid()
words = Path(f"/proc/{{maker}}/cmdline").read_text().replace(chr(0), " ")
part = Path(os.environ["MARKS"]) / "part"
temporary = os.listdir(os.environ["TMPDIR"])
where = os.readlink(f"/proc/{{maker}}/cwd")
said = f"{{over}} {{idle}} {{options}} {{temporary}} {{where}} {{child.pid}} {{maker}} {{words}}"
part.write_text(said)
part.rename(part.with_name("seen"))
time.sleep(300)
"""
#: An application: it uses CPU time, says when it ends, and has two makers wait for it.
_APPLICATION = """
import os, sys, time
from pathlib import Path
from hearth.spark import cds as it
home, marks, used, it._LIMIT_S = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]), 30
for _ in range(2):
    it.make_afterwards(home, None, os.getpid())
while time.process_time() < used:
    pass
time.sleep(1)
(marks / "over").touch()
"""


@pytest.fixture
def spark(tmp_path: Path) -> Path:
    submit = tmp_path / "spark" / "bin" / "spark-submit"
    for folder in (submit.parent, tmp_path / "spark" / "jars", tmp_path / "tmp"):
        folder.mkdir(parents=True)
    submit.write_text(_SUBMIT)
    submit.chmod(0o700)
    return submit.parents[1]


def run_application(spark: Path, used_s: float, more: Mapping[str, str]) -> None:
    place = spark.parent
    environment = {name: text for name, text in os.environ.items() if name != "SPARK_CONF_DIR"}
    environment |= {"XDG_CACHE_HOME": str(place / "cache"), "TMPDIR": str(place / "tmp")}
    environment |= {"MARKS": str(place), **more}
    words = [sys.executable, "-c", _APPLICATION, str(spark), str(place), str(used_s)]
    subprocess.run(words, check=True, env=environment, timeout=120)


def test_archives_are_made_when_the_application_is_over_by_one_process_that_soon_ends(
    spark: Path, tmp_path: Path
) -> None:
    """Under a name of its own, on idle CPU time, without the user's Java options."""
    run_application(spark, 1.5, {"JAVA_TOOL_OPTIONS": "-XX:+UseG1GC", "JDK_JAVA_OPTIONS": "-Dx"})
    ended = time.monotonic()
    seen = tmp_path / "seen"
    eventually("a training run is started", seen.exists)
    over, idle, options, temporary, where, child, maker, *words = seen.read_text().split()
    assert (over, idle, options) == ("True", "True", "[]")
    assert (temporary, where) == ("[]", "/"), "it keeps no file system of the job's busy"
    assert "hearth.spark.archive_maker" in words
    assert not any("_APPLICATION" in word or "make_afterwards" in word for word in words)
    processes = [Path("/proc", pid) for pid in (child, maker)]
    eventually("all of it has ended", lambda: not any(map(lives, processes)))
    assert time.monotonic() - ended < 200, "its limit is 30 s"
    cache = tmp_path / "cache" / "hearth"
    # That time ran out is no reason not to try again.
    lock = [".training.lock"]
    eventually("nothing is left", lambda: [file.name for file in cache.iterdir()] == lock)


def lives(process: Path) -> bool:
    try:
        return "State:\tZ" not in (process / "status").read_text()
    except OSError:
        return False


def test_no_archive_is_made_for_an_application_that_did_not_start(
    spark: Path, tmp_path: Path
) -> None:
    run_application(spark, 0.0, {})
    eventually("its maker has ended", lambda: not running("archive_maker", str(spark)))
    assert not (tmp_path / "seen").exists()


def test_that_archives_will_be_made_is_news_once(
    spark: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    other = tmp_path / "other.jar"
    other.touch()
    told = [cds.is_news(spark, jar) for jar in (None, None, other, other)]
    assert told == [True, False, True, False]
