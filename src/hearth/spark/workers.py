"""Spark Workers of a standalone cluster, one bound in each place of this machine's plan.

A supervisor (`io.hearth.workers`, on the JVM side) starts them and keeps them running; it writes
`workers.json`, which is read here. Its executors inherit a Worker's CPUs and memory policy.
"""

import contextlib
import fcntl
import json
import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NoReturn

from hearth.base.codec import LEFT_OUT, load_typed, reason
from hearth.base.errors import UserError
from hearth.base.java import reason_of
from hearth.base.limits import Count, Positive
from hearth.base.private_files import open_private, private_directory, write_private
from hearth.base.processes import children, is_alive
from hearth.base.terminal import one_line
from hearth.machine import paths
from hearth.machine.plan import PlanRequest
from hearth.spark.conf import conf_folder, load_spark_env

_MAIN = "io.hearth.workers.Main"
_MASTER = re.compile(r"spark://{0}(,{0})*".format(r"(\[[\da-fA-F:.]+\]|[^\s/:,\[\]]+):\d{1,5}"))
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
#: What Spark's Worker logs at level INFO once its master has accepted it.
_REGISTERED = b"Successfully registered with master"
_KEPT_LOGS = 5
_STOP_S = 40  # the supervisor's own limit is 20
_POLL_S = 0.2


@dataclass(frozen=True)
class Place:
    """A place of the plan and its Worker."""

    id: Count
    cpus: str  #: ids in the kernel's list format
    memory_nodes: str  #: ids in the kernel's list format
    cores: Positive
    memory_mb: Positive
    logs: str  #: the directory of the Worker's output
    restarts: Count
    pid: Positive | None = field(default=None, metadata=LEFT_OUT)  #: absent while there is none
    start_ticks: Count | None = field(default=None, metadata=LEFT_OUT)
    bound: bool = field(default=False, metadata=LEFT_OUT)
    memory_bound: bool = field(default=False, metadata=LEFT_OUT)
    #: how the Worker before this one ended
    last_exit: str | None = field(default=None, metadata=LEFT_OUT)

    @property
    def alive(self) -> bool:
        """Whether its Worker runs."""
        known = self.pid is not None and self.start_ticks is not None
        return known and is_alive(self.pid or 0, self.start_ticks or 0)

    def executors(self) -> list[int]:
        """Return the process ids of what its Worker has started: executors, drivers."""
        return children(self.pid) if self.alive and self.pid else []

    def registered(self) -> bool:
        """Return whether the Worker's log says that its master has accepted it."""
        with contextlib.suppress(OSError):
            return _REGISTERED in (Path(self.logs) / "stderr").read_bytes()
        return False


@dataclass(frozen=True)
class WorkerSet:
    """The Workers that one `hearth workers start` has started, and their supervisor."""

    schema: Literal["hearth/workers/1"]
    name: str
    master: str
    state: Literal["running", "finished", "abandoned"]
    machine: str
    started_at: str
    pid: Positive  #: the supervisor's
    start_ticks: Count
    places: tuple[Place, ...]

    @property
    def alive(self) -> bool:
        """Whether the supervisor runs."""
        return is_alive(self.pid, self.start_ticks)


@dataclass(frozen=True)
class WorkersRequest:
    """The task of the supervisor."""

    schema: Literal["hearth/workers-request/1"]
    name: str
    master: str
    directory: str
    plan: dict[str, Any]  #: hearth/plan-request/1
    java: str
    class_path: list[str]
    memory_mb: Positive  #: SPARK_DAEMON_MEMORY
    java_options: list[str]  #: SPARK_DAEMON_JAVA_OPTS and SPARK_WORKER_OPTS
    arguments: list[str]  #: further ones of Spark's Worker


