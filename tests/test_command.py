"""The command as a whole: help, version, errors."""

import errno
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from hearth.base.errors import UserError
from hearth.cli.main import command_names, command_parser, main
from hearth.cli.options import refuse_device
from hearth.machine.paths import cache_home
from support import ROOT, Command, check_golden, program, says

COMMANDS = tuple(command_names())


def test_every_command_is_listed_with_the_first_line_of_its_help(hearth: Command) -> None:
    shown = hearth("--help").stdout
    for name in COMMANDS:
        module, _ = command_parser(name)
        assert f"  {name:<16} {(module.__doc__ or '').splitlines()[0]}\n" in shown
    assert len([name for name in COMMANDS if " " not in name]) + 1 <= 18, "with `hearth lab`"
    assert "__all__" not in shown, "of what is for programmers"


def test_the_experiments_are_below_lab(hearth: Command) -> None:
    done = hearth("lab", "--help")
    assert done.returncode == 0 and "lab bench" in done.stdout and "submit" not in done.stdout
    assert (hearth("lab").returncode, hearth("lab").stdout) == (2, done.stdout)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_shows_options_and_examples(hearth: Command, name: str) -> None:
    done = hearth(*name.split(), "--help")
    assert done.returncode == 0
    assert "examples:\n  hearth " in done.stdout
    assert "--debug" in done.stdout


def test_the_version_is_that_of_the_package(hearth: Command) -> None:
    done = hearth("--version")
    assert (done.returncode, done.stdout) == (0, "hearth 0.1.0\n")


def test_without_a_command_the_overview_is_shown_and_the_exit_code_is_2(hearth: Command) -> None:
    done = hearth()
    assert done.returncode == 2
    assert "usage: hearth" in done.stdout


@pytest.mark.command
def test_an_error_of_the_users_is_one_line_and_exit_code_2(
    refused: Callable[..., str], tmp_path: Path
) -> None:
    """The commands of the file are run; a further one is added as a line of its own."""
    for application in ("x.py", "job.py"):
        (tmp_path / application).touch()
    kept = (ROOT / "tests" / "golden" / "refusals.txt").read_text()
    shown = []
    for typed in re.findall(r"^\$ hearth (.*)$", kept, re.MULTILINE):
        said = refused(*shlex.split(typed)).replace(str(tmp_path), "HERE")
        said = re.sub(r" \(choose from .*?\)", "", said)  # Python's words
        assert said.startswith("hearth: ") and len(said) < 400, said
        shown.append(f"$ hearth {typed}\n{said}\n")
    check_golden("refusals.txt", "".join(shown))


def test_a_number_of_any_length_is_refused_by_name(refused: Callable[..., str]) -> None:
    assert f"--input: '{'9' * 400}g'" in refused("plan", "--input", "9" * 400 + "g")


def test_the_installed_command_says_it_on_standard_error(hearth: Command) -> None:
    done = hearth("plan", "--executors", "0")
    assert (done.returncode, done.stdout) == (2, "")
    assert says(done.stderr, "hearth: --executors: 0 … 1") and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words", [["--debug", "plan", "--cores", "0"], ["plan", "--cores", "0", "--debug"]]
)
def test_debug_shows_where_an_error_arose(hearth: Command, words: list[str]) -> None:
    done = hearth(*words)
    assert done.returncode == 2
    assert "Traceback" in done.stderr
    assert says(done.stderr.splitlines()[-1], "hearth: --cores: 0 … 1")


