"""JSON documents read from files: sound and of the shape that the reader counts on, or an error.

A file may be cut off, empty, a directory, another document, nested a million times deep, or hold
numbers that are none: what is read here is a value that no reader further on can stumble over. A
shape is a type: a TypedDict, `dict[str, X]`, `list[X]`, `X | Y`, `Literal`, `Annotated[X, check]`
(the check raises ValueError), str, int, float (any number), bool, None or Any.
"""

import json
import os
import stat
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from hearth.model.errors import UserError
from hearth.model.private import open_private

Document = dict[str, Any]
#: Deeper than any document of hearth's, and far from where Python's own recursion ends.
_DEEPEST = 100
_MOST_BYTES = 256 << 20
_LARGEST = 1 << 63
_SHOWN = 40
_WORDS = {
    str: "text", int: "a whole number", float: "a number", bool: "true or false",
    dict: "an object", list: "a list", type(None): "null",
}  # fmt: skip


def read_document(file: Path, shape: Any, remedy: str) -> Document:
    """The document of a file; raises UserError with the file's name, the reason and the remedy."""
    try:
        return load_document(file, shape)
    except (OSError, ValueError) as error:
        raise UserError(f"'{file}' cannot be read: {reason(error)}; {remedy}") from error


def load_document(file: Path, shape: Any) -> Document:
    """The document of a file; raises OSError or, for one that is damaged, ValueError."""
    document = parse(_bytes(file))
    check(document, shape)
    return dict(document)


def read_lines(file: Path, shape: Any) -> tuple[list[Document], int]:
    """The documents of a file of JSON lines, and how many of its lines are damaged.

    A last line without its end was cut short by a kill: it does not count. None of a missing file.
    Raises OSError.
    """
    if not os.path.lexists(file):
        return [], 0
    rows, damaged = [], 0
    for line in _bytes(file).split(b"\n")[:-1]:
        try:
            row = parse(line)
            check(row, shape)
            rows.append(row)
        except ValueError:
            damaged += 1
    return rows, damaged


def append_line(file: Path, document: Document) -> None:
    """Adds a line to a file that this process alone writes, and sees that it is on the disk.

    Raises OSError; of a line that did not fit nothing stays behind.
    """
    line = json.dumps(document).encode() + b"\n"
    with open(file, "ab", buffering=0, opener=open_private) as lines:
        end = lines.seek(0, os.SEEK_END)
        try:
            if lines.write(line) != len(line):
                raise OSError(28, "No space left on device", str(file))
            os.fsync(lines.fileno())
        except OSError:
            lines.truncate(end)
            raise


def reason(error: OSError | ValueError) -> str:
    """What is wrong, in a few words."""
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def parse(text: bytes | str) -> Any:
    """The value of a JSON text; raises ValueError, with the reason, for one that is not sound."""
    try:
        return _sound(json.loads(text), 0)
    except RecursionError:
        raise ValueError(f"it is nested over {_DEEPEST} deep") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"it is no UTF-8 text (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise ValueError(_not_json(error)) from None


def _not_json(error: json.JSONDecodeError) -> str:
    if not error.doc.strip():
        return "it is empty"
    cut = not error.doc[error.pos :].strip() or error.msg.startswith("Unterminated string")
    return "it is cut off" if cut else f"it is no JSON (line {error.lineno})"


def check(value: Any, shape: Any, place: str = "it") -> None:
    """Raises ValueError, naming the place, where a value is not of a shape."""
    if shape is Any:
        return
    origin, inner = get_origin(shape), get_args(shape)
    if is_typeddict(shape):
        _check_fields(value, shape, place)
    elif origin is Annotated:
        check(value, inner[0], place)
        _check_further(value, inner[1], place)
    elif origin in (Union, UnionType):
        _check_one_of(value, inner, place)
    elif origin is Literal:
        if value not in inner:
            raise ValueError(f"{place} is {_shown(value)}, none of {', '.join(map(str, inner))}")
    elif origin in (dict, list):
        _check_kind(value, origin, place)
        items = value.items() if origin is dict else enumerate(value)
        for name, item in items:
            check(item, inner[-1], _within(place, name))
    else:
        _check_kind(value, type(None) if shape is None else shape, place)


def _check_fields(value: Any, shape: Any, place: str) -> None:
    _check_kind(value, dict, place)
    for name, kind in _fields(shape).items():
        if name in value:
            check(value[name], kind, _within(place, name))
        elif name in shape.__required_keys__:
            raise ValueError(f"{_within(place, name)} is missing")


@cache
def _fields(shape: Any) -> dict[str, Any]:
    hints = get_type_hints(shape, include_extras=True)
    return {
        name: get_args(hint)[0] if get_origin(hint) is NotRequired else hint
        for name, hint in hints.items()
    }


def _check_one_of(value: Any, shapes: tuple[Any, ...], place: str) -> None:
    problems = []
    for shape in shapes:
        try:
            return check(value, shape, place)
        except ValueError as problem:
            problems.append(problem)
    raise problems[0]


def _check_further(value: Any, further: Callable[[Any], Any], place: str) -> None:
    try:
        further(value)
    except ValueError as problem:
        raise ValueError(f"{place} is {_shown(value)}: {problem}") from problem


def _check_kind(value: Any, kind: type, place: str) -> None:
    fits = isinstance(value, (int, float) if kind is float else kind)
    if not fits or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{place} is {_shown(value)}, not {_WORDS[kind]}")


def _within(place: str, name: object) -> str:
    return f"'{name}'" if place == "it" else f"{place[:-1]}.{name}'"


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return _WORDS[type(value)]
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _sound(value: Any, depth: int) -> Any:
    """The value, with texts that can be printed; raises ValueError for what no reader expects."""
    if isinstance(value, str):
        # A lone surrogate, as of a file name that is no UTF-8, can be printed nowhere.
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, int | float) and not -_LARGEST <= value < _LARGEST:  # nor is NaN
        raise ValueError(f"it holds the number {str(value)[:_SHOWN]}")
    if depth == _DEEPEST:
        raise ValueError(f"it is nested over {_DEEPEST} deep")
    if isinstance(value, list):
        return [_sound(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {_sound(name, 0): _sound(item, depth + 1) for name, item in value.items()}
    return value


def _bytes(file: Path) -> bytes:
    """What a file holds; a pipe is not waited for, nor is what no document holds read."""
    seen = file.stat()
    if not stat.S_ISREG(seen.st_mode):
        raise ValueError("it is no file")
    if seen.st_size > _MOST_BYTES:
        raise ValueError(f"its {seen.st_size >> 20} MB are more than hearth ever writes")
    return file.read_bytes()
