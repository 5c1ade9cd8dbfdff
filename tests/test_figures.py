"""Every figure that the documents say was measured follows from raw results that are here.

The figures are found in the text, by pattern. Each has to lie in a sentence or table that
benchmarks/claims.py recomputes from its raw results, or in one of figures_not_measured.toml, which
has settings, limits, and what studies found.
"""

import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
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
    {"README.md", claims.BENCHMARKS, claims.TUNING}
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
    document: str
    title: str
    text: str


_REMEDY = (
    "recompute it in benchmarks/claims.py, or, where nothing was measured, add its sentence to "
    "tests/figures_not_measured.toml"
)


@cache
def sections(document: str) -> list[Section]:
    """Of a document, each with its text on one line, without blocks of code."""
    text = _FENCE.sub("", (ROOT / document).read_text(encoding="utf-8"))
    parts = re.split(r"^#+ (.*)$", text, flags=re.MULTILINE)
    titled = zip(parts[1::2], parts[2::2], strict=True)
    return [Section(document, title, one_line(body)) for title, body in titled]


def one_line(text: str) -> str:
    return " ".join(text.split())


def figures(text: str) -> Iterator[re.Match[str]]:
    """What looks measured in a text on one line."""
    for pattern in (_CODE, _VERSION):
        text = pattern.sub(lambda found: " " * len(found[0]), text)
    return FIGURE.finditer(text)


def spans(claim: claims.Claim, text: str) -> Iterator[tuple[int, int]]:
    """Where the figures of a claim stand in a text, wherever its sentence does."""
    parts = [re.escape(part) for part in one_line(claim.text).split("{}")]
    shown = [f"({re.escape(one_line(figure))})" for figure in claim.figures]
    pattern = parts[0] + "".join(f + part for f, part in zip(shown, parts[1:], strict=True))
    for found in re.finditer(pattern, text):
        yield from (found.span(number + 1) for number in range(len(shown)))


@cache
def all_claims() -> list[claims.Claim]:
    return list(claims.claims())


def name_of(claim: claims.Claim) -> str:
    return f"{claim.document}: {one_line(claim.told)[:60]}"


@pytest.mark.parametrize("claim", all_claims(), ids=name_of)
def test_what_is_claimed_stands_in_its_document_as_the_raw_results_have_it(
    claim: claims.Claim,
) -> None:
    found = [part for part in sections(claim.document) if any(spans(claim, part.text))]
    raw = ", ".join(claim.raw)
    assert found, f"{claim.document}: by {raw} it should read:\n\n{claim.told}"
    for part in found:
        assert "results/" in part.text or "benchmarks/README.md" in part.text, (
            f"{part.document}, '{part.title}': no link to the raw results of {claim.told!r}"
        )


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_figure_is_recomputed_from_raw_results_or_is_said_not_to_be_measured(
    document: str,
) -> None:
    unknown = [
        f"'{part.title}': {figure[0]} (... {part.text[max(0, figure.start() - 60) : figure.end()]})"
        for part in sections(document)
        for known in [list(known_spans(part))]
        for figure in figures(part.text)
        if not is_known(figure, known)
    ]
    assert not unknown, "\n".join([f"{document}: {_REMEDY}:", *unknown])


def known_spans(part: Section) -> Iterator[tuple[int, int]]:
    """Where a section has figures that are recomputed, and what is said not to be measured."""
    for claim in all_claims():
        if claim.document == part.document:
            yield from spans(claim, part.text)
    for phrase in NOT_MEASURED.get(part.document, ()):
        yield from (found.span() for found in re.finditer(re.escape(phrase), part.text))


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


def test_every_file_of_raw_results_is_named_in_the_benchmarks() -> None:
    text = (ROOT / claims.BENCHMARKS).read_text(encoding="utf-8")
    names = {file.stem for file in results.FOLDER.iterdir()}
    unnamed = {name for name in names if name not in text and f"`-{name[-4:]}`" not in text}
    assert not unnamed
    assert {name for claim in all_claims() for name in claim.raw} <= names


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
