"""TPC-H's data, by tpchgen-cli, and the texts of its queries, which stand in the workloads jar.

A data set is a directory with a directory of Parquet files for each table. It is made beside its
directory and renamed there whole, so one with a manifest is complete. The scale factor is the size
of the raw text in GB (2^30 bytes here, as in all of hearth's sizes): `--size 2g` is scale factor 2.
"""

import hashlib
import json
import math
import shutil
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from importlib import metadata
from pathlib import Path
from typing import Any

from hearth.base.errors import UserError, not_installed
from hearth.base.sizes import show_bytes
from hearth.base.temporary import working_directory
from hearth.machine.paths import workloads_jar
from hearth.spark.children import run_child

TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
#: Below this tpchgen-cli may divide by zero (0.00001 does).
SMALLEST_SCALE = 0.001
LARGEST_SCALE = 100_000.0
#: Parquet of one unit of scale; measured 362 MB at scale 1, 328 MB for each unit at 0.1.
PARQUET_BYTES_PER_SCALE = 400_000_000
#: These have the same few rows at every scale, and one file each.
_FIXED_TABLES = ("nation", "region")
_GB = 1 << 30


def scale_of(size_bytes: int) -> float:
    """Return the scale factor of a raw size.

    Raise UserError outside what the generator can make.
    """
    scale = round(size_bytes / _GB, 6)
    _check_scale(scale, f"--size: {show_bytes(size_bytes)} is")
    return scale


def query_text(number: int, scale: float) -> str:
    """Return a query as the job runs it: 1 to 22, with Q11's FRACTION for the scale."""
    with zipfile.ZipFile(workloads_jar()) as jar:
        text = jar.read(f"tpch/q{number:02d}.sql").decode("utf-8")
    return text.replace("${fraction}", f"{Decimal('0.0001') / Decimal(str(scale)):.10f}")


def _check_scale(scale: float, what: str) -> None:
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:  # also if it is not a number
        limits = f"{SMALLEST_SCALE:g} (about 1 MB) to {LARGEST_SCALE:g}"
        raise UserError(f"{what} scale factor {scale:g}: give one from {limits}")


@dataclass(frozen=True)
class TpchTables:
    """TPC-H's tables at a scale factor: the standard's data, the same whatever the seed."""

    scale: float

    def __post_init__(self) -> None:
        _check_scale(self.scale, "scale: TPC-H at")

    @property
    def name(self) -> str:
        """The name of its directory."""
        return f"tpch_scale-{self.scale:g}"

    @property
    def title(self) -> str:
        """What is made, for the user."""
        return f"TPC-H at scale {self.scale:g}"

    @property
    def size_bytes(self) -> int:
        """About so much as text."""
        return round(self.scale * _GB)

    @property
    def disk_bytes(self) -> int:
        """About so much as Parquet."""
        return int(self.scale * PARQUET_BYTES_PER_SCALE)

    @property
    def identity(self) -> dict[str, object]:
        """What its manifest must say."""
        return {"generator": "tpch", "version": _version(), "scale": str(self.scale)}

    def make(self, folder: Path, lock: int, show: Callable[[int, int], None]) -> None:
        """Make the tables, with the lock inherited; show: called with finished files and all."""
        with working_directory(False, f".{folder.name}.tpch-", folder.parent) as scratch:
            part = scratch / "data"
            part.mkdir()
            self._generate(part, lock, show)
            document = json.dumps(self._manifest(part), indent=2) + "\n"
            (part / "_manifest.json").write_text(document, encoding="utf-8")
            part.replace(folder)

    def _generate(self, part: Path, lock: int, show: Callable[[int, int], None]) -> None:
        parts = max(1, math.ceil(self.scale))
        total = (len(TABLES) - len(_FIXED_TABLES)) * parts + len(_FIXED_TABLES)
        log = part / "log"
        options = ["-s", f"{self.scale:.6f}", "--parts", str(parts), "--output-dir", str(part)]
        command = [_tpchgen(), "parquet", *options]
        code = run_child(
            command, {}, log, lambda: show(len(_files(part)), total), inherited=(lock,)
        )
        made = len(_files(part))
        if code or made != total:
            output = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            reason = output[-1] if output else "there is no output"
            raise UserError(f"tpchgen-cli ended with {code}, {made} of {total} files: {reason}")
        log.unlink()

    def _manifest(self, folder: Path) -> dict[str, Any]:
        files = [_described(file, folder) for file in _files(folder)]
        return {
            "format": 1,
            "generator": "tpch",
            "version": _version(),
            "seed": 0,
            "size_bytes": self.size_bytes,
            "parameters": {"scale": str(self.scale)},
            "rows": sum(item["rows"] for item in files),
            "bytes": sum(item["bytes"] for item in files),
            "files": files,
        }


def _files(folder: Path) -> list[Path]:
    """Return the finished files; those under way end in .inprogress."""
    return sorted(folder.glob("*/*.parquet"))


def _described(file: Path, folder: Path) -> dict[str, Any]:
    with file.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256")
    return {
        "path": str(file.relative_to(folder)),
        "rows": parquet_rows([file]),
        "bytes": file.stat().st_size,
        "sha256": digest.hexdigest(),
    }


def parquet_rows(files: list[Path]) -> int:
    """Return rows of Parquet files, as their footers say."""
    import duckdb

    with duckdb.connect() as connection:
        query = "SELECT sum(num_rows)::BIGINT FROM parquet_file_metadata(?)"
        return int(connection.execute(query, [[str(file) for file in files]]).fetchall()[0][0])


def _tpchgen() -> str:
    beside = Path(sys.executable).with_name("tpchgen-cli")
    program = str(beside) if beside.is_file() else shutil.which("tpchgen-cli")
    if program is None:
        raise not_installed("tpchgen-cli")
    return program


def _version() -> str:
    try:
        return metadata.version("tpchgen-cli")
    except metadata.PackageNotFoundError as error:
        raise not_installed("tpchgen-cli") from error
