"""Java properties files, as Spark reads them (java.util.Properties)."""

import re
from pathlib import Path

from hearth.base.errors import UserError

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_NAMED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_KEY = re.compile(r"((?:\\.|[^\\\s=:])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)


def read_properties(path: Path, what: str) -> dict[str, str]:
    """The settings of a file; `what` names it in the error where it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{what}: cannot read '{path}': {error}") from error
    if "\0" in text or "\\u0000" in text:  # not possible on a command line
        raise UserError(f"{what}: '{path}' holds a NUL character: is it a properties file?")
    settings = {}
    for line in _logical_lines(text):
        match = _KEY.fullmatch(line)
        if match:
            settings[_unescape(match[1])] = _unescape(match[2]).strip()
    return settings


def _logical_lines(text: str) -> list[str]:
    """Lines without comments; one that ends in an odd number of backslashes continues."""
    lines: list[str] = []
    pending = ""
    for raw in re.split(r"\r\n|\r|\n", text):
        line = raw.lstrip(" \t\f")
        if not pending and line[:1] in ("", "#", "!"):
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            pending += line[:-1]
            continue
        lines.append(pending + line)
        pending = ""
    return [*lines, pending] if pending else lines


def _unescape(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        code = match[1]
        return chr(int(code[1:], 16)) if len(code) == 5 else _NAMED.get(code, code)

    # Two escapes may be the halves of one character: Java writes those above U+FFFF so.
    return _ESCAPE.sub(plain, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