def check_master(master: str) -> str:
    """Return the URL of a standalone cluster; raise UserError for any other."""
    fits = _MASTER.fullmatch(master)
    ports = [int(each.rpartition(":")[2]) for each in master.split(",")] if fits else [0]
    if not all(0 < port < 1 << 16 for port in ports):
        raise UserError(
            f"MASTER: '{one_line(master)}' names no standalone cluster: give spark://HOST:PORT, "
            "as the master's log and its page say it"
        )
    return master


def default_name(master: str) -> str:
    """Return the name of the set of Workers that joins a master: its first host and port."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", master.removeprefix("spark://").split(",")[0])[:64]


def check_name(name: str) -> str:
    """Return a name that can be a directory's; raise UserError for any other."""
    if not _NAME.fullmatch(name):
        raise UserError(f"--name: '{name}': use letters, digits, '.', '_', '-', at most 64")
    return name


def root() -> Path:
    """Return the directory that holds one for each set of Workers."""
    return paths.state_home() / "workers"


def known_sets() -> tuple[list[WorkerSet], list[str]]:
    """Return the sets on record, and a line for each that cannot be read."""
    sets, problems = [], []
    for file in sorted(root().glob("*/workers.json")):
        try:
            sets.append(load_typed(file, WorkerSet))
        except (OSError, ValueError) as error:
            problems.append(f"'{file}' cannot be read: {reason(error)}; delete its directory")
    return sets, problems


def find_set(name: str | None) -> WorkerSet:
    """Return the running set of this name, or the only one; raise UserError if there is none."""
    running = [each for each in known_sets()[0] if each.alive]
    matching = [each for each in running if name in (None, each.name, each.master)]
    if len(matching) == 1:
        return matching[0]
    names = ", ".join(each.name for each in running)
    if name is None and running:
        raise UserError(f"NAME: {len(running)} sets of workers are running: name one of {names}")
    who = "no workers" if name is None else f"NAME: no workers '{name}'"
    more = f": those that run are {names}" if names else ": start them with 'hearth workers start'"
    raise UserError(f"{who} are running here{more}")


def request(name: str, master: str, plan: PlanRequest, arguments: Sequence[str]) -> WorkersRequest:
    """Return what the supervisor is to do; spark-env.sh changes this process's environment.

    Raises UserError where Spark or Java is missing, or a variable of Spark's is wrong.
    """
    home = paths.spark_home()
    paths.check_spark(home)
    load_spark_env(home, os.environ)
    folder = conf_folder(home, os.environ)
    # As Spark's own scripts do (bin/load-spark-env.sh); a Worker hands them to its executors.
    os.environ.update(SPARK_HOME=str(home), SPARK_CONF_DIR=str(folder), SPARK_ENV_LOADED="1")
    os.environ.setdefault("SPARK_SCALA_VERSION", "2.13")
    words = [os.environ.get(name, "") for name in ("SPARK_DAEMON_JAVA_OPTS", "SPARK_WORKER_OPTS")]
    if os.environ.get("SPARK_LOCAL_DIRS"):  # the user's, not the plan's
        conf = {**plan.conf, "spark.local.dir": os.environ["SPARK_LOCAL_DIRS"]}
        plan = replace(plan, conf=conf)
    return WorkersRequest(
        schema="hearth/workers-request/1",
        name=name,
        master=master,
        directory=str(root() / name),
        plan=plan.document(),
        java=str(paths.java()),
        class_path=[str(folder), str(home / "jars" / "*")],
        memory_mb=_daemon_memory_mb(),
        java_options=[option for text in words for option in _split(text)],
        arguments=list(arguments),
    )


def shuffle_service_note(request: WorkersRequest) -> str | None:
    """Return what is missing where Spark's external shuffle service is to run in a Worker.

    Executors in other places outlive that Worker; its successor knows them by a file in the first
    of Spark's local directories (ExternalShuffleService of Spark 4.3).
    """
    runs = "-Dspark.shuffle.service.enabled=true" in request.java_options
    if not runs or os.environ.get("SPARK_LOCAL_DIRS"):
        return None
    return (
        "spark.shuffle.service.enabled without SPARK_LOCAL_DIRS: when the worker of the first "
        "place is restarted, its shuffle service no longer knows the executors of the others; set "
        "SPARK_LOCAL_DIRS"
    )


