"""Data sets: where they are, made once, by the generators of the workloads jar.

A data set is a directory; its `_manifest.json`, written last, says what it is. One without a
manifest is unfinished, and the generator resumes or redoes it. A file next to the directory is
locked while it is made; the generator inherits the lock, so that it is free again when both
processes are gone, however they ended.
"""

import contextlib
import fcntl
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hearth.base.codec import load_document, read_document
from hearth.base.errors import UserError
from hearth.base.private_files import open_private
from hearth.base.progress import Work, working
from hearth.base.sizes import show_bytes
from hearth.base.temporary import working_directory
from hearth.machine import paths
from hearth.spark import cds
from hearth.spark.children import run_child
from hearth.spark.conf import user_settings
from hearth.spark.submit_args import SubmitLine
from hearth.workloads import catalogue, tpch
from hearth.workloads.shapes import Generating, Manifest

MANIFEST = "_manifest.json"
#: What is made if the user gives no size: a few seconds of each job on two cores.
DEFAULT_BYTES = {"text": 64 << 20, "records": 64 << 20, "graph": 8 << 20, "tpch": 100 << 20}
_DEFAULT_BYTES = 16 << 20
_PLAN = "_generating.json"
_USER_ERROR = 2
_WAIT_S = 0.2
_LAST_LINES = 15


@dataclass(frozen=True)
class Wanted:
    """A data set, by everything that determines its bytes."""

    generator: catalogue.Generator
    size_bytes: int
    seed: int
    parameters: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """The name of its directory."""
        settings = [f"{key}-{value}" for key, value in self.parameters]
        parts = [self.generator.name, f"v{self.generator.version}", f"{self.size_bytes}b"]
        text = "_".join([*parts, f"seed-{self.seed}", *settings])
        return re.sub(r"[^A-Za-z0-9._-]", "-", text)


@dataclass(frozen=True)
class WantedTpch:
    """TPC-H's tables at a scale factor: the standard's data, the same whatever the seed."""

    scale: float

    @property
    def name(self) -> str:
        return f"tpch_scale-{self.scale:g}"

    @property
    def size_bytes(self) -> int:
        """About so much as text."""
        return round(self.scale * (1 << 30))


def data_home() -> Path:
    """Return `HEARTH_DATA` where the user set it, else the folder `data` of hearth's cache."""
    chosen = os.environ.get("HEARTH_DATA")
    return Path(chosen).absolute() if chosen else paths.cache_home() / "data"


def default_bytes(generator: str) -> int:
    """Return the size of a generator's data if the user gives none."""
    return DEFAULT_BYTES.get(generator, _DEFAULT_BYTES)


def wanted_by(
    offer: catalogue.Catalogue,
    job: catalogue.Job,
    parameters: dict[str, str],
    size_bytes: int | None,
    seed: int,
) -> dict[str, Wanted | WantedTpch]:
    """Return the data sets that a job reads, by the name of the input.

    parameters: of the job, those that the user chose; the generator is given those that both
    share. size_bytes: of each data set; None for the small one that is made by default.
    """
    values = {p.name: p.default for p in job.parameters} | parameters
    wanted: dict[str, Wanted | WantedTpch] = {}
    for item in job.inputs:
        size = size_bytes or default_bytes(item.generator)
        if item.generator == "tpch":
            scale = float(values["scale"])  # 0: as the size says
            wanted[item.name] = WantedTpch(scale or tpch.scale_of(size))
        else:
            shared = tuple((name, values[name]) for name in item.shared)
            wanted[item.name] = Wanted(offer.generator(item.generator), size, seed, shared)
    return wanted


def ensure_all(
    wanted: dict[str, Wanted | WantedTpch], folder: Path | None = None
) -> dict[str, Path]:
    """Return the directory of each input.

    The user's folder holds one directory each for several.
    """
    if folder is None or len(wanted) == 1:
        return {name: ensure(item, folder) for name, item in wanted.items()}
    return {name: ensure(item, folder / name) for name, item in wanted.items()}


def ensure(wanted: Wanted | WantedTpch, folder: Path | None = None) -> Path:
    """Return the directory of a data set, made first where it is missing or unfinished.

    folder: the user's own choice, else a folder of `data_home()`. Raises UserError where it holds
    something else, there is no room, or the generator says what the user can put right.
    """
    place = folder if folder is not None else data_home() / wanted.name
    if isinstance(wanted, WantedTpch):
        return _ensure_tpch(wanted, place)
    if _is_ready(wanted, place):
        return place
    _check_room(wanted, place)
    with _lock(place) as lock:
        if not _is_ready(wanted, place):  # another process may have made it meanwhile
            _make(wanted, place, lock)
    if not _is_ready(wanted, place):
        raise RuntimeError(f"the generator succeeded but left no {place / MANIFEST}")
    return place


