"""Damage to files, from a seed: cut, flipped, nested, huge, of the wrong kind.

A `Random` in, damaged bytes out; so what a test found once it finds again.
"""

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

_MARK = "here stands what is no JSON of Python's"
#: What may stand where something else was wanted, as JSON text: numbers that are none, too.
WRONG = (
    "null", "true", "-1", "0", "9223372036854775808", "1" + "0" * 400, "1e308", "1e999", "NaN",
    "-Infinity", '""', '"x"', '"0-99999999999"', '"1e400"', '"\\ud800"', '"' + "y" * 5000 + '"',
    "[]", "{}", "[[[]]]", '{"absent": 1}', "[" * 3000 + "]" * 3000, '[{"id": "x"}]', "-0.5",
    '{"a": ' * 3000 + "1" + "}" * 3000,
)  # fmt: skip
WHOLE = (
    b"", b" ", b"{}", b"[]", b"null", b"7", b'"text"', b"[" * 100_000, b'{"a":' * 100_000,
    b"\xff\xfe\x00", b"\x00" * 5000, b"1" * 5000, b'{"schema": "hearth/other/1"}', b"\n\n\n",
)  # fmt: skip


def of_bytes(whole: bytes, draw: random.Random) -> bytes:
    """Some bytes of a file are lost, turned, doubled or another file's."""
    at = draw.randrange(len(whole) + 1)
    length = draw.choice((1, 8, 200, 5000))
    kind = draw.randrange(5)
    if kind == 0:
        return whole[:at]
    if kind == 1:
        flipped = bytearray(whole)
        for _ in range(draw.choice((1, 10, 200))):
            flipped[draw.randrange(len(flipped))] ^= 1 << draw.randrange(8)
        return bytes(flipped)
    if kind == 2:
        return whole[:at] + whole[at + length :]
    if kind == 3:
        return whole[:at] + draw.randbytes(length) + whole[at:]
    return whole[:at] + whole[max(at - length, 0) :]


def of_document(document: Any, draw: random.Random) -> str:
    """The JSON text of a document in which one value is of another kind, or gone."""
    copy = json.loads(json.dumps(document))
    holder, name = draw.choice(list(_places(copy)))
    if isinstance(holder, dict) and draw.random() < 0.1:
        del holder[name]
        return json.dumps(copy)
    holder[name] = _MARK
    return json.dumps(copy, separators=(",", ":")).replace(f'"{_MARK}"', draw.choice(WRONG))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    items: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    for name, inner in items:
        yield value, name
        yield from _places(inner)


def of_json(whole: bytes, draw: random.Random) -> bytes:
    """Damage to a file of one JSON document."""
    kind = draw.random()
    if kind < 0.15:
        return draw.choice(WHOLE)
    return of_bytes(whole, draw) if kind < 0.4 else of_document(json.loads(whole), draw).encode()


def of_lines(whole: bytes, draw: random.Random) -> bytes:
    """Damage to a file of JSON lines: of some of its lines, or of its bytes."""
    kind = draw.random()
    if kind < 0.1:
        return draw.choice(WHOLE)
    if kind < 0.3:
        return of_bytes(whole, draw)
    lines = whole.splitlines()
    for number in draw.sample(range(len(lines)), min(len(lines), draw.choice((1, 3, 20)))):
        lines[number] = of_document(json.loads(lines[number]), draw).encode()
    return b"\n".join(lines) + b"\n"


def of_text(whole: bytes, draw: random.Random) -> bytes:
    """Damage to a log: of its bytes, or numbers that are too long."""
    if draw.random() < 0.1:
        return draw.choice(WHOLE)
    if draw.random() < 0.5:
        return of_bytes(whole, draw)
    digits = [place for place, byte in enumerate(whole) if chr(byte).isdigit()]
    at = draw.choice(digits)
    return whole[:at] + draw.choice((b"9" * 30, b"9" * 5000, b"-", b"x")) + whole[at:]


Damage = Callable[[bytes, random.Random], bytes]
