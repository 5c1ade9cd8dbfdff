"""hearth completion: the script of each shell, and what a real bash makes of a Tab."""

import contextlib
import os
import pty
import subprocess
from pathlib import Path

import pytest

from hearth.cli.commands import command_names
from hearth.cli.commands.completion import SHELLS
from support import Command, require


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_each_shell_names_every_command_and_option(
    hearth: Command, shell: str
) -> None:
    done = hearth("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    for word in [*" ".join(command_names()).split(), "workload", "when-full", "until-certain"]:
        assert word in done.stdout


def typed(folder: Path, script: str, keys: str) -> str:
    """What an interactive bash shows; there hearth is a function that prints its words."""
    (folder / "script").write_text(script)
    (folder / "start").write_text(
        f"PS1='> '; source {folder / 'script'}; hearth() {{ printf '<%s>' \"$@\"; echo; }}\n"
    )
    mine, terminal = pty.openpty()
    command = ["bash", "--noprofile", "--rcfile", str(folder / "start"), "-i"]
    environment = {**os.environ, "TERM": "dumb", "INPUTRC": "/dev/null"}
    environment["HEARTH_STATE"] = str(folder / "state")
    shell = subprocess.Popen(
        command, stdin=terminal, stdout=terminal, stderr=terminal, cwd=folder, env=environment,
        start_new_session=True,
    )  # fmt: skip
    os.close(terminal)
    os.write(mine, f"{keys}\nexit\n".encode())
    shown = b""
    with contextlib.suppress(OSError), os.fdopen(mine, "rb", buffering=0) as screen:
        while some := screen.read(4096):  # an error tells that the other side is closed
            shown += some
    shell.wait(20)
    return shown.decode(errors="replace")


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("hearth topo\t--mach\tbig\t", "<topology><--machine><big box.tar.gz>"),
        ("hearth plan --workl\tsq\t", "<plan><--workload><sql>"),
        ("hearth submit --when-f\tref\tbig\t", "<submit><--when-full><refuse><big box.tar.gz>"),
        ("hearth runs del\t", "<runs><delete>"),
        ("hearth lab study show baig-b\t", "<lab><study><show><baig-binding>"),
        ("hearth submit --driver-mem\t2g", "<submit><--driver-memory><2g>"),
        ("hearth report 2026\t", "<report><20261121-101500-shop-1a2b>"),
        ("hearth runs delete 2026\t", "<runs><delete><20261121-101500-shop-1a2b>"),
        ("hearth tune --resume 2025\t", "<tune><--resume><20250101-000000-old-77ff>"),
        ("hearth lab bench --resume 2027\t", "<lab><bench><--resume><20270101-000000-osu-11aa>"),
        ("hearth plan nothing-like-this\t", "<plan><nothing-like-this>"),
    ],
)
def test_a_tab_in_a_real_bash_completes_commands_options_values_and_files(
    hearth: Command, tmp_path: Path, keys: str, words: str
) -> None:
    if subprocess.run(["bash", "-c", "complete"], check=False).returncode:
        require("bash", "bash has no programmable completion here")
    (tmp_path / "big box.tar.gz").touch()
    (tmp_path / "state" / "records" / "20261121-101500-shop-1a2b").mkdir(parents=True)
    (tmp_path / "state" / "studies" / "tune" / "20250101-000000-old-77ff").mkdir(parents=True)
    (tmp_path / "state" / "studies" / "bench" / "20270101-000000-osu-11aa").mkdir(parents=True)
    shown = typed(tmp_path, hearth("completion", "bash").stdout, keys)
    assert words in shown, shown


def test_without_shtab_it_is_named_with_how_to_install_it(hearth: Command, tmp_path: Path) -> None:
    (tmp_path / "shtab.py").write_text("raise ModuleNotFoundError('no shtab', name='shtab')")
    done = hearth("completion", "bash", environment={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 2
    assert done.stderr == "hearth: shtab is not installed: pip install shtab\n"


@pytest.mark.parametrize("verb", ["compare", "lab characterise"])
def test_without_scipy_no_run_is_made_before_it_is_named(
    hearth: Command, tmp_path: Path, verb: str
) -> None:
    (tmp_path / "scipy.py").write_text("raise ModuleNotFoundError('no scipy', name='scipy')")
    (tmp_path / "job.py").write_text("raise SystemExit(1)")
    done = hearth(
        *verb.split(), str(tmp_path / "job.py"), environment={"PYTHONPATH": str(tmp_path)}
    )
    assert done.returncode == 2
    assert done.stderr == "hearth: scipy is not installed: pip install scipy\n"
