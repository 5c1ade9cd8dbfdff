"""Build the documentation as a static site in build/site.

Broken links and anchors, and pages that the navigation leaves out, end the build.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "build" / "site-pages"
#: Linked from docs/, and outside it. Each keeps its place, so that links work as in the checkout.
OUTSIDE = (
    "*.md", "LICENSE", "benchmarks/*.md", "numalab/README.md", "contract/*.json",
    "src/hearth/analysis/advice.py",
)  # fmt: skip
#: What a user of the search does not look for: why and when something was made, what was measured.
NOT_SEARCHED = ("docs/decisions/*.md", "benchmarks/*.md", "CHANGELOG.md")


def main() -> int:
    """Build the site, and return the exit code of mkdocs."""
    collect()
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    # Not --quiet: with it, --strict counts no warnings.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    done = subprocess.run(
        command, cwd=ROOT, env=quiet, check=False, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode == 0:
        print(f"site: {ROOT / 'build' / 'site' / 'index.html'}")
    else:
        print(done.stdout, end="", file=sys.stderr)
    return done.returncode


def collect() -> None:
    """Copy the pages into a folder of their own, as mkdocs wants it, and add the generated ones."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES / "docs")
    for file in (file for pattern in OUTSIDE for file in ROOT.glob(pattern)):
        target = PAGES / file.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    for page, program, word in (
        ("docs/commands.md", "tools/manual.py", "markdown"),
        ("benchmarks/figures.md", "benchmarks/claims.py", "figures"),
    ):
        words = [sys.executable, str(ROOT / program), word]
        text = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
        (PAGES / page).write_bytes(text)
    for page in (page for pattern in NOT_SEARCHED for page in PAGES.glob(pattern)):
        page.write_text(f"---\nsearch:\n  exclude: true\n---\n{page.read_text()}")
    shutil.copyfile(ROOT / "tools" / "iframe-worker.js", PAGES / "iframe-worker.js")


if __name__ == "__main__":
    sys.exit(main())
