"""The documentation as a static site, and the manual that is made from the commands' parsers."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support import ROOT

pytestmark = pytest.mark.command


def tool(name: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / name), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture(scope="module")
def built() -> Path:
    """The folder of the site."""
    done = tool("site.py")
    assert done.returncode == 0, done.stdout + done.stderr
    return Path(done.stdout.removeprefix("site: ").strip()).parent


def test_the_site_has_every_page_and_loads_nothing_from_the_network(built: Path) -> None:
    for page in (ROOT / "docs").glob("**/*.md"):
        name = "index" if page.name == "README.md" else page.stem
        assert (built / page.relative_to(ROOT).parent / f"{name}.html").is_file(), page.name
    start = (built / "index.html").read_text()
    assert not re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="https?://(?!example)', start)


def test_the_search_of_a_site_in_a_folder_finds_what_users_ask_first(
    built: Path, browser: Any
) -> None:
    page = browser.new_page()
    page.goto((built / "index.html").as_uri())
    for asked in ("could not parse master url local numa", "turn it off", "uninstall"):
        page.fill("input.md-search__input", asked)
        page.dispatch_event("input.md-search__input", "keyup")
        answer = f'a[href*="docs/answers.html"][href$="#{asked.replace(" ", "-")}"]'
        page.wait_for_selector(answer, state="attached")
    assert '"docs/decisions/' not in (built / "search" / "search_index.json").read_text()


def test_the_page_of_commands_has_the_order_of_the_help_and_no_backslash() -> None:
    page = tool("manual.py", "markdown").stdout
    assert re.findall(r"^## hearth (.*)$", page, re.MULTILINE)[:3] == ["submit", "plan", "status"]
    assert "\\" not in page


def test_the_manual_has_every_command_with_its_options_and_the_exit_codes() -> None:
    manual = tool("manual.py", "man").stdout
    assert ".SS hearth lab characterise" in manual
    assert "\\-\\-when\\-full" in manual
    assert ".SH EXIT STATUS\n.TP\n.B 0\ndone" in manual
    assert tool("manual.py", "html").returncode == 2
