"""JSON Schemas of the documents that dataclasses, TypedDicts and NamedTuples describe.

No library's, because a schema must say what `hearth.base.codec` reads and writes: a field `more`,
`LEFT_OUT`, `Absent`, `from_`, named tuples as lists. pydantic and mashumaro describe what they
would write; msgspec refuses a union of dataclasses, such as `Measured[Machine]`.

A class's docstring and the comments `#:` of its fields, on the line or above it, are the
descriptions; `hearth.base.limits` are the limits.
"""

import inspect
import json
import tokenize
from collections.abc import Iterator
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from io import StringIO
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

from hearth.base.absent import Absent
from hearth.base.codec import LEFT_OUT, in_json
from hearth.base.limits import Limits

Schema = dict[str, Any]
_SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def schema_of(name: str, kind: Any) -> Schema:
    """Return the schema of a document that a class describes."""
    definitions: dict[str, Schema] = {}
    kinds = _kinds(kind)
    description = " Or: ".join(map(_docstring, kinds)).partition("\n\n")[2]
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://hearth.io/contract/{name}.schema.json",
        "title": title(kind),
        **({"description": description} if description else {}),
    }
    inner = _schema(kind, definitions) if kinds[1:] else _object(kind, definitions)
    return {**head, **inner, "$defs": dict(sorted(definitions.items()))}


def title(kind: Any) -> str:
    """Return what the first paragraph of a document's class says, without its full stop."""
    text = " Or: ".join(map(_docstring, _kinds(kind)))
    return text.partition("\n\n")[0].removesuffix(".")


def _kinds(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) is UnionType else (kind,)