def _daemon_memory_mb() -> int:
    text = os.environ.get("SPARK_DAEMON_MEMORY", "1g").strip().lower()
    size = re.fullmatch(r"(\d{1,6})(m|g)b?", text)
    if size is None:
        raise UserError(f"SPARK_DAEMON_MEMORY: '{text}' is not a size: write it as 512m or 1g")
    return int(size[1]) * (1024 if size[2] == "g" else 1)


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UserError(f"SPARK_WORKER_OPTS: {error}: correct its quotes") from error


def _command(request: WorkersRequest, file: Path) -> list[str]:
    """Return the supervisor's command; the user's Java variables hold for it as for its Workers."""
    jars = f"{paths.hearth_jar()}:{request.class_path[-1]}"
    return [request.java, "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", jars, _MAIN, str(file)]


@contextlib.contextmanager
def _prepared(request: WorkersRequest) -> Iterator[tuple[list[str], int]]:
    """Yield the supervisor's command and the lock that it is to inherit.

    The lock is gone when the supervisor is, however it ends. Raises UserError where one of this
    name runs.
    """
    private_directory(root())
    folder = private_directory(Path(request.directory))
    lock = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                f"--name: workers '{request.name}' run here already: 'hearth workers stop "
                f"{request.name}' first, or give these another name"
            ) from None
        except OSError as error:  # a file system without locks
            raise UserError(
                f"HEARTH_STATE: '{folder}' cannot be locked: {reason(error)}: choose a directory "
                "on another file system"
            ) from error
        (folder / "workers.json").unlink(missing_ok=True)
        _set_aside(folder / "supervisor.log")
        file = folder / "request.json"
        write_private(file, json.dumps(vars(request), indent=2))
        os.set_inheritable(lock, True)
        yield _command(request, file), lock
    finally:
        os.close(lock)


def _set_aside(log: Path) -> None:
    """Rename a log to `.1`, and the older ones likewise; five stay, as of each Worker's."""
    for number in range(_KEPT_LOGS - 1, -1, -1):
        older = log.with_name(f"{log.name}.{number}") if number else log
        with contextlib.suppress(FileNotFoundError):
            older.replace(log.with_name(f"{log.name}.{number + 1}"))


def supervise_here(request: WorkersRequest) -> NoReturn:
    """Become the supervisor, in the foreground: for a service manager."""
    with _prepared(request) as (command, _):
        os.execv(command[0], command)


def begin(request: WorkersRequest, say: Callable[[str], None], limit_s: float) -> WorkerSet:
    """Start the supervisor and return its Workers once the master has accepted all of them.

    say: is told of each that was accepted. Raises UserError with the supervisor's reason where it
    ends, or with what is missing after `limit_s` seconds: those that run then go on; where there
    is none yet, none will be started.
    """
    folder = Path(request.directory)
    log_file = folder / "supervisor.log"
    with _prepared(request) as (command, lock), open(log_file, "wb", opener=open_private) as log:
        supervisor = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            pass_fds=(lock,),
            start_new_session=True,
        )
    try:
        return _accepted(request, supervisor, say, limit_s)
    except KeyboardInterrupt:
        supervisor.terminate()
        supervisor.wait(_STOP_S)
        raise


