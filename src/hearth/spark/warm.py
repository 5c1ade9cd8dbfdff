"""Warm servers: Spark Connect servers that run by a plan and that programs reuse.

A server is its folder, `warm/ID` below the state directory, where ID is a hash of all that is fixed
when Spark starts (`identity`). `server.json` says how to reach it, `lock` lets one process at a
time find, start or end it, and each client holds its own file in `clients` locked: the kernel
releases that with the client, however it ends. The server's parent, its keeper
(`hearth.spark.warm_keeper`), ends it when no client was there for the idle time, and releases what
killed clients left behind. Where the keeper dies, the server goes with it.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

import hearth
from hearth.base.codec import load_typed, to_json
from hearth.base.durations import parse_seconds, show_seconds
from hearth.base.errors import UserError
from hearth.base.private_files import open_private, private_directory, write_private
from hearth.base.processes import die_with, is_alive
from hearth.base.redaction import Redaction
from hearth.machine import paths
from hearth.spark import warm_client
from hearth.spark.command import Launch, pass_through_reason
from hearth.spark.conf import user_master, user_remote
from hearth.spark.followed import RunSide, become_run, raise_said
from hearth.spark.run_files import KEPT_S, handed_over
from hearth.spark.submission import Submission, python_of_application
from hearth.spark.submit_args import CONNECT_SERVER, Option, SubmitLine

IDLE_KEY = "spark.hearth.warm.idle"
_IDLE = "30m"
_PY_FILES = "spark.submit.pyFiles"
_DIRECTORY, _FOLDER = "directory", "folder of the program"
#: The class of a Connect server that lets nobody in without the token.
_ASKS = "org/apache/spark/sql/connect/service/PreSharedKeyAuthenticationInterceptor.class"
_START_LIMIT_S = 240
_STOP_LIMIT_S = 60
_LOOK_S = 0.05
#: Options that name files of this machine, whose content is part of a server.
_WITH_FILES = ("--jars", "--files", "--archives", "--driver-class-path")
#: Variables that Spark, Hadoop, Java, Python, and what they load, read when they start.
_VARIABLES = ("SPARK_", "PYSPARK_", "HADOOP_", "HEARTH_", "AWS_", "GOOGLE_", "AZURE_", "JAVA_",
              "JDK_", "PYTHON", "LD_", "LC_", "OMP_", "CUDA_")  # fmt: skip
_NAMES = ("PATH", "HOME", "LANG", "TZ", "TMPDIR", "VIRTUAL_ENV", "CONDA_PREFIX", "SLURM_JOB_ID")
_NOT_COMPARED = ("SPARK_ENV_LOADED", "SPARK_CONNECT_AUTHENTICATE_TOKEN", "PYSPARK_PYTHON",
                 "SPARK_CONNECT_MODE_ENABLED", "PYSPARK_DRIVER_PYTHON")  # fmt: skip


@dataclass(frozen=True)
class WarmServer:
    """A server that runs, as its keeper writes it down."""

    schema: Literal["hearth/warm/1"]
    id: str
    pid: int
    start_ticks: int
    keeper: int
    keeper_ticks: int
    port: int
    token: str
    started_at: str
    idle_s: float
    identity: dict[str, str]

    @property
    def alive(self) -> bool:
        return is_alive(self.pid, self.start_ticks) and is_alive(self.keeper, self.keeper_ticks)

    @property
    def environment(self) -> dict[str, str]:
        """What makes pyspark a client of it; local credentials are for this name alone."""
        return {
            "SPARK_REMOTE": f"sc://localhost:{self.port}/",
            "SPARK_CONNECT_AUTHENTICATE_TOKEN": self.token,
            "SPARK_CONNECT_MODE_ENABLED": "1",  # an RDD program starts no Spark of its own
        }


def folder_of(name: str) -> Path:
    return paths.state_home() / "warm" / name


def read(folder: Path) -> WarmServer | None:
    """Return the server of a folder if it runs; what an earlier one left behind is none."""
    try:
        server = load_typed(folder / "server.json", WarmServer)
    except (OSError, ValueError):
        return None
    return server if server.alive else None


def servers() -> list[WarmServer]:
    """Return this user's servers that run, the oldest first."""
    found = [read(file.parent) for file in (paths.state_home() / "warm").glob("*/server.json")]
    return sorted((one for one in found if one is not None), key=lambda one: one.started_at)


