"""The documentation as a static site, and the manual that is made from the commands' parsers."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support import ROOT

pytestmark = pytest.mark.command


def tool(name: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / name), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_the_site_builds_without_a_broken_link_and_has_every_page() -> None:
    built = tool("site.py")
    assert built.returncode == 0, built.stdout + built.stderr
    site = Path(built.stdout.removeprefix("site: ").strip()).parent
    for page in (ROOT / "docs").glob("**/*.md"):
        name = "index" if page.name == "README.md" else page.stem
        assert (site / page.relative_to(ROOT).parent / f"{name}.html").is_file(), page.name
    start = (site / "index.html").read_text()
    assert not re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="https?://(?!example)', start)


def test_the_manual_has_every_command_with_its_options_and_the_exit_codes() -> None:
    manual = tool("manual.py", "man").stdout
    assert ".SS hearth characterise" in manual
    assert "\\-\\-when\\-full" in manual
    assert ".SH EXIT STATUS\n.TP\n.B 0\ndone" in manual
    assert tool("manual.py", "html").returncode == 2
