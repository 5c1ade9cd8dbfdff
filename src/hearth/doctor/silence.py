"""Findings that the user has silenced, each with the reason."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from hearth.base.codec import read_typed, to_json
from hearth.base.errors import UserError
from hearth.base.private_files import private_directory, write_private
from hearth.doctor.rules import named

_LONGEST = 200


@dataclass(frozen=True)
class SilenceReason:
    """Why a finding is silenced; since: seconds since 1970."""

    reason: str
    since: int


@dataclass(frozen=True)
class Silenced:
    """The reasons, by the name of the rule."""

    reasons: dict[str, SilenceReason] = field(default_factory=dict)
    schema: Literal["hearth/doctor-silenced/1"] = "hearth/doctor-silenced/1"


def read_silenced(file: Path) -> Mapping[str, str]:
    """Return the reason by the name of each silenced rule; raise UserError for a damaged file."""
    return {name: one.reason for name, one in _read(file).reasons.items()}


def silence(file: Path, name: str, reason: str) -> None:
    """Keep that a rule is silenced; raise UserError for one that is unknown, or without reason."""
    named(name, "--silence")
    text = " ".join(reason.split())
    if not text or len(text) > _LONGEST:
        raise UserError(f"--reason: give 1 to {_LONGEST} characters: it is shown with the finding")
    _write(file, {**_read(file).reasons, name: SilenceReason(text, int(time.time()))})


def unsilence(file: Path, name: str) -> None:
    """Show a rule's finding again; raise UserError if it was not silenced."""
    reasons = dict(_read(file).reasons)
    if reasons.pop(name, None) is None:
        raise UserError(f"--unsilence: {name} is not silenced: 'hearth doctor' lists what is")
    _write(file, reasons)


def _read(file: Path) -> Silenced:
    try:
        file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return Silenced()
    return read_typed(file, Silenced, "remove it: all findings are then shown again")


def _write(file: Path, reasons: Mapping[str, SilenceReason]) -> None:
    private_directory(file.parent)
    write_private(file, json.dumps(to_json(Silenced(dict(reasons)))))