def clients(server_id: str) -> int:
    """Return the number of programs that use a server now."""
    files = (folder_of(server_id) / "clients").glob("[!.]*")
    return sum(warm_client.is_held(file) for file in files)


def idle_since(folder: Path) -> float:
    """Return when the last client came or went, in seconds since 1970."""
    return (folder / "clients").stat().st_mtime


def refuse(line: SubmitLine, settings: Mapping[str, str]) -> None:
    """Raise UserError for a program that no warm server of hearth's can run."""
    without = "leave --warm out"
    if not line.application:
        raise UserError("no application given: name a Python file")
    name = line.application[0]
    if not name.endswith(".py") or line.has("--class"):
        raise UserError(
            f"--warm: '{name}' is not a Python program, and only those on the DataFrame API "
            f"run on a warm server: {without}"
        )
    master, remote = (of(line, settings, os.environ) for of in (user_master, user_remote))
    if reason := pass_through_reason(line, master, remote):
        raise UserError(f"--warm: {reason}, and hearth starts warm servers by its plan: {without}")


def check_connect() -> None:
    """Raise UserError for a Spark without a Connect server that asks for a token."""
    home = paths.spark_home()
    jars = list((home / "jars").glob("spark-connect_2.13-*.jar"))
    if not any(_ASKS in zipfile.ZipFile(jar).namelist() for jar in jars):
        raise UserError(
            f"--warm: no spark-connect_2.13-*.jar that asks for a token in {home}/jars: take a "
            "Spark that has it, such as pip's pyspark, or leave --warm out"
        )


def server_line(line: SubmitLine) -> SubmitLine:
    """Return the line of the server for a program's line: what belongs to the program left out."""
    kept = tuple(
        option
        for option in line.options
        if option.name not in ("--py-files", "--name") and option.key not in (IDLE_KEY, _PY_FILES)
    )
    server = replace(line, options=kept, application=("spark-internal",))
    return server.adding(Option("--class", CONNECT_SERVER))


def pythons(settings: Mapping[str, str], environment: Mapping[str, str]) -> tuple[str, str]:
    """Return the Python of the program and that of its workers, in Spark's order of precedence."""
    chosen = python_of_application(settings, environment)[0].get("PYSPARK_PYTHON", "python3")
    python = settings.get("spark.pyspark.python")
    workers = python or environment.get("PYSPARK_PYTHON") or chosen
    program = settings.get("spark.pyspark.driver.python") or python
    program = program or environment.get("PYSPARK_DRIVER_PYTHON") or workers
    return shutil.which(program) or program, workers


def client_environment(python: str) -> dict[str, str]:
    """Return the environment in which a Python finds the Spark of the server."""
    home = paths.spark_home()
    if Path(python) == Path(sys.executable) and not os.environ.get("SPARK_HOME"):
        return dict(os.environ)  # its own pyspark
    lib = home / "python" / "lib"
    source = home / "python"
    spark = source if (source / "pyspark" / "__init__.py").is_file() else lib / "pyspark.zip"
    found = [spark, *lib.glob("py4j-*.zip"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, found))}


