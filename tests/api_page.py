"""docs/api.md: what `hearth.__all__` names, from signatures, docstrings and comments of fields."""

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Literal, get_args, get_origin

import hearth
from hearth.base.json_schema import comments
from support import filled

_CODE_WIDTH = 100
_HEAD = """# Python API

Generated from the package; do not edit: `HEARTH_UPDATE_GOLDEN=1 pytest tests/test_api.py` writes
it. What stands here is public, and typed (`py.typed`); every module of hearth is private.

```python
import hearth

hearth.topology()  # this machine
plan = hearth.plan(input="200g")  # how Spark would use it, and why
spark = hearth.session("my notebook")  # a SparkSession under local-numa
run = hearth.load_run("last")  # what `hearth profile` recorded
run.stages.to_pandas()
result = hearth.compare("my_job.py", arms=["native", "bound"], repeat=5)
print(result.verdict.sentence)
```

A notebook shows machines, plans, runs, stages and what runs now (`hearth.status()`) as tables.
`Measured[X]` is an X, or an `Absent` with the reason.
"""


def page() -> str:
    """Return the text of docs/api.md."""
    public = {name: getattr(hearth, name) for name in hearth.__all__}
    parts = [_HEAD, "## Functions\n"]
    for name, value in public.items():
        if not inspect.isclass(value):
            parts += [f"### hearth.{name}\n", _code(value), _text(value)]
    parts.append("## Types\n")
    for name, value in public.items():
        if inspect.isclass(value):
            parts += [f"### hearth.{name}\n", _text(value), *_members(value)]
    return "\n".join(parts).rstrip() + "\n"


def _code(function: Any) -> str:
    node = _parsed(function)
    defaults = {each.name: each.default for each in inspect.signature(function).parameters.values()}
    return f"```python\n{_signature(node, function.__module__, defaults)}\n```\n"


def _members(kind: Any) -> Iterator[str]:
    """The public fields, properties and methods of a class, as a list."""
    items = [*_fields(kind), *_methods(kind)]
    if items:
        yield "\n".join(map(_item, items)) + "\n"


def _fields(kind: Any) -> Iterator[tuple[str, str]]:
    meanings = comments(kind)
    for node in _parsed(kind).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name = node.target.id
            yield f"{name}: {_type(node.annotation, kind.__module__)}", meanings.get(name, "")


def _methods(kind: Any) -> Iterator[tuple[str, str]]:
    for node in _parsed(kind).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            is_property = any("property" in ast.unparse(each) for each in node.decorator_list)
            result = f": {ast.unparse(node.returns)}" if node.returns else ""
            shown = node.name + result if is_property else _signature(node, kind.__module__, {})
            yield shown, " ".join((ast.get_docstring(node) or "").split())


def _item(item: tuple[str, str]) -> str:
    shown, meaning = item
    return filled(f"- `{shown}`" + (f": {meaning}" if meaning else ""), "  ")


def _parsed(value: Any) -> Any:
    return ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]


def _signature(node: Any, module: str, defaults: dict[str, Any]) -> str:
    """On one line, or with one parameter to a line."""
    words = [word for word in _parameters(node.args, module, defaults) if word != "self"]
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    line = f"{node.name}({', '.join(words)}){result}"
    if len(line) <= _CODE_WIDTH:
        return line
    return "\n".join([f"{node.name}(", *(f"    {word}," for word in words), f"){result}"])


def _parameters(arguments: ast.arguments, module: str, defaults: dict[str, Any]) -> Iterator[str]:
    def shown(argument: ast.arg, star: str = "") -> str:
        kind = f": {_type(argument.annotation, module)}" if argument.annotation else ""
        default = defaults.get(argument.arg, inspect.Parameter.empty)
        given = "" if default is inspect.Parameter.empty else f" = {default!r}"
        return f"{star}{argument.arg}{kind}{given}"

    yield from map(shown, arguments.args)
    if arguments.vararg:
        yield shown(arguments.vararg, "*")
    elif arguments.kwonlyargs:
        yield "*"
    yield from map(shown, arguments.kwonlyargs)


def _type(annotation: ast.expr, module: str) -> str:
    """The text of a type, with what limits it left out and choices spelled out."""
    known = vars(sys.modules[module])

    class Plain(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            value = known.get(node.id)
            base = get_args(value)[0] if get_origin(value) is Annotated else value
            if get_origin(base) is list:
                return ast.Name("list")
            if get_origin(base) in (Literal, UnionType) or base is not value:
                return ast.Name(inspect.formatannotation(base).replace("typing.", ""))
            return node

        def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
            if isinstance(node.value, ast.Name) and node.value.id == "Annotated":
                return self.visit(node.slice.elts[0])  # type: ignore[attr-defined]
            return self.generic_visit(node)  # type: ignore[return-value]

    return ast.unparse(Plain().visit(annotation))


def _text(value: Any) -> str:
    paragraphs = (inspect.getdoc(value) or "").split("\n\n")
    return "\n\n".join(filled(" ".join(part.split())) for part in paragraphs) + "\n"