@pytest.mark.parametrize(
    ("version", "script", "said"),
    [
        ("11.0.2", "exit 1", "is Java 11"),
        ("1.8.0_392", "exit 1", "is Java 8"),
        (None, "echo UnsupportedClassVersionError: 61.0 >&2; exit 1", "is too old"),
    ],
)
def test_a_java_that_is_too_old_is_named_with_the_package_to_install(
    hearth: Command, tmp_path: Path, version: str | None, script: str, said: str
) -> None:
    java = program(tmp_path / "bin" / "java", script)
    if version:
        (tmp_path / "release").write_text(f'IMPLEMENTOR="A"\nJAVA_VERSION="{version}"\n')
    environment = {"JAVA_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    done = hearth("topology", environment=environment)
    assert done.returncode == 2
    assert done.stderr.startswith(f"hearth: java: {java} {said}: install one of 17 or later")
    assert "apt-get install openjdk-17-jre-headless" in done.stderr


def test_a_missing_java_is_named_with_what_to_do(hearth: Command, tmp_path: Path) -> None:
    done = hearth("topology", environment={"JAVA_HOME": str(tmp_path)})
    assert done.returncode == 2
    assert done.stderr.startswith(
        f"hearth: java: none in JAVA_HOME ({tmp_path}): install one of 17 or"
    )


def test_a_reader_that_goes_away_ends_the_command_quietly(hearth: Command) -> None:
    installed = str(Path(sys.executable).with_name("hearth"))
    command = ["bash", "-c", f"{installed} topology | true; exit ${{PIPESTATUS[0]}}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode in (0, 141)


def test_an_error_keeps_its_exit_code_where_standard_error_is_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else it would be 1, which from `doctor` means advice."""

    class Full(io.StringIO):
        def write(self, _: str) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("sys.stderr", Full())
    assert main(["plan", "--no-such-option"]) == 2


def test_at_the_limit_of_processes_the_limit_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr("subprocess.Popen", refuse)
    assert main(["status", "--leases"]) == 2
    assert "java cannot be started: Resource temporarily" in capsys.readouterr().err
    monkeypatch.setattr("hearth.cli.main._run", refuse)
    assert main(["status"]) == 2
    assert "at the limit of processes (ulimit -u, pids.max" in capsys.readouterr().err


def test_at_the_limit_of_open_files_no_space_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), "/a/file")

    monkeypatch.setattr("hearth.cli.main._run", refuse)
    assert main(["status"]) == 2
    said = "'/a/file': Too many open files: raise the limit (ulimit -n, fs.file-max)\n"
    assert capsys.readouterr().err == f"hearth: {said}"


def test_where_nothing_can_be_written_a_directory_for_temporary_files_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/proc"])
    monkeypatch.setattr("hearth.cli.main._run", lambda words, answer: len(tempfile.gettempdir()))
    assert main(["doctor", "--machine", "x.tar"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("hearth: No usable temporary directory") and "and TMPDIR set" in said


@pytest.mark.parametrize("words", [("doctor", "--html"), ("topology", "--force", "--capture")])
def test_no_device_or_pipe_is_replaced_by_what_is_written(
    refused: Callable[..., str], tmp_path: Path, words: tuple[str, ...]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "'pipe' is not a regular file" in refused(*words, "pipe").replace(f"{tmp_path}/", "")
    with pytest.raises(UserError, match="'/dev/null' is not a regular file"):
        refuse_device(Path("/dev/null"), "--html")


_LOADED = """
import contextlib, io, sys
at_first = set(sys.modules)
from hearth.cli.main import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    assert main(sys.argv[1:]) == 0
tops = {name.partition(".")[0] for name in {*sys.modules} - at_first}
print(*sorted(name for name in tops if name not in sys.stdlib_module_names))
"""


@pytest.mark.command
@pytest.mark.parametrize(
    "words", [["--help"], ["submit", "--dry-run", "x.py"], ["plan"], ["topology"]]
)
def test_what_a_user_waits_for_loads_no_library(tmp_path: Path, words: list[str]) -> None:
    """numpy and scipy alone take a quarter of a second."""
    (tmp_path / "x.py").touch()
    python = [sys.executable, "-I", "-c", _LOADED, *words]
    kept = {name: os.environ[name] for name in ("PATH", "JAVA_HOME") if name in os.environ}
    own = {name: str(tmp_path) for name in ("HEARTH_STATE", "HOME")}
    environment = {**kept, **own, "XDG_CACHE_HOME": str(cache_home().parent)}
    done = subprocess.run(
        python, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["hearth"]