def identity(
    line: SubmitLine, settings: Mapping[str, str], environment: Mapping[str, str], folder: str
) -> dict[str, str]:
    """Return all that is fixed when a server starts, by name: a program with the same reuses it.

    line: of the server. folder: the program's.
    """
    program, workers = pythons(settings, environment)
    files = [name for option in line.options if option.name in _WITH_FILES
             for name in (option.value or "").replace(":", ",").split(",")]  # fmt: skip
    own = ("spark.app.name", IDLE_KEY, _PY_FILES)
    return {
        "hearth": hearth.__version__,
        "Spark": _stamped(str(paths.spark_home())),
        "Python": _stamped(program),
        "Python of workers": _stamped(workers),
        _DIRECTORY: str(Path.cwd()),
        _FOLDER: folder,
        "the CPUs": ",".join(map(str, sorted(os.sched_getaffinity(0)))),
        **{name: str(value) for name, value in line.planning.given.items()},
        **{name: value for name, value in settings.items() if name not in own},
        **{option.name: option.value or "" for option in line.options if option.key is None},
        **{f"file {name}": _stamped(name) for name in files if name},
        **{name: value for name, value in environment.items() if _is_compared(name)},
    }


def _is_compared(variable: str) -> bool:
    named = variable in _NAMES or variable.startswith(_VARIABLES)
    return named and variable not in _NOT_COMPARED


def _stamped(name: str) -> str:
    """Return a file's name with its time of change, where it is one of this machine."""
    with contextlib.suppress(OSError):
        return f"{name} {Path(name).stat().st_mtime_ns}"
    return name


@contextlib.contextmanager
def locked(folder: Path, limit_s: float = _START_LIMIT_S) -> Iterator[int]:
    """Hold a server's lock, and yield its descriptor; raises UserError at the limit."""
    descriptor = open_private(str(folder / "lock"), os.O_RDWR | os.O_CREAT)
    try:
        end, told = time.monotonic() + limit_s, False
        while not _taken(descriptor):
            if time.monotonic() > end:
                raise UserError(
                    f"'{folder / 'lock'}': held for more than {limit_s:.0f} s by a hearth that "
                    "starts or ends a warm server: end that, or leave --warm out"
                )
            if not told:
                print("hearth: waiting for the warm server that another starts", file=sys.stderr)
            told = True
            time.sleep(_LOOK_S)
        yield descriptor
    finally:
        os.close(descriptor)


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@dataclass(frozen=True)
class Client:
    """A place at a server: the locked file, and whether the server was there before."""

    server: WarmServer
    file: Path
    descriptor: int
    reused: bool

    @property
    def told(self) -> str:
        """What the user is told of the server."""
        what = f"{'reused' if self.reused else 'started'} warm server {self.server.id}"
        idle = show_seconds(self.server.idle_s)
        stop = f"hearth status --stop {self.server.id}"
        return f"{what}, which ends after {idle} without a program, or by {stop}"

    @property
    def environment(self) -> dict[str, str]:
        return {**self.server.environment, "HEARTH_WARM": f"{self.descriptor},{self.file}"}


def connect(
    line: SubmitLine,
    settings: Mapping[str, str],
    prepare: Callable[[SubmitLine, Mapping[str, str]], Submission],
) -> Client:
    """Return a client of the server for this line; start that server where it does not run.

    prepare: plans and composes it, in the process that becomes it, and shows the plan.
    """
    idle_s = parse_seconds(settings.get(IDLE_KEY, _IDLE), IDLE_KEY)
    beside = Path(line.application[0].removeprefix("file:")).resolve().parent
    line = server_line(line)
    fixed = identity(line, settings, os.environ, str(beside))
    text = json.dumps(fixed, sort_keys=True)
    name = hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:8]
    folder = private_directory(folder_of(name))
    private_directory(folder / "clients")
    os.utime(folder)
    with locked(folder) as lock:
        server, reused = read(folder), True
        if server is None:
            check_connect()
            sweep(time.time() - KEPT_S)
            _check_packages(pythons(settings, os.environ)[0])
            _say_differences(fixed, settings)
            server = _started(_Start(folder, line, settings, fixed, idle_s, lock), prepare)
            reused = False
        elif IDLE_KEY in settings and server.idle_s != idle_s:
            server = replace(server, idle_s=idle_s)
            write(folder, server)
        file, descriptor = _registered(folder)
    return Client(server, file, descriptor, reused)


