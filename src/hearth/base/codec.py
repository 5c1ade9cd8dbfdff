"""JSON documents read from files: sound and of the expected shape, or an error.

A file may be cut off, empty, a directory, another document, nested a million times deep, or hold
invalid numbers: no later reader can stumble over a value read here.

A shape is a type: a dataclass, a TypedDict, a NamedTuple (a list in JSON), `dict[str, X]`,
`list[X]`, `tuple[X, ...]`, `X | Y`, `Measured[X]`, `Literal`, `Annotated[X, check]` (the check
raises ValueError; `Limits` are for the schema, unchecked), str, int, float (any number), bool, None
or Any. An object of JSON may hold more than its shape names; a dataclass keeps that in its field
`more`, where it has one. A field whose name in JSON is a word of Python's ends in an underscore:
`from_`.
"""

import json
import keyword
import os
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from hearth.base.absent import Absent, Measured
from hearth.base.errors import UserError
from hearth.base.private_files import open_private
from hearth.base.regular_files import open_regular

T = TypeVar("T")
#: Deeper than any document of hearth's, and far from where Python's own recursion ends.
_DEEPEST = 100
_MOST_BYTES = 256 << 20
_LARGEST = 1 << 63
#: Characters of a value, or of a name, that an error quotes; of the words of another check.
_SHOWN = 40
_REASON = 200
_WORDS = {
    str: "text", int: "a whole number", float: "a number", bool: "true or false",
    dict: "an object", list: "a list", type(None): "null",
}  # fmt: skip
_SCALARS = frozenset({str, int, float, bool, type(None)})
#: The field of a dataclass that takes what its other fields do not name.
_MORE = "more"
#: The metadata of a dataclass's field that stands in the JSON object only where it is not None.
LEFT_OUT = {"left out": True}


def read_document(file: Path, shape: Any, remedy: str) -> dict[str, Any]:
    """Return the document of a file.

    Raise UserError with the file's name, the reason and the remedy.
    """
    try:
        return load_document(file, shape)
    except (OSError, ValueError) as error:
        raise UserError(f"'{file}' cannot be read: {reason(error)}; {remedy}") from error


def load_document(file: Path, shape: Any) -> dict[str, Any]:
    """Return the document of a file; raise OSError or, for a damaged one, ValueError."""
    document = parse(_bytes(file))
    check(document, shape)
    return dict(document)


def read_typed(file: Path, kind: type[T], remedy: str) -> T:
    """Read a document as `read_document` does, into the dataclass that describes it."""
    try:
        return load_typed(file, kind)
    except (OSError, ValueError) as error:
        raise UserError(f"'{file}' cannot be read: {reason(error)}; {remedy}") from error


def load_typed(file: Path, kind: type[T]) -> T:
    """Load a document as `load_document` does, into the dataclass that describes it."""
    return typed(parse(_bytes(file)), kind)


def load_measured(file: Path, kind: type[T]) -> Measured[T]:
    """Load a document as `load_typed` does; the file may hold `{"absent": reason}` instead."""
    return cast(Measured[T], _typed(parse(_bytes(file)), kind | Absent, "it"))


def read_typed_lines(file: Path, kind: type[T]) -> tuple[list[T], int]:
    """Return the documents of a file of JSON lines, and how many of its lines are damaged.

    A last line without its end was cut short by a kill and is ignored. A missing file has none.
    Raises OSError.
    """
    rows, damaged = [], 0
    for line in raw_lines(file):
        try:
            rows.append(typed(parse(line), kind))
        except ValueError:
            damaged += 1
    return rows, damaged


def raw_lines(file: Path) -> list[bytes]:
    """Return the whole lines of a file, without what a kill cut short; none of a missing file.

    Raises OSError, and ValueError for what is not a file of hearth's.
    """
    return _bytes(file).split(b"\n")[:-1] if os.path.lexists(file) else []


