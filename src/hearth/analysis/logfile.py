"""Find the files of a Spark event log and yield their lines, in bounded memory.

Layouts and names are those of Spark's EventLogFileWriters and EventLogFileReaders: a single file
`APP[.CODEC][.inprogress]`, or a directory `eventlog_v2_APP` that holds `events_N_APP[.CODEC]`,
of which one may be `.compact` and stands for all before it.
"""

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from hearth.base.errors import UserError, not_installed
from hearth.base.regular_files import open_regular

#: A longer line is skipped with a warning: it cannot be an event that a driver could have held.
LONGEST_LINE_BYTES = 256 << 20
#: What is read of a log at most: a few bytes, compressed or of a sparse file, can be any number.
MOST_BYTES = 256 << 30
MOST_SKIPPED_BYTES = 4 << 30

_ROLLED = re.compile(r"events_(\d+)_.+?(\.compact)?$")
_CODECS = ("zstd", "lz4", "snappy", "lzf")


def event_log_parts(path: Path) -> list[Path]:
    """Return the files of one event log in the order to read them.

    A directory may be a rolled log itself or hold exactly one log.
    Raises UserError where there is none, or more than one to choose from.
    """
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise UserError(f"event log {path}: there is no such file; give a Spark event log")
    rolled = _rolled_parts(path)
    if rolled:
        return rolled
    logs = [entry for entry in sorted(path.iterdir()) if not entry.name.startswith(".")]
    if len(logs) != 1:
        contents = "no event log" if not logs else f"{len(logs)} entries, not one"
        raise UserError(f"event log {path}: the directory holds {contents}; name the log itself")
    return event_log_parts(logs[0])


def _rolled_parts(directory: Path) -> list[Path]:
    numbered = []
    for entry in directory.iterdir():
        if match := _ROLLED.match(entry.name):
            if not entry.is_file():
                raise UserError(f"event log {directory}: {entry.name} is not a file: remove it")
            numbered.append((int(match[1]), match[2] is not None, entry))
    numbered.sort()
    # A compacted file replaces every file up to its own number, its uncompacted twin included.
    start = max((n for n, compact, _ in numbered if compact), default=-1)
    return [e for n, compact, e in numbered if n > start or (n == start and compact)]


class LineSource:
    """The lines of one file of an event log, decompressed; says how it ended.

    `truncated` is set once the last line lacks its end or the compressed data breaks off, `endless`
    where no more is read of what may be a log of any length.
    """

    def __init__(self, part: Path, most_bytes: int = MOST_BYTES) -> None:
        self.part = part
        self.truncated = False
        self.endless = False
        self._most_bytes = most_bytes
        self.oversized = 0
        self.bytes_read = 0

    def __iter__(self) -> Iterator[bytes]:
        with open_regular(self.part) as raw:
            stream = _decompressed(raw, self.part)
            while line := self._next(stream):
                yield line

    def _next(self, stream: IO[bytes]) -> bytes:
        try:
            line = stream.readline(LONGEST_LINE_BYTES)
            while len(line) == LONGEST_LINE_BYTES and not line.endswith(b"\n"):
                self.oversized += 1
                line = self._after_this_line(stream)
        except (EOFError, OSError) as broken:
            if isinstance(broken, OSError) and broken.errno is not None:
                raise
            self.truncated = True
            return b""
        self.bytes_read += len(line)
        self.endless = self.endless or self.bytes_read > self._most_bytes
        if self.endless:
            return b""
        if line and not line.endswith(b"\n"):
            self.truncated = True
        return line

    def _after_this_line(self, stream: IO[bytes]) -> bytes:
        skipped = LONGEST_LINE_BYTES
        while rest := stream.readline(1 << 20):
            skipped += len(rest)
            if rest.endswith(b"\n"):
                break
            if skipped > MOST_SKIPPED_BYTES:
                self.endless = True
                return b""
        self.bytes_read += skipped
        return stream.readline(LONGEST_LINE_BYTES)


def codec_of(part: Path) -> str | None:
    """Return the compression codec given by a file's name; None for plain text."""
    name = part.name.removesuffix(".inprogress").removesuffix(".compact")
    return next((codec for codec in _CODECS if name.endswith("." + codec)), None)


def _decompressed(raw: IO[bytes], part: Path) -> IO[bytes]:
    match codec_of(part):
        case None:
            return raw
        case "zstd":
            return _zstd(raw, part)
        case codec:
            raise UserError(
                f"event log {part}: hearth does not read {codec}; write it with"
                " spark.eventLog.compress=false or spark.eventLog.compression.codec=zstd"
            )


def _zstd(raw: IO[bytes], part: Path) -> IO[bytes]:
    try:
        import zstandard
    except ImportError as missing:
        raise UserError(f"event log {part}: {not_installed('zstandard')}") from missing
    return io.BufferedReader(ZstdFrames(raw, zstandard), 1 << 20)


class ZstdFrames(io.RawIOBase):
    """One zstd frame after the other; EOFError where the last one breaks off or is broken."""

    _INPUT_BYTES = 2 << 10  # four bytes may hold a block of 128 KB

    def __init__(self, raw: IO[bytes], library: Any) -> None:
        self._raw = raw
        self._error = library.ZstdError
        self._new_frame = library.ZstdDecompressor().decompressobj
        self._frame = self._new_frame()
        self._within = False
        self._out = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._out:
            packed = self._raw.read(self._INPUT_BYTES)
            if not packed:
                if self._within:
                    raise EOFError("the last frame breaks off")
                return 0
            self._unpack(packed)
        size = min(len(buffer), len(self._out))
        buffer[:size] = self._out[:size]
        self._out = self._out[size:]
        return size

    def _unpack(self, packed: bytes) -> None:
        """Decompress these bytes, which may hold the ends and beginnings of frames."""
        parts = []
        while packed:
            try:
                parts.append(self._frame.decompress(packed))
            except self._error as broken:
                raise EOFError(str(broken)) from broken
            self._within = not self._frame.eof
            packed = b""
            if self._frame.eof:
                packed = self._frame.unused_data
                self._frame = self._new_frame()
        self._out = memoryview(b"".join(parts))