def sweep(before: float) -> None:
    """Delete what servers have left behind that ended long ago: their logs."""
    for folder in (paths.state_home() / "warm").iterdir():
        if folder.stat().st_mtime < before and read(folder) is None:
            shutil.rmtree(folder, ignore_errors=True)


def _check_packages(python: str) -> None:
    words = [python, warm_client.__file__, "--missing"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    if done.returncode or done.stdout.strip():
        lacks = done.stdout.strip() or done.stderr.strip()[-200:]
        install = lacks.replace("pandas", "'pandas<3'")  # Spark 4.3 warns of a newer one
        raise UserError(f"--warm: {python} lacks {lacks}: {python} -m pip install {install}")


def _say_differences(fixed: Mapping[str, str], settings: Mapping[str, str]) -> None:
    """Say why none of the servers that run can be reused."""
    hidden = Redaction.of(settings)
    for other in servers():
        names = sorted({*fixed, *other.identity})
        shown = {name: hidden.setting(name, value) for name, value in fixed.items()}
        differ = [name for name in names if shown.get(name) != other.identity.get(name)]
        what = ", ".join(differ[:3]) + (" and more" if len(differ) > 3 else "")
        print(
            f"hearth: warm server {other.id} is for another {what or 'setting'}, so another one "
            f"starts beside it; hearth status --stop {other.id} ends that",
            file=sys.stderr,
        )


def _registered(folder: Path) -> tuple[Path, int]:
    """Return a new file of a client, which this process holds locked, and its descriptor."""
    file = folder / "clients" / f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
    new = file.with_name(f".{file.name}")
    descriptor = open_private(str(new), os.O_RDWR | os.O_CREAT | os.O_EXCL)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    new.rename(file)
    return file, descriptor


def write(folder: Path, server: WarmServer) -> None:
    write_private(folder / "server.json", json.dumps(to_json(server)))


@dataclass(frozen=True)
class _Start:
    """A server that is to be started, while its lock is held."""

    folder: Path
    line: SubmitLine
    settings: Mapping[str, str]
    identity: Mapping[str, str]
    idle_s: float
    lock: int


def _started(
    start: _Start, prepare: Callable[[SubmitLine, Mapping[str, str]], Submission]
) -> WarmServer:
    """Start keeper and server; return when clients can connect. Raises what kept it from that."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _become_keeper(start, prepare, writing)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode(errors="replace")
    server = read(start.folder)
    if said:
        raise_said(said)
    if server is None:
        raise UserError(f"the warm server did not start: see '{start.folder / 'server.log'}'")
    return server


def _become_keeper(
    start: _Start, prepare: Callable[[SubmitLine, Mapping[str, str]], Submission], pipe: int
) -> None:
    """Leave the caller's session, start the server, and become its keeper; never comes back."""
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        (start.folder / "server.log").unlink(missing_ok=True)
        port, token, dies = _free_port(), uuid.uuid4().hex, die_with(os.getpid())
        server = os.fork()
        if server == 0:
            dies()
            become_run(lambda side: _become_server(start, prepare, port, token), RunSide(pipe))
        # The server has a copy of what it needs; the terminal is the client's.
        redirect(start.folder / "server.log")
        _exec_keeper(start, server, port, token, pipe)
    finally:
        os._exit(1)


def _exec_keeper(start: _Start, server: int, port: int, token: str, pipe: int) -> None:
    shown = Redaction.of(start.settings)
    known = {name: shown.setting(name, value) for name, value in start.identity.items()}
    task = {"folder": str(start.folder), "pid": server, "port": port, "token": token}
    python = pythons(start.settings, os.environ)[0]
    task |= {"identity": known, "idle_s": start.idle_s, "pipe": pipe, "lock": start.lock}
    handed = os.memfd_create("task")
    os.write(handed, json.dumps(task).encode())
    os.lseek(handed, 0, os.SEEK_SET)
    os.dup2(handed, 0)
    _inherit((pipe, start.lock))
    words = [sys.executable, "-m", "hearth.spark.warm_keeper", python]
    os.execve(sys.executable, words, client_environment(python))


def _become_server(
    start: _Start,
    prepare: Callable[[SubmitLine, Mapping[str, str]], Submission],
    port: int,
    token: str,
) -> None:
    """Become Spark's Connect server by the plan."""
    added = {
        "spark.app.name": f"hearth warm server {start.folder.name}",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
    }
    submission = prepare(start.line, {**start.settings, **added})
    sys.stderr.flush()
    if submission.afterwards is not None:
        submission.afterwards(os.getpid())
    launch = handed_over(submission.launch, start.line, paths.state_home())
    options = [*launch.options, *(Option("--conf", f"{k}={v}") for k, v in added.items())]
    launch = replace(launch, options=options)
    redirect(start.folder / "server.log")
    _inherit(launch.inherited)
    environment = {**os.environ, **launch.environment, "SPARK_CONNECT_AUTHENTICATE_TOKEN": token}
    # Workers import what lies beside the program, and in its directory, as without a server.
    beside = [start.identity[_FOLDER], start.identity[_DIRECTORY], os.environ.get("PYTHONPATH")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, beside))
    os.execvpe(launch.command[0], launch.command, environment)


