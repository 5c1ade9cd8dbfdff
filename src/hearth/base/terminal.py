"""Output to a terminal: text only, no control sequences.

Names, settings, logs and captures come from anywhere. A control character in them could colour,
move, rename or answer for the user (ESC, C1; ECMA-48), a bidirectional override could show a text
in another order than it has (Boucher and Anderson 2023, "Trojan Source"). All are shown as escapes,
as is what the encoding of the stream lacks.
"""

import codecs
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import Any, TextIO

#: hearth's own colours, of `Screen.paint` and `Screen.hue`: from elsewhere they can only colour.
_OWN = r"\x1b\[(?:0|1|2|7|3[123]|38;5;\d{1,3})m"
_CONTROLS = (
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_ESCAPED = re.compile(_CONTROLS)
_ESCAPED_BUT_OWN = re.compile(f"({_OWN})|{_CONTROLS}")

#: What hearth's own texts hold, in ASCII.
_PLAIN = {"├": "|", "└": "`", "│": "|", "─": "-", "±": "+-", "×": "x", "…": "."}


def _unsayable(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end]
    return "".join(_PLAIN.get(each) or _shown(each) for each in text), error.end


codecs.register_error("hearth", _unsayable)


def escaped(text: str) -> str:
    """Return the text with control characters as escapes; line breaks and tabs stay."""
    return _ESCAPED.sub(lambda match: _shown(match[0]), text)


def one_line(text: str) -> str:
    """Return the text with line breaks and tabs as escapes too: for a name within a line."""
    return "".join(_shown(each) if each in "\t\n" else each for each in escaped(text))


class TerminalStream:
    """A stream that escapes its text; on a terminal, hearth's own colours pass."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._pattern = _ESCAPED_BUT_OWN if stream.isatty() else _ESCAPED

    def write(self, text: str) -> int:
        has_group = self._pattern.groups > 0
        self._stream.write(
            self._pattern.sub(lambda m: m[1] if has_group and m[1] else _shown(m[0]), text)
        )
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def beneath(stream: TextIO) -> TextIO:
    """Return the stream that is not escaped: for what draws, and escapes the text in it itself."""
    return stream._stream if isinstance(stream, TerminalStream) else stream


def clear_screen() -> None:
    """Begin again at the top of a terminal; elsewhere leave a blank line."""
    stream = beneath(sys.stdout)
    stream.write("\x1b[H\x1b[2J" if stream.isatty() else "\n")


@contextmanager
def escaping_output() -> Iterator[None]:
    """Escape everything that this process prints meanwhile, on both streams."""
    before = sys.stdout, sys.stderr
    for stream in before:
        if isinstance(stream, TextIOWrapper):  # also beneath what draws on a terminal
            stream.reconfigure(errors="hearth")
    sys.stdout, sys.stderr = TerminalStream(before[0]), TerminalStream(before[1])
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def _shown(character: str) -> str:
    code = ord(character)
    if code < 256:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"