def _accepted(
    request: WorkersRequest,
    supervisor: subprocess.Popen[bytes],
    say: Callable[[str], None],
    limit_s: float,
) -> WorkerSet:
    said: set[int] = set()
    until = time.monotonic() + limit_s
    while True:
        worker_set = _recorded(request, supervisor.pid)
        for place in worker_set.places if worker_set else ():
            if place.id not in said and place.alive and place.registered():
                said.add(place.id)
                say(f"place {place.id}: CPUs {place.cpus}, worker {place.pid} registered")
        if worker_set and len(said) == len(worker_set.places):
            return worker_set
        log = Path(request.directory) / "supervisor.log"
        if supervisor.poll() is not None:
            raise UserError(_reason(log) or f"the supervisor ended: see {log}")
        if time.monotonic() > until:
            if worker_set is None:
                supervisor.terminate()
                supervisor.wait(_STOP_S)
                raise UserError(
                    f"--wait: no worker was started within {limit_s:.0f} s, and none will be: "
                    f"{_reason(log) or 'the supervisor said nothing'}; give more time"
                )
            waiting = [place for place in worker_set.places if place.id not in said]
            raise UserError(
                f"{request.master}: {len(waiting)} of {len(worker_set.places)} workers are not "
                f"registered after {limit_s:.0f} s, and go on trying: see "
                f"{waiting[0].logs}/stderr, or 'hearth workers stop {request.name}'"
            )
        time.sleep(_POLL_S)


def _recorded(request: WorkersRequest, pid: int) -> WorkerSet | None:
    """Return what the supervisor has written of itself; None while it waits for a lease."""
    with contextlib.suppress(OSError, ValueError):
        worker_set = load_typed(Path(request.directory) / "workers.json", WorkerSet)
        if worker_set.pid == pid:
            return worker_set
    return None


def _reason(log: Path) -> str:
    """Return what a supervisor has said why it ended; empty where it said nothing."""
    return reason_of(log.read_text(errors="replace")) if log.exists() else ""


def drain(places: Sequence[Place], limit_s: float, say: Callable[[str], None]) -> None:
    """Ask Workers to decommission their executors, and wait until those have ended.

    An application whose `spark.decommission.enabled` is false keeps its executors: after `limit_s`
    seconds they are left as they are, and a line says how many.
    """
    busy = [place for place in places if place.executors()]
    for place in busy:
        _send(place, signal.SIGPWR)
    until = time.monotonic() + limit_s
    while busy and time.monotonic() < until:
        time.sleep(_POLL_S)
        busy = [place for place in busy if place.executors()]
    if busy:
        left = sum(len(place.executors()) for place in busy)
        say(f"after {limit_s:.0f} s applications still ran (processes: {left}): stopping them now")


def stop(worker_set: WorkerSet) -> None:
    """End a set of Workers; raise UserError where its supervisor does not end."""
    _send(worker_set, signal.SIGTERM)
    if not _eventually(lambda: not worker_set.alive, _STOP_S):
        raise UserError(
            f"process {worker_set.pid} did not end within {_STOP_S} s: end it with 'kill -9 "
            f"{worker_set.pid}', and its workers end with it"
        )


def restart(worker_set: WorkerSet, place: Place, limit_s: float) -> None:
    """End the Worker of a place and wait until its successor is registered.

    Raises UserError where that does not come within `limit_s` seconds.
    """
    _send(place, signal.SIGTERM)

    def back() -> bool:
        now = next(p for p in find_set(worker_set.name).places if p.id == place.id)
        return now.alive and now.pid != place.pid and now.registered()

    if not _eventually(back, limit_s):
        raise UserError(
            f"place {place.id}: its worker is not back after {limit_s:.0f} s: see {place.logs}"
        )


def _send(to: Place | WorkerSet, what: signal.Signals) -> None:
    """Send a signal, unless the process has ended: its id may be another's by now."""
    if to.alive and to.pid:
        with contextlib.suppress(ProcessLookupError):
            os.kill(to.pid, what)


def _eventually(true: Callable[[], bool], limit_s: float) -> bool:
    until = time.monotonic() + limit_s
    while not true():
        if time.monotonic() > until:
            return False
        time.sleep(_POLL_S)
    return True