def redirect(log: Path) -> None:
    """Have this process read nothing, and write to a private file."""
    nothing = os.open(os.devnull, os.O_RDWR)
    output = open_private(str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream, descriptor in ((0, nothing), (1, output), (2, output)):
        os.dup2(descriptor, stream)


def _inherit(descriptors: tuple[int, ...]) -> None:
    """Have the next program inherit the standard streams and these; nothing of the caller's."""
    for descriptor in [int(entry.name) for entry in Path("/proc/self/fd").iterdir()]:
        with contextlib.suppress(OSError):  # the listing's own
            os.set_inheritable(descriptor, descriptor <= 2 or descriptor in descriptors)


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as trial:
        trial.bind(("127.0.0.1", 0))
        return int(trial.getsockname()[1])


def attach(server_id: str) -> WarmServer:
    """Make this process a client of a server until it ends; the keeper releases its sessions."""
    folder = folder_of(server_id)
    server = read(folder)
    if server is None:
        raise UserError(f"warm server {server_id} has just ended: try again")
    _watch(folder, server.token)
    return server


@cache
def _watch(folder: Path, _token: str) -> None:
    """Do it once for each server of this process."""
    file, _ = _registered(folder)
    warm_client.Sessions(file, []).watch()


def program_command(client: Client, line: SubmitLine, settings: Mapping[str, str]) -> Launch:
    """Return the command of the program, the client of a warm server."""
    python = pythons(settings, os.environ)[0]
    named = line.last("--py-files") or settings.get(_PY_FILES, "")
    files = [str(Path(name.removeprefix("file:")).absolute()) for name in named.split(",") if name]
    environment = {**client_environment(python), **client.environment}
    environment["HEARTH_WARM_PY_FILES"] = ",".join(files)
    # A module is found in its folder, an archive is one.
    places = [str(Path(file).parent) if file.endswith(".py") else file for file in files]
    environment["PYTHONPATH"] = os.pathsep.join(
        [*places, *filter(None, [environment.get("PYTHONPATH")])]
    )
    words = [warm_client.__file__, line.application[0].removeprefix("file:")]
    return Launch(Path(python), [], [*words, *line.application[1:]], environment, [])


def stop(server: WarmServer) -> None:
    """Have a server's keeper end it; return when it is gone. Raises UserError at the limit."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(server.keeper, signal.SIGTERM)
    end = time.monotonic() + _STOP_LIMIT_S
    while is_alive(server.pid, server.start_ticks) or is_alive(server.keeper, server.keeper_ticks):
        if time.monotonic() > end:
            raise UserError(
                f"warm server {server.id} is still there after {_STOP_LIMIT_S} s: "
                f"kill -9 {server.pid}"
            )
        time.sleep(_LOOK_S)
