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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hearth.base.codec import load_document, read_document
from hearth.base.errors import UserError
from hearth.base.private_files import open_private
from hearth.base.progress import working
from hearth.base.sizes import show_bytes
from hearth.base.temporary import working_directory
from hearth.machine import paths
from hearth.spark import cds
from hearth.spark.children import run_child
from hearth.spark.conf import user_settings
from hearth.spark.submit_args import SubmitLine
from hearth.workloads import catalogue
from hearth.workloads.shapes import Generating, Manifest
from hearth.workloads.tpch import TpchTables, scale_of

MANIFEST = "_manifest.json"
#: What is made if the user gives no size: a few seconds of each job on two cores.
DEFAULT_BYTES = {"text": 64 << 20, "records": 64 << 20, "graph": 8 << 20, "tpch": 100 << 20}
_DEFAULT_BYTES = 16 << 20
_PLAN = "_generating.json"
_USER_ERROR = 2
_WAIT_S = 0.2
_LAST_LINES = 15


@dataclass(frozen=True)
class Generated:
    """A data set of the workloads' generators, by everything that determines its bytes."""

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

    @property
    def title(self) -> str:
        """What is made, for the user."""
        return f"{show_bytes(self.size_bytes)} of {self.generator.name} data, seed {self.seed}"

    @property
    def disk_bytes(self) -> int:
        """About so much as files."""
        return self.size_bytes

    @property
    def identity(self) -> dict[str, object]:
        """What its manifest must say."""
        return {
            "generator": self.generator.name,
            "version": self.generator.version,
            "seed": self.seed,
            "size_bytes": self.size_bytes,
            **dict(self.parameters),
        }

    def make(self, folder: Path, lock: int, show: Callable[[int, int], None]) -> None:
        """Make it, or the rest of it, with the lock inherited; show: called with finished parts and
        all.
        """
        with working_directory(False, "hearth-generate-") as scratch:
            log = scratch / "log"
            code = run_child(
                self._command(folder, scratch),
                {},
                log,
                watch=lambda: show(*_parts(folder)),
                inherited=(lock,),
            )
            if code:
                raise UserError(_failure(self.generator.name, code, log))

    def _command(self, folder: Path, scratch: Path) -> list[str]:
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
        what = ["generate", self.generator.name, "--to", str(folder)]
        fixed = ["--size", str(self.size_bytes), "--seed", str(self.seed)]
        chosen = [word for key, value in self.parameters for word in (f"--{key}", value)]
        jar = str(paths.workloads_jar())
        return [*program, *confs, "--class", catalogue.MAIN, jar, *what, *fixed, *chosen]


Wanted = Generated | TpchTables


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
) -> dict[str, Wanted]:
    """Return the data sets that a job reads, by the name of the input.

    parameters: of the job, those that the user chose; the generator is given those that both
    share. size_bytes: of each data set; None for the small one that is made by default.
    """
    values = {p.name: p.default for p in job.parameters} | parameters
    wanted: dict[str, Wanted] = {}
    for item in job.inputs:
        size = size_bytes or default_bytes(item.generator)
        if item.generator == "tpch":
            scale = float(values["scale"])  # 0: as the size says
            wanted[item.name] = TpchTables(scale or scale_of(size))
        else:
            shared = tuple((name, values[name]) for name in item.shared)
            wanted[item.name] = Generated(offer.generator(item.generator), size, seed, shared)
    return wanted


def ensure_all(wanted: dict[str, Wanted], folder: Path | None = None) -> dict[str, Path]:
    """Return the directory of each input.

    The user's folder holds one directory each for several.
    """
    if folder is None or len(wanted) == 1:
        return {name: ensure(item, folder) for name, item in wanted.items()}
    return {name: ensure(item, folder / name) for name, item in wanted.items()}


