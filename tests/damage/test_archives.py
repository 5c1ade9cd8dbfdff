"""A class-data archive that was damaged while it was written is never started from."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hearth.planner import archive, places
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
    command = [str(places.java()), f"-XX:ArchiveClassesAtExit={file}", "-Xlog:disable"]
    subprocess.run([*command, *_ON_JAR], check=True, capture_output=True, timeout=60)
    return file.read_bytes()


_ON_JAR = ["-cp", str(places.hearth_jar()), "-version"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_new_archive_that_java_refuses_is_not_kept_and_the_reason_is(
    tmp_path: Path, written: bytes, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "content").write_bytes(DAMAGES[damage](written))
    training = archive.Training(
        name="cli",
        key="key",
        command=lambda flag: ["cp", str(tmp_path / "content"), flag.partition("=")[2]],
        check=lambda flags: [str(places.java()), *flags, *_ON_JAR],
    )
    made = archive.prepared(training, debug=False)
    kept = sorted(file.suffix for file in (tmp_path / "hearth").iterdir())
    if damage == "whole":
        assert made is not None
        assert made.read_bytes() == written
        assert kept == [".jsa"]
    else:
        assert made is None
        assert kept == [".failed"]


_TRAINING = """
import sys
from pathlib import Path
from hearth.launch.driver_archive import driver_flags
spark, jar = Path(sys.argv[1]), Path(sys.argv[2])
driver_flags(spark, jar, make=True, debug=False)
"""


def test_a_kill_while_archives_are_made_leaves_nothing_in_the_directory_for_temporary_files(
    tmp_path: Path,
) -> None:
    submit = tmp_path / "spark" / "bin" / "spark-submit"
    for folder in (submit.parent, tmp_path / "spark" / "jars", tmp_path / "tmp"):
        folder.mkdir(parents=True)
    submit.write_text("#!/bin/sh\nexec sleep 60\n")
    submit.chmod(0o700)
    environment = {
        **{name: value for name, value in os.environ.items() if name != "SPARK_CONF_DIR"},
        "TMPDIR": str(tmp_path / "tmp"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    words = [sys.executable, "-c", _TRAINING, str(tmp_path / "spark"), str(places.hearth_jar())]
    with subprocess.Popen(words, env=environment, stderr=subprocess.DEVNULL) as process:
        eventually(
            "it trains", lambda: any((tmp_path / "tmp").glob("hearth-training-*/training.py")), 20
        )
        process.kill()
    eventually("it is gone", lambda: not any((tmp_path / "tmp").iterdir()), 20)


def test_a_kill_while_hearths_own_archive_is_made_leaves_no_part_of_it(tmp_path: Path) -> None:
    """This java says when it runs, and would write its archive when it is asked to end."""
    java = tmp_path / "java"
    java.write_text(
        '#!/bin/sh\nfor w in "$@"; do case $w in *AtExit=*) part=${w#*=};; esac; done\n'
        f"trap 'echo class >\"$part\"; exit' TERM\necho $$ >{tmp_path}/runs\n"
        "while :; do sleep 0.1; done\n"
    )
    java.chmod(0o700)
    code = "import sys; from pathlib import Path; from hearth.planner.archive import archive_flags"
    code += f"; archive_flags(Path({str(java)!r}), ['-cp', 'x', 'Main'], False)"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    runs = tmp_path / "runs"
    with subprocess.Popen([sys.executable, "-c", code], env=environment) as process:
        eventually("it runs", lambda: runs.exists() and runs.read_text().strip(), 20)
        process.kill()
    eventually("it is gone", lambda: not Path("/proc", runs.read_text().strip()).exists(), 20)
    assert list((tmp_path / "cache" / "hearth").iterdir()) == []
