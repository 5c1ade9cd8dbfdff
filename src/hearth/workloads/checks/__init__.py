"""Check the answer of a run by implementations that do not share a line with it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True)
class FinishedRun:
    """A finished run, as checks see it.

    data: the directory of each input by its name. answer: the directory of the answer's files.
    result: the document that the job left (contract/examples/workload-result.json).
    """

    job: str
    parameters: dict[str, str]
    data: dict[str, Path]
    answer: Path
    result: dict[str, Any]


@dataclass(frozen=True)
class Verdict:
    """`detail` says in a few words what was compared, what differs, or why nothing was."""

    status: Literal["checked", "wrong", "unchecked"]
    detail: str


class WrongAnswerError(Exception):
    """The answer is wrong; the message says where."""


class UncheckedError(Exception):
    """The answer cannot be judged; the message says why."""


#: Returns what was compared.
Check = Callable[[FinishedRun], str]
