"""A class-data archive that was damaged while it was written is never started from."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hearth.machine import class_data, paths
from support import eventually

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "whole": lambda content: content,
    "cut": lambda content: content[: len(content) // 2],
    "flipped": lambda content: content[:-50000] + bytes([content[-50000] ^ 1]) + content[-49999:],
    "garbage": lambda content: b"x" * len(content),
    "empty": lambda content: b"",
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What a JVM wrote with hearth's jar as its class path."""
    file = tmp_path_factory.mktemp("archive") / "written"
    command = [str(paths.java()), f"-XX:ArchiveClassesAtExit={file}", "-Xlog:disable"]
    subprocess.run([*command, *_ON_JAR], check=True, capture_output=True, timeout=240)
    return file.read_bytes()


_ON_JAR = ["-cp", str(paths.hearth_jar()), "-version"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_new_archive_that_java_refuses_is_not_kept_and_the_reason_is(
    tmp_path: Path, written: bytes, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "content").write_bytes(DAMAGES[damage](written))
    training = class_data.Training(
        name="cli",
        key="key",
        command=lambda flag: ["cp", str(tmp_path / "content"), flag.partition("=")[2]],
        check=lambda flags: [str(paths.java()), *flags, *_ON_JAR],
    )
    made = class_data.prepared(training, debug=False)
    kept = sorted(file.suffix for file in (tmp_path / "hearth").iterdir())
    if damage == "whole":
        assert made is not None
        assert made.read_bytes() == written
        assert kept == [".jsa"]
    else:
        assert made is None
        assert kept == [".failed"]


#: As a JVM does: it says that it runs, and when it is asked to end it writes its archive yet.
_WRITER = """#!/bin/sh
for w in "$@"; do case $w in *AtExit=*) part=${w#*AtExit=}; part=${part%% *};; esac; done
trap 'head -c 9000 /dev/zero >"$part"; exit' TERM INT
echo $$ >"$MARKS/runs"
while :; do sleep 0.1; done
"""
_DRIVERS = """
from hearth.spark.cds import driver_flags
driver_flags(writer.parents[1], writer, make=True, debug=False)
"""
_OWN = """
from hearth.machine.class_data import archive_flags
archive_flags(writer, ["-cp", "x", "Main"], False)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("maker", [_DRIVERS, _OWN], ids=["driver", "own"])
def test_an_end_while_an_archive_is_made_leaves_no_part_of_it(
    tmp_path: Path, maker: str, number: signal.Signals
) -> None:
    writer = tmp_path / "spark" / "bin" / "spark-submit"
    cache, tmp = tmp_path / "cache" / "hearth", tmp_path / "tmp"
    for folder in (writer.parent, tmp_path / "spark" / "jars", tmp):
        folder.mkdir(parents=True)
    writer.write_text(_WRITER)
    writer.chmod(0o700)
    environment = {
        **{name: value for name, value in os.environ.items() if name != "SPARK_CONF_DIR"},
        "TMPDIR": str(tmp),
        "XDG_CACHE_HOME": str(cache.parent),
        "MARKS": str(tmp_path),
    }
    code = f"from pathlib import Path; writer = Path({str(writer)!r}){maker}"
    words = ["env", "--default-signal=INT", sys.executable, "-c", code]
    runs = tmp_path / "runs"
    with subprocess.Popen(
        words, env=environment, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        eventually("it runs", lambda: runs.exists() and runs.read_text().strip())
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # as a terminal does
        else:
            process.send_signal(number)
    eventually("it is gone", lambda: not Path("/proc", runs.read_text().strip()).exists())
    eventually("nothing is left", lambda: not [*tmp.iterdir(), *cache.iterdir()])