def written(schema: Schema) -> str:
    """Return the text of a schema's file."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _schema(shape: Any, definitions: dict[str, Schema]) -> Schema:
    origin, inner = get_origin(shape), get_args(shape)
    if shape is Any:
        return {}
    if shape in _SCALARS:
        return {"type": _SCALARS[shape]}
    if origin is Annotated:
        limits = [_keywords(part) for part in inner[1:] if isinstance(part, Limits)]
        return {**_schema(inner[0], definitions), **(limits[0] if limits else {})}
    if origin in (Union, UnionType):
        return _any_of([_schema(part, definitions) for part in inner])
    if origin is Literal:
        return {"const": inner[0]} if len(inner) == 1 else {"enum": list(inner)}
    if origin in (list, tuple) and inner[1:] in ((), (...,)):
        return _with({"type": "array"}, "items", _schema(inner[0], definitions))
    if origin is dict:
        keys = _with({"type": "object"}, "propertyNames", _key_limits(inner[0]))
        return _with(keys, "additionalProperties", _schema(inner[1], definitions))
    return _named(shape, definitions)


def _any_of(parts: list[Schema]) -> Schema:
    """Either of several; `null` is joined to a type, and to an `enum`."""
    *others, last = parts
    if len(others) == 1 and last == {"type": "null"}:
        (first,) = others
        if "enum" in first:
            return {**first, "enum": [*first["enum"], None]}
        if isinstance(first.get("type"), str):
            return {**first, "type": [first["type"], "null"]}
    if all(part.keys() == {"type"} for part in parts):
        return {"type": [part["type"] for part in parts]}
    return {"anyOf": parts}


def _named(kind: Any, definitions: dict[str, Schema]) -> Schema:
    """Return a reference to the definition of a class."""
    name = kind.__name__
    if name not in definitions:
        definitions[name] = {}  # ends a recursion
        definitions[name] = _definition(kind, definitions)
    elif definitions[name].get("description", _docstring(kind)) != _docstring(kind):
        raise ValueError(f"two classes of one document are called {name}")
    return {"$ref": f"#/$defs/{name}"}


def _definition(kind: Any, definitions: dict[str, Schema]) -> Schema:
    head = {"description": _docstring(kind)}
    if kind is Absent:
        return head | _members([("absent", {"type": "string", "minLength": 1}, True)], closed=True)
    if isinstance(kind, type) and issubclass(kind, tuple):
        return head | _row(kind, definitions)
    return head | _object(kind, definitions)


def _row(kind: Any, definitions: dict[str, Schema]) -> Schema:
    hints = get_type_hints(kind, include_extras=True)
    columns = [
        {"title": name, **_schema(hint, definitions), **_described(kind, name)}
        for name, hint in hints.items()
    ]
    length = len(columns)
    return {"type": "array", "prefixItems": columns, "minItems": length, "maxItems": length}


def _object(kind: Any, definitions: dict[str, Schema]) -> Schema:
    members = [
        (in_json(name), {**_schema(hint, definitions), **_described(kind, name)}, required)
        for name, hint, required in _fields(kind)
    ]
    return _members(members, closed=not is_typeddict(kind) and not _is_open(kind))


def _members(members: list[tuple[str, Schema, bool]], closed: bool) -> Schema:
    required = [name for name, _, needed in members if needed]
    return {
        "type": "object",
        **({"additionalProperties": False} if closed else {}),
        **({"required": required} if required else {}),
        "properties": {name: schema for name, schema, _ in members},
    }


def _fields(kind: Any) -> Iterator[tuple[str, Any, bool]]:
    """Of each field: name, type, and whether the document always holds it."""
    hints = get_type_hints(kind, include_extras=True)
    if is_typeddict(kind):
        for name, hint in hints.items():
            optional = get_origin(hint) is NotRequired
            yield name, get_args(hint)[0] if optional else hint, name in kind.__required_keys__
        return
    if not is_dataclass(kind):
        raise TypeError(f"{kind} is not a type of a document")
    for each in fields(kind):
        if each.name != "more":
            left_out = each.metadata == LEFT_OUT and each.name != "schema"
            hint = hints[each.name]
            yield each.name, _without_none(hint) if left_out else hint, not left_out


def _without_none(hint: Any) -> Any:
    if get_origin(hint) not in (Union, UnionType):
        return hint
    return Union[tuple(part for part in get_args(hint) if part is not type(None))]  # noqa: UP007


def _is_open(kind: Any) -> bool:
    return any(each.name == "more" for each in fields(kind))


def _with(schema: Schema, keyword: str, inner: Schema) -> Schema:
    return {**schema, keyword: inner} if inner else schema


def _key_limits(key: Any) -> Schema:
    return {name: value for name, value in _schema(key, {}).items() if name != "type"}


def _keywords(limits: Limits) -> Schema:
    given = {name: value for name, value in asdict(limits).items() if value is not None}
    lists = {name: [*v] if isinstance(v, tuple) else v for name, v in given.items()}
    return {_camel(name): value for name, value in lists.items()}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


def _docstring(kind: Any) -> str:
    paragraphs = inspect.cleandoc(kind.__doc__ or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _described(kind: Any, name: str) -> Schema:
    texts = [comments(each)[name] for each in _classes(kind) if name in comments(each)]
    return {"description": texts[0]} if texts else {}


def _classes(kind: Any) -> list[Any]:
    bases = getattr(kind, "__orig_bases__", ())
    typed_dicts = [base for base in bases if is_typeddict(base)]
    return [kind, *typed_dicts] if is_typeddict(kind) else [k for k in kind.__mro__ if _is_ours(k)]


def _is_ours(kind: Any) -> bool:
    return str(kind.__module__).startswith("hearth")


@cache
def comments(kind: Any) -> dict[str, str]:
    """Return the comment `#:` of each field of a class."""
    lines_of: dict[str, list[str]] = {}
    above: list[str] = []
    name = ""
    try:
        source = inspect.cleandoc("\n" + inspect.getsource(kind))
    except OSError:  # a TypedDict that is called into being
        return {}
    for token in tokenize.generate_tokens(StringIO(source).readline):
        is_field = token.type == tokenize.NAME and token.start[1] == 4
        if token.type == tokenize.COMMENT and token.string.startswith("#:"):
            text = token.string.removeprefix("#:").strip()
            own_line = not token.line[: token.start[1]].strip()
            (above if own_line else lines_of.setdefault(name, [])).append(text)
        elif is_field and token.line[token.end[1] :].startswith(":"):
            name = token.string
            if above:
                lines_of[name], above = above, []
    return {name: " ".join(lines) for name, lines in lines_of.items()}
