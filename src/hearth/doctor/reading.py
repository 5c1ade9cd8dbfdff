"""Read the machine that the doctor looks at: this one, or a capture."""

import contextlib
import errno
import lzma
import os
import socket
import tarfile
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from hearth.base.absent import Absent, Measured
from hearth.base.codec import typed
from hearth.base.errors import UserError
from hearth.base.temporary import working_directory
from hearth.doctor.machine import (
    Machine,
    UserSettings,
    local_dirs,
    space_of,
    temporary,
    version_of_java,
)
from hearth.machine import class_data, jvm, paths
from hearth.machine.plan import Plan, PlanRequest
from hearth.machine.topology import Topology
from hearth.machine.tree import Tree
from hearth.record.machine_settings import spark_version
from hearth.spark.conf import conf_folder, read_properties

T = TypeVar("T")
_RESOLVE_S = 3.0
_NOT_OF_A_CAPTURE = Absent("not part of a capture")
#: A capture of a large machine has some ten thousand files of some bytes.
_MOST_FILES, _MOST_BYTES = 200_000, 1 << 20
#: Folders above a file: sysfs has some twenty.
_DEEPEST = 64
_WANTED = ("proc", "sys", "etc")


@contextlib.contextmanager
def read_machine(
    capture: str | None, request: PlanRequest, debug: bool = False
) -> Iterator[Machine]:
    """Yield the machine of this moment, or of a capture, which is unpacked meanwhile.

    Raises UserError where the capture cannot be read.
    """
    topology, plan = _planned(capture, request, debug)
    if capture is None:
        yield Machine(Tree(), topology, plan, _user_settings(), request.workload)
        return
    if isinstance(topology, Absent):
        raise UserError(topology.reason)
    with captured_machine(Path(capture), topology, plan, request.workload) as machine:
        yield machine


@contextlib.contextmanager
def captured_machine(
    capture: Path,
    topology: Topology,
    plan: Measured[Plan],
    workload: str | None,
) -> Iterator[Machine]:
    """Yield the machine of a capture that has been planned for, unpacked meanwhile.

    Raises UserError where it cannot be unpacked.
    """
    with _unpacked(capture) as root:
        tree = Tree(root, confined=True)
        yield Machine(tree, topology, plan, _NOT_OF_A_CAPTURE, workload)


def _planned(
    capture: str | None, request: PlanRequest, debug: bool
) -> tuple[Measured[Topology], Measured[Plan]]:
    """Return the topology and the plan, or why there is none: no Java, or nothing fits."""
    try:
        plan = jvm.plan({**request.document(), "with_topology": True}, debug)
        return typed(plan.topology, Topology), plan
    except UserError as error:
        no_plan = Absent(f"there is no plan: {error}")
    try:
        return jvm.topology(capture, debug), no_plan
    except UserError as error:
        return Absent(str(error)), no_plan


def _user_settings() -> UserSettings:
    home = _measured(paths.spark_home)
    version: Measured[str] = home if isinstance(home, Absent) else spark_version(home)
    conf = _conf_file(home)
    return UserSettings(
        environment=dict(os.environ),
        conf=conf,
        local_dirs=local_dirs({} if isinstance(conf, Absent) else conf),
        temporary=temporary(),
        space=space_of,
        spark_version=version,
        java_version=version_of_java(),
        state=os.path.realpath(paths.state_home()),
        cache=os.path.realpath(paths.cache_home()),
        jar=_measured(lambda: os.path.realpath(paths.hearth_jar())),
        installed={} if isinstance(home, Absent) else _links(home),
        archive_failures=_measured(class_data.failures),
        resolve=_resolve,
    )


def _measured(ask: Callable[[], T]) -> Measured[T]:
    """Return an answer, or why there is none."""
    try:
        return ask()
    except UserError as error:
        return Absent(str(error))
    except OSError as error:
        return Absent(f"could not read {error.filename}: {error.strerror}")


def _conf_file(home: Measured[Path]) -> Measured[Mapping[str, str]]:
    """Read Spark's settings: none where there is no file, why not where that cannot be seen."""
    if isinstance(home, Absent):
        return home
    file = conf_folder(home, os.environ) / "spark-defaults.conf"
    try:
        file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:  # of a folder that this user may not enter
        return Absent(f"could not read {file}: {error.strerror}")
    return _measured(lambda: read_properties(file, file.name))


def _links(home: Path) -> Mapping[str, str]:
    links = sorted((home / "jars").glob("hearth-spark_*.jar"))
    return {str(link): os.path.realpath(link) for link in links}


def _resolve(name: str) -> Measured[Sequence[str]]:
    """Return the addresses of a host name, none where there is none; bounded in time."""
    answer: list[Sequence[str]] = []

    def ask() -> None:
        try:
            answer.append(sorted({str(info[4][0]) for info in socket.getaddrinfo(name, None)}))
        except OSError:
            answer.append([])

    asking = threading.Thread(target=ask, daemon=True)  # getaddrinfo(3) has no limit of its own
    try:
        asking.start()
    except RuntimeError as error:  # at a limit of threads
        return Absent(f"could not ask for the address of {name}: {error}")
    asking.join(_RESOLVE_S)
    return answer[0] if answer else Absent(f"the address of {name} took over {_RESOLVE_S:.0f} s")


@contextlib.contextmanager
def _unpacked(capture: Path) -> Iterator[Path]:
    """Yield a capture's root: the directory itself, or an archive's in a directory that goes."""
    if capture.is_dir():
        yield _root(capture)
        return
    with working_directory(False, prefix="hearth-capture-") as folder:
        # A description in words has no files.
        if capture.is_file() and tarfile.is_tarfile(capture):
            _unpack(capture, folder)
        yield _root(folder)


def _unpack(capture: Path, folder: Path) -> None:
    """Unpack files and links of /proc, /sys and /etc; none leads out of the folder (PEP 706)."""
    try:
        with tarfile.open(capture) as archive:
            for number, member in enumerate(archive):
                if number > _MOST_FILES:
                    raise UserError(
                        f"--machine: {capture} holds over {_MOST_FILES} files: it is not a capture"
                    )
                parts = Path(member.name).parts
                small = (member.size <= _MOST_BYTES and len(parts) <= _DEEPEST) and (
                    member.isreg() or member.issym() or member.isdir()
                )
                if small and any(part in _WANTED for part in parts[:3]):
                    with contextlib.suppress(
                        tarfile.FilterError, FileExistsError, NotADirectoryError
                    ):
                        archive.extract(member, folder, filter="data")
    except (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise  # no fault of the capture's
        raise UserError(f"--machine: {capture} cannot be unpacked: {error}") from error


def _root(folder: Path) -> Path:
    """Return where `proc` or `sys` is: at the top, or in the one directory there."""
    if (folder / "sys").is_dir() or (folder / "proc").is_dir():
        return folder
    inner = [path for path in sorted(folder.iterdir()) if path.is_dir()]
    return inner[0] if len(inner) == 1 else folder
