"""Every command line that the documents show is one that the real parsers take."""

import ast
import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.base.durations import parse_seconds
from hearth.cli import main
from hearth.cli.commands import command_names, split_command
from hearth.cli.main import command_parser
from hearth.cli.options import read_line
from hearth.spark.profiling import OVER_LIMIT
from support import LINE, ROOT, Command

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("**/*.md")])
_BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
_FENCED = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_OTHERS = ("export", "python", "pip", "rm", "mvn", "source", "hdfs", "beeline")
_OTHERS += ("spark-class",)
_SPARK = ("spark-submit", "spark-shell", "spark-sql", "pyspark")


def shown_commands() -> Iterator[tuple[str, str]]:
    """Every command line in a `sh` block, with the name of its document."""
    for document in DOCUMENTS:
        for block in _BLOCK.findall(document.read_text()):
            for line in block.replace("\\\n", " ").splitlines():
                if line.strip() and not line.startswith("#"):
                    yield document.name, line


def help_examples() -> Iterator[tuple[str, str]]:
    """Every example in the help of a command."""
    for name in command_names():
        module, _ = command_parser(name)
        for line in (module.__doc__ or "").partition("examples:")[2].strip().splitlines():
            yield f"{name} --help", line.strip()


@pytest.mark.parametrize(("document", "line"), [*shown_commands(), *help_examples()])
def test_a_command_line_that_is_shown_can_be_typed(document: str, line: str) -> None:
    words = shlex.split(line, comments=True)
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        words.pop(0)
    program, rest = Path(words[0]).name, words[1:]
    if program == "hearth":
        name, rest = split_command(rest)
        module, parser = command_parser(name)
        parse = getattr(module, "parse", lambda parser, rest: parser.parse_args(rest))
        parse(parser, rest)
        for option, value in itertools.pairwise(rest):
            if option in ("--drain", "--wait"):
                parse_seconds(value, option)
    elif program == "make":
        assert re.search(rf"^{rest[0]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    elif program in _SPARK:
        assert (
            read_line([word for word in rest if word not in ("-e", "-f")]).planning.to_words() == []
        )
    elif program == "start-history-server.sh":
        assert rest == []
    elif program in ("start-connect-server.sh", "start-thriftserver.sh"):
        assert read_line(rest).planning.to_words() == []
    else:
        assert program in _OTHERS, line


def test_the_readme_shows_the_output_that_the_command_has(hearth: Command) -> None:
    text = (ROOT / "README.md").read_text()
    (shown,) = re.findall(
        r"^```console\n\$ hearth (.*)\n((?:.*\n)*?)\.\.\.\n```", text, re.MULTILINE
    )
    actual = hearth(*shlex.split(shown[0])).stdout.splitlines()
    expected = shown[1].splitlines()
    assert actual[: len(expected)] == expected


def test_a_page_and_a_heading_that_a_document_links_to_exist() -> None:
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(((?!http)[^)\s]+)\)", document.read_text()):
            page, _, heading = target.partition("#")
            file = document.parent / page if page else document
            assert file.exists(), f"{document.name} links to {target}"
            assert not heading or heading in headings(file), f"{document.name} links to {target}"


