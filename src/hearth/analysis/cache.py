"""The analysis of a run that is over, derived once: cached next to its record, never in it.

The file `.ID.analysis` next to the record's directory holds a key and a digest in its first line,
then the document. The key is made of what the document is derived from: the files of the record by
name, size and time, and the program that derives it. A file with another key, or whose document
does not have its digest, is not used; it is derived and written again.
"""

import contextlib
import hashlib
import os
import sys
from functools import cache
from pathlib import Path

import orjson

from hearth.analysis.document import Analysis
from hearth.base import codec
from hearth.base.codec import to_json, typed
from hearth.base.private_files import write_private
from hearth.record import schema
from hearth.record.store import Record, analysis_file


def key_of(record: Record) -> str:
    """Return a key of the raw files, the program and the state, which for a kill is in no file."""
    parts = [_program(), record.state]
    for file in sorted(record.directory.rglob("*")):
        if file.is_file():
            status = file.stat()
            name = file.relative_to(record.directory)
            parts.append(f"{name} {status.st_size} {status.st_mtime_ns}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def read_cached(record: Record, key: str) -> Analysis | None:
    """Return the cached analysis of this record by this version of the program, if any."""
    file = analysis_file(record.directory)
    if record.running or not file.is_file() or not os.access(file, os.R_OK):
        return None
    head, _, document = file.read_bytes().partition(b"\n")
    if head != _head(key, document):
        return None
    return typed(orjson.loads(document), Analysis)


def write_cached(record: Record, key: str, analysis: Analysis) -> None:
    """Keep it, where the run is over and the folder can be written; replace the one before.

    key: taken before the record was read, so that what was written meanwhile makes it stale.
    """
    file = analysis_file(record.directory)
    if record.running or not os.access(file.parent, os.W_OK):
        return  # it is derived again next time, which is all that is lost
    document = orjson.dumps(to_json(analysis))
    with contextlib.suppress(OSError):  # a full disk: as above
        write_private(file, _head(key, document) + b"\n" + document)


def _head(key: str, document: bytes) -> bytes:
    return f"{key} {hashlib.sha256(document).hexdigest()}".encode()


@cache
def _program() -> str:
    """Return a digest of the sources that derive and write an analysis, parsers included."""
    digest = hashlib.sha256(f"{sys.version} {orjson.__version__}".encode())
    sources = sorted(Path(__file__).parent.glob("*.py"))
    for file in (*sources, Path(codec.__file__), Path(schema.__file__)):
        digest.update(file.read_bytes())
    return digest.hexdigest()
