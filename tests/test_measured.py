"""Documents as dataclasses: what is read is what was written, and damage is named by its place."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hearth.base.absent import Absent, Measured, known
from hearth.base.codec import LEFT_OUT, load_measured, read_typed, to_json, typed
from hearth.base.errors import UserError


@dataclass(frozen=True)
class Part:
    name: str
    series: list[float | None]


@dataclass(frozen=True)
class Whole:
    parts: dict[str, Measured[Part]]
    share: Measured[float] | None
    rows: Measured[list[Part]]
    count: int = 1
    source: str | None = field(default=None, metadata=LEFT_OUT)
    more: dict[str, Any] = field(default_factory=dict)


WHOLE = {
    "parts": {"a": {"name": "x", "series": [1, None, 2.5]}, "b": {"absent": "no counter"}},
    "share": {"absent": "never sampled"},
    "rows": [{"name": "y", "series": []}],
    "count": 2,
    "other": [1],
}


def test_a_document_is_read_as_values_or_reasons_and_written_as_it_was() -> None:
    found = typed(WHOLE, Whole)
    assert found.parts == {"a": Part("x", [1, None, 2.5]), "b": Absent("no counter")}
    assert (found.share, found.rows) == (Absent("never sampled"), [Part("y", [])])
    assert found.more == {"other": [1]}
    assert to_json(found) == WHOLE
    assert typed({**WHOLE, "source": "perf", "share": 0.5}, Whole).source == "perf"
    assert known([0.5, Absent("x"), None, 1.0]) == [0.5, 1.0]


@dataclass(frozen=True)
class Span:
    from_: str
    to: str


def test_a_field_that_is_a_word_of_pythons_is_read_and_written_by_its_name_in_json() -> None:
    found = typed({"from": "a", "to": "b"}, Span)
    assert (found.from_, found.to) == ("a", "b")
    assert to_json(found) == {"from": "a", "to": "b"}
    with pytest.raises(ValueError, match="'from' is missing"):
        typed({"to": "b"}, Span)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"parts": {"a": {"name": 7, "series": []}}}, "'parts.a.name' is 7, not text"),
        ({"parts": {"a": {"name": "x"}}}, "'parts.a.series' is missing"),
        ({"share": {"absent": 7}}, "'share.absent' is 7, not text"),
        (
            {"rows": [{"name": "y", "series": [1, "z"]}]},
            """'rows.0.series.1' is "z", not a number""",
        ),
        ({"count": True}, "'count' is true, not a whole number"),
        ({"count": None}, "'count' is null, not a whole number"),
    ],
)
def test_what_is_wrong_with_a_document_is_said_with_its_place_and_value(
    tmp_path: Path, change: dict[str, Any], problem: str
) -> None:
    file = tmp_path / "whole.json"
    file.write_text(json.dumps({**WHOLE, **change}))
    with pytest.raises(UserError) as said:
        read_typed(file, Whole, "delete it")
    assert str(said.value) == f"'{file}' cannot be read: {problem}; delete it"


def test_a_file_may_hold_the_reason_why_it_holds_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"absent": "not read"}')
    assert load_measured(tmp_path / "a.json", Part) == Absent("not read")