def append_line(file: Path, document: dict[str, Any]) -> None:
    """Append a line to a file that only this process writes, and force it to disk.

    Raises OSError; nothing remains of a line that did not fit.
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
    """Return what is wrong, briefly."""
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def parse(text: bytes | str) -> Any:
    """Return the value of a JSON text; raise ValueError, with the reason, for an unsound one."""
    try:
        return _sound(json.loads(text), 0)
    except RecursionError:
        raise ValueError(f"it is nested over {_DEEPEST} deep") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 text (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise ValueError(_not_json(error)) from None


def _not_json(error: json.JSONDecodeError) -> str:
    if not error.doc.strip():
        return "it is empty"
    cut = not error.doc[error.pos :].strip() or error.msg.startswith("Unterminated string")
    return "it is cut off" if cut else f"it is not JSON (line {error.lineno})"


def check(value: Any, shape: Any, path: str = "it") -> None:
    """Raise ValueError, naming the place, where a value is not of a shape."""
    _typed(value, shape, path)


def typed(value: Any, kind: type[T]) -> T:
    """Return a JSON value as a dataclass.

    Raise ValueError, naming the place, where it does not fit.
    """
    return cast(T, _typed(value, kind, "it"))


def to_json(value: Any) -> Any:
    """Return dataclasses, and their contents, as JSON values; `typed` reads them again."""
    if isinstance(value, Absent):
        return {"absent": value.reason}
    if isinstance(value, dict):
        return {name: to_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):  # a long column holds numbers or texts alone
        flat = isinstance(value, list) and _SCALARS.issuperset(map(type, value))
        return value if flat else [to_json(item) for item in value]
    if not is_dataclass(value):
        return value
    document = {}
    for each in fields(value):
        item = getattr(value, each.name)
        if each.name == _MORE:
            document.update(item)
        elif item is not None or each.metadata != LEFT_OUT:
            document[in_json(each.name)] = to_json(item)
    return document


def _typed(value: Any, shape: Any, path: str) -> Any:
    """Return the value, with dataclasses in place of objects where the shape says so."""
    if shape is Any:
        return value
    origin, inner = get_origin(shape), get_args(shape)
    if shape is Absent:
        _check_kind(value, dict, path)
        return Absent(_field(value, "absent", str, path))
    if is_dataclass(shape):
        return _object(value, shape, path)
    if _is_row(shape):
        return _row(value, shape, path)
    if is_typeddict(shape):
        return _typed_dict(value, shape, path)
    if origin is Annotated:
        read = _typed(value, inner[0], path)
        for further in filter(callable, inner[1:]):
            _check_further(value, further, path)
        return read
    if origin in (Union, UnionType):
        return _one_of(value, inner, path)
    if origin is Literal:
        if value not in inner:
            raise ValueError(f"{path} is {_shown(value)}, not one of {', '.join(map(str, inner))}")
        return value
    if origin is tuple:
        return tuple(_items(value, list, inner[0], path))
    if origin in (dict, list):
        return _items(value, origin, inner[-1], path)
    _check_kind(value, type(None) if shape is None else shape, path)
    return value


def _items(value: Any, kind: type, inner: Any, path: str) -> Any:
    _check_kind(value, kind, path)
    if kind is dict:
        return {name: _typed(item, inner, _within(path, name)) for name, item in value.items()}
    if _plain_types(inner).issuperset(map(type, value)):  # quick, for long columns
        return value
    return [_typed(item, inner, _within(path, at)) for at, item in enumerate(value)]


def _is_row(shape: Any) -> bool:
    return isinstance(shape, type) and issubclass(shape, tuple)


def _row(value: Any, kind: Any, path: str) -> Any:
    """Return a named tuple, which is a list in JSON."""
    _check_kind(value, list, path)
    shapes = _fields(kind)
    if len(value) != len(shapes):
        raise ValueError(f"{path} is a list of {len(value)}, not of {', '.join(shapes)}")
    pairs = zip(shapes.items(), value, strict=True)
    return kind(*(_typed(item, shape, _within(path, name)) for (name, shape), item in pairs))


def _object(value: Any, kind: Any, path: str) -> Any:
    _check_kind(value, dict, path)
    given = {}
    for member, name, shape, plain, required in _members(kind):
        if name in value:
            item = value[name]
            quick = type(item) in plain
            given[member] = item if quick else _typed(item, shape, _within(path, name))
        elif required:
            raise ValueError(f"{_within(path, name)} is missing")
    if _MORE in _fields(kind):
        given[_MORE] = {name: item for name, item in value.items() if name not in _fields(kind)}
    return kind(**given)


@cache
def in_json(member: str) -> str:
    """Return the name of a field in JSON."""
    plain = member.removesuffix("_")
    return plain if keyword.iskeyword(plain) else member


@cache
def _members(kind: Any) -> list[tuple[str, str, Any, frozenset[type], bool]]:
    """Return each field's name, JSON name, shape, types that need no further check, and whether it
    is required."""
    return [
        (
            each.name,
            in_json(each.name),
            _fields(kind)[each.name],
            _plain_types(_fields(kind)[each.name]),
            each.default is MISSING and each.default_factory is MISSING,
        )
        for each in fields(kind)
        if each.name != _MORE
    ]


@cache
def _plain_types(shape: Any) -> frozenset[type]:
    """Return the types of which a value of a shape may be without a further look."""
    if get_origin(shape) in (Union, UnionType):
        return frozenset().union(*map(_plain_types, get_args(shape)))
    if get_origin(shape) is Annotated and not any(map(callable, shape.__metadata__)):
        return _plain_types(shape.__origin__)
    if shape is float:
        return frozenset({int, float})
    return frozenset({shape} & _SCALARS)


def _field(value: Any, name: str, shape: Any, path: str) -> Any:
    if name not in value:
        raise ValueError(f"{_within(path, name)} is missing")
    return _typed(value[name], shape, _within(path, name))


def _typed_dict(value: Any, shape: Any, path: str) -> Any:
    _check_kind(value, dict, path)
    read = dict(value)
    for name, kind in _fields(shape).items():
        if name in value or name in shape.__required_keys__:
            read[name] = _field(value, name, kind, path)
    return read


@cache
def _fields(shape: Any) -> dict[str, Any]:
    hints = get_type_hints(shape, include_extras=True)
    return {
        name: get_args(hint)[0] if get_origin(hint) is NotRequired else hint
        for name, hint in hints.items()
    }


def _one_of(value: Any, shapes: tuple[Any, ...], path: str) -> Any:
    if Absent in shapes and isinstance(value, dict) and value.keys() == {"absent"}:
        return _typed(value, Absent, path)
    problems = []
    for shape in shapes:
        try:
            return _typed(value, shape, path)
        except ValueError as problem:
            problems.append(problem)
    raise problems[0]


def _check_further(value: Any, further: Callable[[Any], Any], path: str) -> None:
    try:
        further(value)
    except ValueError as problem:
        raise ValueError(f"{path} is {_shown(value)}: {_cut(str(problem), _REASON)}") from problem


def _check_kind(value: Any, kind: type, path: str) -> None:
    fits = isinstance(value, (int, float) if kind is float else kind)
    if not fits or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{path} is {_shown(value)}, not {_WORDS[kind]}")


def _within(path: str, name: object) -> str:
    short = _cut(str(name), _SHOWN)
    return f"'{short}'" if path == "it" else f"{_cut(path[:-1], _REASON)}.{short}'"


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return _WORDS[type(value)]
    return _cut(json.dumps(value), _SHOWN)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}..."


def _sound(value: Any, depth: int) -> Any:
    """Return the value, with texts that can be printed.

    Raise ValueError for what no reader expects.
    """
    if isinstance(value, str):
        # A lone surrogate, from a file name that is not UTF-8, cannot be printed.
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
    """Return the content of a regular file of a plausible size; never waits for a pipe."""
    with open_regular(file) as opened:
        size = os.fstat(opened.fileno()).st_size
        if size > _MOST_BYTES:
            raise ValueError(f"its {size >> 20} MB exceed what hearth ever writes")
        return opened.read()
