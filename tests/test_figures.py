"""Every figure that the documents say was measured follows from raw results that are here.

benchmarks/claims.py makes the blocks of figures from the raw results. What looks measured outside
of a block has to lie in one of figures_not_measured.toml, which has settings, limits, and what
studies found.
"""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import claims
import pytest
import results

from support import ROOT

#: Generated from the code, which tests of their own hold them against.
GENERATED = (
    "docs/configuration.md",
    "docs/findings.md",
    "docs/studies.md",
)
#: What the tests cost, measured by hand: a guide for developers, no claim about hearth.
BY_HAND = ("docs/development.md",)
DOCUMENTS = sorted(
    {"README.md", *(f"benchmarks/{page.name}" for page in (ROOT / "benchmarks").glob("*.md"))}
    | {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")} - {*GENERATED, *BY_HAND}
)
_NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
_UNIT = r"(?:%|(?:times|(?:CPU )?(?:s|seconds?)|[mu]s|minutes?|(?:micro|milli)seconds|[MG]B/s)\b)"
_ENDS = rf" \[{_NUMBER}, {_NUMBER}\]| \({_NUMBER} to {_NUMBER}\)"
FIGURE = re.compile(
    rf"(?:{_NUMBER}(?:,? (?:to|or) |, ))*{_NUMBER} {_UNIT}"  # with a unit
    rf"|(?<![\w.]){_NUMBER}(?:{_ENDS})"  # with an interval or a range
    r"|(?<![\w.])\d+\.\d+(?!\w|\.\d)"  # a decimal, but no version such as 4.3.0
    rf"|(?<=\| ){_NUMBER}(?= \|)"  # alone in a table
)
#: What has numbers and is not measured: versions, and the confidence of intervals.
_VERSION = re.compile(
    r"\b(?:Spark|Scala|Java|OpenJDK|Python|pyspark|Hadoop|HDFS|jucx|libucx|UCX|numpy|Kubernetes|DuckDB|"
    r"License|TPC-H at(?: scale)?) \(?\d[\d.]*(?:(?:,| to| and|, and) \d[\d.]*)*"
    r"|\b95 % interval"
)
_CODE = re.compile(r"`[^`]*`|\]\([^)]*\)")
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


NOT_MEASURED: dict[str, list[str]] = tomllib.loads(
    (Path(__file__).parent / "figures_not_measured.toml").read_text(encoding="utf-8")
)


class Section(NamedTuple):
    title: str
    text: str


_REMEDY = (
    "put it into a block of benchmarks/claims.py, or, where nothing was measured, add its sentence "
    "to tests/figures_not_measured.toml"
)


def sections(document: str, *, with_blocks: bool = False) -> list[Section]:
    """Each heading with what stands below it outside of code, on one line."""
    text = _FENCE.sub("", (ROOT / document).read_text(encoding="utf-8"))
    text = claims.written(text) if with_blocks else claims.BLOCK.sub("", text)
    parts = re.split(r"^#+ (.*)$", text, flags=re.MULTILINE)
    titled = zip(parts[1::2], parts[2::2], strict=True)
    return [Section(title, claims.one_line(body)) for title, body in titled]


def figures(text: str) -> Iterator[re.Match[str]]:
    """What looks measured in a text on one line."""
    for pattern in (_CODE, _VERSION):
        text = pattern.sub(lambda match: " " * len(match[0]), text)
    return FIGURE.finditer(text)


@pytest.mark.parametrize("document", [each for each in DOCUMENTS if each != claims.FIGURES])
def test_the_blocks_of_a_document_are_as_the_raw_results_have_them(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    assert text == claims.written(text), "run .venv/bin/python benchmarks/claims.py"


def test_the_tables_of_the_page_of_figures_are_made_when_it_is_read() -> None:
    empty = (ROOT / claims.FIGURES).read_text(encoding="utf-8")
    assert not any(block[3] for block in claims.BLOCK.finditer(empty))
    assert all("|---|" in block[3] for block in claims.BLOCK.finditer(claims.written(empty)))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_figure_outside_of_a_block_is_said_not_to_be_measured(document: str) -> None:
    unknown = [
        f"'{part.title}': {figure[0]} (... {part.text[max(0, figure.start() - 60) : figure.end()]})"
        for part in sections(document)
        for known in [list(known_spans(document, part.text))]
        for figure in figures(part.text)
        if not is_known(figure, known)
    ]
    assert not unknown, "\n".join([f"{document}: {_REMEDY}:", *unknown])


def known_spans(document: str, text: str) -> Iterator[tuple[int, int]]:
    """Where a text has what is said not to be measured."""
    for phrase in NOT_MEASURED.get(document, ()):
        yield from (found.span() for found in re.finditer(re.escape(phrase), text))


def is_known(figure: re.Match[str], known: list[tuple[int, int]]) -> bool:
    """Whether each of its numbers lies within one of these places."""
    numbers = [
        (figure.start() + number.start(), figure.start() + number.end())
        for number in re.finditer(_NUMBER, figure[0])
    ]
    return all(any(start <= low and high <= end for start, end in known) for low, high in numbers)


def test_what_is_said_not_to_be_measured_stands_in_its_document() -> None:
    stale = [
        f"{document}: {phrase}"
        for document, phrases in NOT_MEASURED.items()
        for phrase in phrases
        if not any(phrase in part.text for part in sections(document))
    ]
    assert not stale


def test_every_block_is_in_one_document_and_every_file_of_raw_results_in_a_block() -> None:
    pages = [*claims.documents(), ROOT / claims.FIGURES]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert sorted(found[2] for found in claims.BLOCK.finditer(text)) == sorted(claims.BLOCKS)
    assert {file.stem for file in results.FOLDER.iterdir()} == {
        name for block in claims.BLOCKS.values() for name in block.raw
    }


#: A path in somebody's home or in a temporary directory; host names have no form to find them by.
_PLACE = re.compile(r"(?<![\w.~])/(?:root|home|Users|tmp|var/tmp|mnt|work|workspace)/")


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize("file", sorted(results.FOLDER.glob("*.jsonl")), ids=lambda file: file.stem)
def test_raw_results_hold_no_path_of_a_machine(file: Path) -> None:
    lines = file.read_text(encoding="utf-8").splitlines()
    assert not [text for line in lines for text in texts(json.loads(line)) if _PLACE.search(text)]