def headings(page: Path) -> set[str]:
    """The anchors of a page, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


#: Code in a line, and what looks like a file of this repository in it.
_CODE = re.compile(r"`([^`]+)`")
_FILE = re.compile(r"(?:[\w.*-]+/)+[\w.*-]+\.(?:py|scala|java|sh|json|toml|md)")
#: What looks so and is a user's, or Spark's.
_OTHERS_FILES = ("job/main.py", "sbin/start-shuffle-service.sh")


def test_a_file_of_this_repository_that_a_document_names_exists() -> None:
    """The list of changes may name what is gone."""
    roots = [ROOT, ROOT / "src" / "hearth", *ROOT.glob("jvm/*/src/main/*/io/hearth")]
    gone = [
        f"{document.name} names {word}"
        for document in DOCUMENTS
        if document.name != "CHANGELOG.md"
        for code in _CODE.findall(_FENCED.sub("", document.read_text()))
        for word in code.split()
        if _FILE.fullmatch(word) and word not in _OTHERS_FILES
        if not any(any(root.glob(word)) for root in roots)
    ]
    assert not gone, "\n".join(gone)


def test_the_index_of_the_documentation_names_every_page() -> None:
    assert "(docs/README.md)" in (ROOT / "README.md").read_text()
    for folder in (ROOT / "docs", ROOT / "docs" / "decisions"):
        index = (folder / "README.md").read_text()
        pages = {page.name for page in folder.glob("*.md")} - {"README.md"}
        assert pages == set(re.findall(r"\]\(([^/)]+\.md)\)", index))


def test_the_exit_codes_in_the_docs_are_those_that_the_commands_return() -> None:
    table = (ROOT / "docs" / "files.md").read_text().partition("## Exit codes")[2]
    rows = re.findall(r"^\| (\d+|any) \| (.*) \|$", table, re.MULTILINE)
    general = {0, main._USAGE_ERROR, main._INTERNAL, main._INTERRUPTED, main._BROKEN_PIPE}
    general.add(OVER_LIMIT)
    assert {int(code) for code, _ in rows if code != "any"} == {*general, 1}
    named = {
        name for code, text in rows if code == "1" for name in re.findall(r"`(?:lab )?(\w+)`", text)
    }
    ending = {name.split()[-1] for name in command_names() if 1 in set(_returned(name))}
    assert named - {"delete"} == ending


def _returned(name: str) -> Iterator[object]:
    """The constants in what the functions of a command return that give an exit code."""
    tree = ast.parse(
        (ROOT / "src" / "hearth" / "cli" / "commands" / f"{name.replace(' ', '/')}.py").read_text()
    )
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and getattr(function.returns, "id", "") == "int":
            for each in ast.walk(function):
                if isinstance(each, ast.Return) and each.value is not None:
                    value = each.value
                    ends = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
                    yield from (end.value for end in ends if isinstance(end, ast.Constant))


#: A document with a table that a program writes, as wide as its commands.
_PRINTED = ("benchmarks/README.md",)


def test_no_line_of_a_document_is_too_long() -> None:
    pages = [*DOCUMENTS, *(ROOT / "benchmarks").glob("*.md"), *(ROOT / "numalab").glob("*.md")]
    long = [
        f"{name}:{number}: {len(line)} characters"
        for name, page in ((str(page.relative_to(ROOT)), page) for page in pages)
        for number, line in enumerate(page.read_text().splitlines(), 1)
        if len(line) > LINE and not (name in _PRINTED and line.startswith("|"))
    ]
    assert not long, "\n".join(long)


def read_by_people() -> list[Path]:
    """Documents, and the sources of help, messages and reasons."""
    code = [*(ROOT / "src").rglob("*.py"), *(ROOT / "jvm").glob("*/src/main/**/*.scala")]
    return [*DOCUMENTS, *(ROOT / "contract").rglob("*.json"), *code]


#: A requirement on `hearth` itself, which on the package index is another project.
_ANOTHER_PROJECT = re.compile(
    r"(?<![\w.-])hearth\s*\[[a-z]+[\],]"
    r"|\bpip3? (?:install|download)\b[^\n`]*(?<![\w./-])hearth(?![\w./-])"
)


def test_no_text_tells_anyone_to_install_another_project_of_the_name() -> None:
    texts = [*read_by_people(), *(ROOT / "tools").glob("*.sh"), *(ROOT / "examples").glob("*")]
    texts += [ROOT / "pyproject.toml", ROOT / "Makefile"]
    wrong = [
        f"{file.relative_to(ROOT)}: {words[0]}"
        for file in texts
        if file.is_file()
        for words in _ANOTHER_PROJECT.finditer(file.read_text())
    ]
    assert not wrong, "\n".join(wrong)
    for bad in ("pip install hearth", "pip install -U 'hearth[report]'", "hearth[report,export]"):
        assert _ANOTHER_PROJECT.search(bad), bad
    assert not _ANOTHER_PROJECT.search(
        "pip install 'hearth-spark[connect]' dist/hearth_spark-0.1.whl"
    )