def ensure(wanted: Wanted, folder: Path | None = None) -> Path:
    """Return the directory of a data set, made first where it is missing or unfinished.

    folder: the user's own choice, else a folder of `data_home()`. Raises UserError where it holds
    something else, there is no room, or the generator says what the user can put right.
    """
    directory = folder if folder is not None else data_home() / wanted.name
    if _is_ready(wanted, directory):
        return directory
    _check_room(wanted, directory)
    with _lock(directory) as lock:
        if not _is_ready(wanted, directory):  # another process may have made it meanwhile
            said = f"hearth: making {wanted.title}, once, in {directory} ..."
            print(said, file=sys.stderr, flush=True)
            with working("making data") as work:
                wanted.make(directory, lock, work.show)
    if not _is_ready(wanted, directory):
        raise RuntimeError(f"the generator succeeded but left no {directory / MANIFEST}")
    return directory


def manifest(directory: Path) -> dict[str, Any]:
    """Return the manifest of a finished data set; raise UserError for a damaged one."""
    file = directory / MANIFEST
    return read_document(file, Manifest, "delete the folder")


def _is_ready(wanted: Wanted, directory: Path) -> bool:
    if not os.path.lexists(directory / MANIFEST):
        _check_ours(directory)
        return False
    document = manifest(directory)
    holds = {**document, **document.get("parameters", {})}
    for key, value in wanted.identity.items():
        if str(holds.get(key)) != str(value):
            raise UserError(
                f"'{directory}' holds data with {key} {holds.get(key)}, not {value}: "
                "give another --data DIR, or delete this one"
            )
    for file in document.get("files", []):
        part = directory / file["path"]
        if not part.is_file() or part.stat().st_size != file["bytes"]:
            raise UserError(f"'{part}' is missing or damaged: delete '{directory}'")
    return True


def _check_ours(directory: Path) -> None:
    """Refuse a folder of the user's own files."""
    if not directory.exists():
        return
    if not directory.is_dir():
        raise UserError(f"--data: '{directory}' is not a directory")
    theirs = any(not file.name.startswith(".") for file in directory.iterdir())
    if theirs and not (directory / _PLAN).exists():
        raise UserError(
            f"'{directory}' has files and no {MANIFEST}: it is not a data set of hearth; "
            "give an empty or new --data DIR"
        )


def _check_room(wanted: Wanted, directory: Path) -> None:
    existing = next(folder for folder in [directory, *directory.parents] if folder.exists())
    free = shutil.disk_usage(existing).free
    if wanted.disk_bytes > free:
        raise UserError(
            f"--size: {show_bytes(wanted.disk_bytes)} does not fit, {show_bytes(free)} is free in "
            f"'{existing}': give a smaller size, or set HEARTH_DATA to a larger disk"
        )


@contextlib.contextmanager
def _lock(directory: Path) -> Iterator[int]:
    """Hold the lock next to a directory; say so once if it has to wait."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    file = directory.with_name(f".{directory.name}.lock")
    with open(file, "a", opener=open_private) as lock:
        announced = False
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not announced:
                    waiting = f"hearth: waiting for another process that is making '{directory}'"
                    print(waiting, file=sys.stderr, flush=True)
                announced = True
                time.sleep(_WAIT_S)
        yield lock.fileno()


def _parts(directory: Path) -> tuple[int, int]:
    """Count finished parts (each has a note) and their total; 0 of 0 before it is known."""
    try:
        total = load_document(directory / _PLAN, Generating)["parts"]
    except (OSError, ValueError):
        return 0, 0  # not written yet, or renamed away at the end
    return len(list(directory.glob(".part-*.json"))), int(total)


def _failure(generator: str, code: int, log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    messages = [line for line in lines if line.startswith("workloads: ")]
    if code == _USER_ERROR and messages:
        return messages[-1].removeprefix("workloads: ")
    for line in lines[-_LAST_LINES:]:
        print(f"    {line}", file=sys.stderr)
    again = "see its last lines above; run it again to continue"
    return f"the generator {generator} ended with {code}; {again}"
