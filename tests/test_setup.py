"""The set-up of a checkout."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hearth.base.processes import start_ticks
from hearth.machine import class_data as archive
from support import PATIENCE_S, ROOT, Command, eventually, program

_TOOLS = ("sh", "dirname", "id", "tr", "sed", "cat", "bash", "ps", "mkdir")


def test_without_apt_it_says_exactly_what_to_install_and_stops(tmp_path: Path) -> None:
    for tool in _TOOLS:
        (tmp_path / tool).symlink_to(str(shutil.which(tool)))
    done = subprocess.run(
        [str(ROOT / "tools" / "setup.sh")],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == (
        "setup: missing: openjdk-17-jdk-headless maven - as root: "
        "apt-get install openjdk-17-jdk-headless maven - then run this again\n"
    )


def fake_java(folder: Path, script: str) -> dict[str, str]:
    """An environment whose java is a shell script, with a cache of its own."""
    program(folder / "java" / "bin" / "java", script)
    return {"JAVA_HOME": str(folder / "java"), "XDG_CACHE_HOME": str(folder / "cache")}


def test_ctrl_c_ends_the_command_with_130_and_its_child_too(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    environment = fake_java(tmp_path, f"echo $$ > {pid_file}; exec sleep 600")
    command = [str(Path(sys.executable).with_name("hearth")), "topology"]
    process = subprocess.Popen(
        command, env={**os.environ, **environment}, stderr=subprocess.PIPE, text=True
    )
    eventually("java starts", lambda: pid_file.is_file() and pid_file.read_text().strip())
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, errors) == (130, "hearth: interrupted\n")
    assert start_ticks(int(pid_file.read_text())) is None


def test_without_an_archive_hearth_goes_on_and_debug_says_why(
    hearth: Command, tmp_path: Path
) -> None:
    java = shutil.which(
        "java", path=os.path.expandvars("$JAVA_HOME/bin") + ":" + os.environ["PATH"]
    )
    refuse = 'case "$*" in *ArchiveClassesAtExit*) echo no archive today >&2; exit 3;; esac'
    environment = fake_java(tmp_path, f'{refuse}\nexec {java} "$@"')
    for _ in range(2):
        done = hearth("topology", "--debug", environment=environment)
        assert done.returncode == 0, done.stderr
        assert "hearth: no class-data archive: no archive today" in done.stderr
    assert hearth("topology", environment=environment).stderr == ""


def test_a_cache_whose_name_has_colons_holds_no_archive_and_debug_says_why(
    hearth: Command, tmp_path: Path
) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path / "a:b:c")}
    done = hearth("topology", "--debug", environment=environment)
    assert done.returncode == 0, done.stderr
    assert "has a colon, which separates archives" in done.stderr


@pytest.fixture(scope="module")
def archived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of caches after a first command."""
    home = tmp_path_factory.mktemp("archived")
    command = [str(Path(sys.executable).with_name("hearth")), "topology"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(home)}
    subprocess.run(command, env=environment, capture_output=True, timeout=PATIENCE_S, check=True)
    return home


def test_the_archive_is_made_once_and_used(hearth: Command, archived: Path) -> None:
    (cached,) = (archived / "hearth").iterdir()
    made = cached.stat().st_mtime_ns
    assert cached.suffix == ".jsa"
    for needed in (b"io/hearth/core/topology/SysTree$", b"io/hearth/core/plan/Planner"):
        assert needed in cached.read_bytes()  # of both: a live machine read, executors planned
    environment = {"XDG_CACHE_HOME": str(archived)}
    assert hearth("topology", environment=environment).returncode == 0
    assert cached.stat().st_mtime_ns == made


def test_an_archive_that_was_cut_off_or_changed_is_made_anew(
    hearth: Command, archived: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A JVM that starts from such a one crashes, until somebody deletes it by hand."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shutil.copytree(archived, tmp_path / "cache")
    (cached,) = (tmp_path / "cache" / "hearth").iterdir()
    whole = cached.read_bytes()
    wanted = archive.Training(*cached.name.partition(".")[0].split("-"), no_command, no_command)
    assert archive.existing(wanted) == cached
    middle = len(whole) // 2
    damages = [whole[:end] for end in (0, middle, len(whole) - 1)]
    damages += [whole[:middle] + b"\xff" * 4096 + whole[middle + 4096 :]]
    for damaged in damages:
        cached.unlink(missing_ok=True)
        cached.write_bytes(damaged)
        cached.chmod(0o600)
        assert archive.existing(wanted) is None
        assert not cached.exists()
    cached.write_bytes(damages[-1])
    done = hearth("topology", environment={"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert (done.returncode, done.stderr) == (0, "")
    (anew,) = cached.parent.iterdir()
    assert anew.stat().st_size > middle + 1
    assert anew.read_bytes() != damages[-1]


def no_command(*_: object) -> list[str]:
    raise AssertionError("nothing is to run")


def test_the_part_of_a_killed_writer_is_never_an_archive(hearth: Command, tmp_path: Path) -> None:
    """This java writes a part and is killed, as one that the kernel's out-of-memory killer met."""
    java = shutil.which(
        "java", path=os.path.expandvars("$JAVA_HOME/bin") + ":" + os.environ["PATH"]
    )
    killed = (
        "for w; do case $w in *ArchiveClassesAtExit=*) "
        'head -c 9000 /dev/zero >"${w#*=}"; kill -9 $$;; esac; done'
    )
    environment = fake_java(tmp_path, f'{killed}\nexec {java} "$@"')
    assert hearth("topology", environment=environment).returncode == 0
    assert not list((tmp_path / "cache" / "hearth").glob("*.jsa"))
    assert not list((tmp_path / "cache" / "hearth").glob("*.part"))


def test_archives_of_other_checkouts_stay_until_there_are_too_many(
    hearth: Command, tmp_path: Path
) -> None:
    cached = tmp_path / "cache" / "hearth"
    cached.mkdir(parents=True)
    for age in range(5):
        (cached / f"cli-{age}.jsa").write_text("of another jar")
        os.utime(cached / f"cli-{age}.jsa", (1e9 - age, 1e9 - age))
    for part in ("cli-7.1.part", "cli-8.2.part"):  # of a command killed long ago, of one that works
        (cached / part).write_text("half of an archive")
    os.utime(cached / "cli-7.1.part", (1e9, 1e9))
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert hearth("topology", environment=environment).returncode == 0
    others = {f"cli-{age}.jsa" for age in range(5)}
    left = {file.name for file in cached.iterdir()}
    assert {name for name in left if name.endswith(".part")} == {"cli-8.2.part"}
    left.remove("cli-8.2.part")
    assert left & others == {"cli-0.jsa", "cli-1.jsa", "cli-2.jsa"}
    assert len(left) == 4