def _ensure_tpch(wanted: WantedTpch, place: Path) -> Path:
    if (place / MANIFEST).is_file():
        return tpch.ensure_tpch(wanted.scale, place)
    with _making(f"making TPC-H at scale {wanted.scale:g}, once, in {place}") as work:
        return tpch.ensure_tpch(wanted.scale, place, work.show)


@contextlib.contextmanager
def _making(title: str) -> Iterator[Work]:
    print(f"hearth: {title} ...", file=sys.stderr, flush=True)
    with working("making data") as work:
        yield work


def manifest(place: Path) -> dict[str, Any]:
    """Return the manifest of a finished data set; raise UserError for a damaged one."""
    file = place / MANIFEST
    return read_document(file, Manifest, "delete the folder")


def _is_ready(wanted: Wanted, place: Path) -> bool:
    if not os.path.lexists(place / MANIFEST):
        _check_ours(place)
        return False
    found = manifest(place)
    expected = {
        "generator": wanted.generator.name,
        "version": wanted.generator.version,
        "seed": wanted.seed,
        "size_bytes": wanted.size_bytes,
    }
    for key, value in [*expected.items(), *dict(wanted.parameters).items()]:
        holder = found if key in expected else found.get("parameters", {})
        if str(holder.get(key)) != str(value):
            raise UserError(
                f"'{place}' holds data with {key} {holder.get(key)}, not {value}: "
                "give another --data DIR, or delete this one"
            )
    return True


def _check_ours(place: Path) -> None:
    """Refuse a folder of the user's own files."""
    if not place.exists():
        return
    if not place.is_dir():
        raise UserError(f"--data: '{place}' is not a directory")
    theirs = any(not file.name.startswith(".") for file in place.iterdir())
    if theirs and not (place / _PLAN).exists():
        raise UserError(
            f"'{place}' has files and no {MANIFEST}: it is not a data set of hearth; "
            "give an empty or new --data DIR"
        )


def _check_room(wanted: Wanted, place: Path) -> None:
    existing = next(folder for folder in [place, *place.parents] if folder.exists())
    free = shutil.disk_usage(existing).free
    if wanted.size_bytes > free:
        raise UserError(
            f"--size: {show_bytes(wanted.size_bytes)} does not fit, {show_bytes(free)} is free in "
            f"'{existing}': give a smaller size, or set HEARTH_DATA to a larger disk"
        )


@contextlib.contextmanager
def _lock(place: Path) -> Iterator[int]:
    """Hold the lock next to a directory; say so once if it has to wait."""
    place.parent.mkdir(parents=True, exist_ok=True)
    file = place.with_name(f".{place.name}.lock")
    with open(file, "a", opener=open_private) as lock:
        announced = False
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not announced:
                    waiting = f"hearth: waiting for another process that is making '{place}'"
                    print(waiting, file=sys.stderr, flush=True)
                announced = True
                time.sleep(_WAIT_S)
        yield lock.fileno()


def _make(wanted: Wanted, place: Path, lock: int) -> None:
    size = show_bytes(wanted.size_bytes)
    title = f"making {size} of {wanted.generator.name} data, seed {wanted.seed}, once, in {place}"
    with working_directory(False, "hearth-generate-") as scratch:
        log = scratch / "log"
        command = _command(wanted, place, scratch)
        with _making(title) as work:
            code = run_child(
                command, {}, log, watch=lambda: work.show(*_parts(place)), inherited=(lock,)
            )
        if code:
            raise UserError(_failure(wanted, code, log))


def _command(wanted: Wanted, place: Path, scratch: Path) -> list[str]:
    home = paths.spark_home()
    given = user_settings(SubmitLine(), home, os.environ)
    settings = {
        "spark.ui.enabled": "false",
        "spark.log.level": "WARN",
        "spark.local.dir": scratch,
        **cds.settings(home, given),
    }
    confs = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    program = [str(home / "bin" / "spark-submit"), "--master", "local[*]"]
    what = ["generate", wanted.generator.name, "--to", str(place)]
    fixed = ["--size", str(wanted.size_bytes), "--seed", str(wanted.seed)]
    chosen = [word for key, value in wanted.parameters for word in (f"--{key}", value)]
    jar = str(catalogue.workloads_jar())
    return [*program, *confs, "--class", catalogue.MAIN, jar, *what, *fixed, *chosen]


def _parts(place: Path) -> tuple[int, int]:
    """Count finished parts (each has a note) and their total; 0 of 0 before it is known."""
    try:
        total = load_document(place / _PLAN, Generating)["parts"]
    except (OSError, ValueError):
        return 0, 0  # not written yet, or renamed away at the end
    return len(list(place.glob(".part-*.json"))), int(total)


def _failure(wanted: Wanted, code: int, log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    messages = [line for line in lines if line.startswith("workloads: ")]
    if code == _USER_ERROR and messages:
        return messages[-1].removeprefix("workloads: ")
    for line in lines[-_LAST_LINES:]:
        print(f"    {line}", file=sys.stderr)
    what = f"the generator {wanted.generator.name}"
    return f"{what} ended with {code}; see its last lines above; run it again to continue"
