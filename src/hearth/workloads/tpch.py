"""TPC-H's data, by tpchgen-cli, and the texts of its queries, which stand in the workloads jar.

A data set is a directory with a directory of Parquet files for each table. It is made beside
its place and renamed there whole, so one with a manifest is complete; what a killed run was making
goes with it. The scale factor is the size of the raw text in GB (2^30 bytes here, as
in all of hearth's sizes): `--size 2g` is scale factor 2.
"""

import contextlib
import fcntl
import hashlib
import json
import math
import os
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, TypedDict

from hearth.base.codec import read_document
from hearth.base.errors import UserError
from hearth.base.private_files import open_private
from hearth.base.progress import tick
from hearth.base.sizes import show_bytes
from hearth.base.temporary import working_directory
from hearth.spark.children import run_child
from hearth.workloads.catalogue import workloads_jar

MANIFEST = "_manifest.json"
TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
#: Below this tpchgen-cli may divide by zero (0.00001 does).
SMALLEST_SCALE = 0.001
LARGEST_SCALE = 100_000.0
#: Parquet of one unit of scale; measured 362 MB at scale 1, 328 MB for each unit at 0.1.
PARQUET_BYTES_PER_SCALE = 400_000_000
#: These have the same few rows at every scale, and one file each.
_FIXED_TABLES = ("nation", "region")
_GB = 1 << 30

#: Called with finished files and their total while the data are made.
Progress = Callable[[int, int], None]


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


def ensure_tpch(scale: float, folder: Path, progress: Progress | None = None) -> Path:
    """Return the directory of TPC-H's tables at a scale factor, made first where it is missing.

    Raises UserError for a scale out of range, a folder that holds something else, a disk with
    too little room, and a generator that is missing or failed.
    """
    _check_scale(scale, "scale: TPC-H at")
    if not _is_ready(scale, folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _lock(folder) as lock:
            if not _is_ready(scale, folder):  # another process may have made it meanwhile
                _make(scale, folder, lock, progress)
    return folder


def _check_scale(scale: float, what: str) -> None:
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:  # also if it is not a number
        limits = f"{SMALLEST_SCALE:g} (about 1 MB) to {LARGEST_SCALE:g}"
        raise UserError(f"{what} scale factor {scale:g}: give one from {limits}")


class _File(TypedDict):
    name: str
    bytes: int


class _Parameters(TypedDict):
    scale: Annotated[str, float]


class _Manifest(TypedDict):
    generator: str
    version: int | str
    parameters: _Parameters
    files: list[_File]


def _is_ready(scale: float, folder: Path) -> bool:
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return False
    file = folder / MANIFEST
    if not os.path.lexists(file):
        raise UserError(f"'{folder}' has no {MANIFEST}: give another folder, or delete this one")
    found = read_document(file, _Manifest, "delete the folder")
    same = (found["generator"], found["version"], float(found["parameters"]["scale"]))
    sizes = {item["name"]: item["bytes"] for item in found["files"]}
    wanted = ("tpch", _version(), scale)
    if same != wanted:
        holds, asked = (f"{g} {v} at scale {s:g}" for g, v, s in (same, wanted))
        raise UserError(f"'{folder}' holds {holds}, not {asked}: give another, or delete it")
    for name, size in sizes.items():
        if not (folder / name).is_file() or (folder / name).stat().st_size != size:
            raise UserError(f"'{folder / name}' is missing or damaged: delete the folder")
    return True


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[int]:
    """Hold it here and in the generator: it is free when both are gone, however they ended."""
    lock_file = folder.with_name(f".{folder.name}.tpch-lock")
    with open(lock_file, "a", opener=open_private) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()


def _make(scale: float, folder: Path, lock: int, progress: Progress | None) -> None:
    _check_room(scale, folder.parent)
    with working_directory(False, f".{folder.name}.tpch-", folder.parent) as scratch:
        part = scratch / "data"
        part.mkdir()
        _generate(scale, part, lock, progress)
        document = _manifest(scale, part)
        (part / MANIFEST).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        part.replace(folder)


def _check_room(scale: float, parent: Path) -> None:
    needed, free = int(scale * PARQUET_BYTES_PER_SCALE), shutil.disk_usage(parent).free
    if needed > free:
        raise UserError(
            f"TPC-H at scale {scale:g} needs about {show_bytes(needed)}, {show_bytes(free)} are "
            f"free in '{parent}': give a smaller size, or a folder on a larger disk"
        )


def _generate(scale: float, part: Path, lock: int, progress: Progress | None) -> None:
    parts = max(1, math.ceil(scale))
    total = (len(TABLES) - len(_FIXED_TABLES)) * parts + len(_FIXED_TABLES)
    log = part / "log"
    options = ["-s", f"{scale:.6f}", "--parts", str(parts), "--output-dir", str(part)]
    watch = tick if progress is None else lambda: progress(len(_files(part)), total)
    code = run_child([_tpchgen(), "parquet", *options], {}, log, watch, inherited=(lock,))
    made = len(_files(part))
    if code or made != total:
        output = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        reason = output[-1] if output else "there is no output"
        raise UserError(f"tpchgen-cli ended with {code}, {made} of {total} files: {reason}")
    if progress is not None:
        progress(total, total)
    log.unlink()


def _files(folder: Path) -> list[Path]:
    """Return the finished files; those under way end in .inprogress."""
    return sorted(folder.glob("*/*.parquet"))


def _manifest(scale: float, folder: Path) -> dict[str, Any]:
    files = [_described(file, folder) for file in _files(folder)]
    return {
        "format": 1,
        "generator": "tpch",
        "version": _version(),
        "seed": 0,
        "size_bytes": round(scale * _GB),
        "parameters": {"scale": str(scale)},
        "rows": sum(item["rows"] for item in files),
        "bytes": sum(item["bytes"] for item in files),
        "files": files,
    }


def _described(file: Path, folder: Path) -> dict[str, Any]:
    digest = hashlib.sha256()
    with file.open("rb") as content:
        for block in iter(partial(content.read, 1 << 20), b""):
            digest.update(block)
    return {
        "name": str(file.relative_to(folder)),
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
    found = str(beside) if beside.is_file() else shutil.which("tpchgen-cli")
    if found is None:
        raise UserError("tpchgen-cli is not installed: pip install 'hearth-spark[workloads]'")
    return found


def _version() -> str:
    try:
        return metadata.version("tpchgen-cli")
    except metadata.PackageNotFoundError as error:
        raise UserError(
            "tpchgen-cli is not installed: pip install 'hearth-spark[workloads]'"
        ) from error
