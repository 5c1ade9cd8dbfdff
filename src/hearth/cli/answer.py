"""One JSON document on standard output, whatever a command says to --json.

`main` puts an `Answer` in place of standard output. A command that was asked for JSON prints its
document with `print_document`; what else it prints goes to standard error, and where it ends
without a document, an error or an answer in words is one.
"""

import sys
from dataclasses import dataclass
from typing import Literal

from hearth.base.terminal import TerminalStream


@dataclass(frozen=True)
class Message:
    """What --json prints where there is no other document: an error, or an answer in words."""

    schema: Literal["hearth/message/1"]
    exit_code: int
    message: str


class Answer(TerminalStream):
    """Standard output. as_json: whether it was asked for JSON; None while that is not known."""

    as_json: bool | None = None
    told: str | None = None
    _printed = False

    def write(self, text: str) -> int:
        if not self.as_json:
            return super().write(text)
        self._said.append(text)
        return sys.stderr.write(text)

    def isatty(self) -> bool:
        return not self.as_json and bool(self._stream.isatty())

    def expect(self, as_json: bool) -> None:
        """Take in what was asked for; nothing has been printed before."""
        self.as_json, self._said = as_json, list[str]()

    def document(self, document: object) -> None:
        """Print the document of a command."""
        self._printed = True
        super().write(_written(document))

    def end(self, code: int) -> None:
        """Print what the command said, where it was asked for JSON and has printed none."""
        if self.as_json and not self._printed:
            said = self.told or "".join(self._said).strip() or "done"
            self.document(Message("hearth/message/1", code, said))
        self._stream.flush()


def print_document(document: object) -> None:
    """Print the document of a command that was asked for JSON."""
    if isinstance(sys.stdout, Answer) and sys.stdout.as_json:
        sys.stdout.document(document)
    else:
        print(_written(document), end="")


def tell(message: str) -> None:
    """Say on standard error what is the message of a command that prints no document."""
    if isinstance(sys.stdout, Answer):
        sys.stdout.told = message
    print(f"hearth: {message}", file=sys.stderr)


def _written(document: object) -> str:
    import json  # only where it was asked for, as the next

    from hearth.base.codec import to_json

    return json.dumps(to_json(document), indent=2) + "\n"
