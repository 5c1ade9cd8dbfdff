"""Imports stand at the top of a file, unless they load a library that only an extra brings."""

import ast
import sys
from collections.abc import Iterator
from functools import cache

from support import ROOT

SOURCE = ROOT / "src"
#: What starts each command imports little; the public module imports nothing until it is used.
STARTING = ("hearth", "hearth.base.errors", "hearth.cli.answer", "hearth.cli.main")
FILES = {
    ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): file
    for file in (SOURCE / "hearth").rglob("*.py")
}


def imported(node: ast.AST) -> list[str]:
    """The modules that an import may load."""
    if isinstance(node, ast.Import):
        return [name.name for name in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module, *(f"{node.module}.{name.name}" for name in node.names)]
    return []


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(FILES[module].read_text())


def is_foreign(name: str) -> bool:
    top = name.partition(".")[0]
    return top != "hearth" and top not in sys.stdlib_module_names


def loads_a_library(module: str, visited: set[str]) -> bool:
    """Whether importing a module of hearth's imports what is neither hearth's nor Python's."""
    visited.add(module)
    names = [name for node in tree(module).body for name in imported(node)]
    inner = [name for name in names if name in FILES and name not in visited]
    return any(map(is_foreign, names)) or any(loads_a_library(name, visited) for name in inner)


def in_functions(module: str) -> Iterator[tuple[int, list[str]]]:
    functions = (n for n in ast.walk(tree(module)) if isinstance(n, ast.FunctionDef))
    for node in (inner for function in functions for inner in ast.walk(function)):
        if names := imported(node):
            yield node.lineno, names  # type: ignore[attr-defined]


def test_an_import_stands_in_a_function_only_where_it_loads_a_library() -> None:
    needless = {
        f"{FILES[module]}:{line}"
        for module in FILES
        if module not in STARTING
        for line, names in in_functions(module)
        if not any(is_foreign(name) or (name in FILES and loads_a_library(name, set()))
                   for name in names)
    }  # fmt: skip
    assert not needless


def test_no_two_files_of_tests_have_one_name() -> None:
    """pytest imports them by it, and collects nothing at all where one is there twice."""
    names = [file.name for file in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
