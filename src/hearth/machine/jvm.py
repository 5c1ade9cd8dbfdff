"""Call `io.hearth.core.cli.Main`: a verb and a JSON request in, one JSON document out.

The planner lives once, on the JVM side; see ARCHITECTURE.md for why.
"""

import contextlib
import json
import os
import stat
import subprocess
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hearth.base.codec import parse, typed
from hearth.base.errors import UserError, nearest
from hearth.base.java import QUIET, own_directory, own_environment, reason_of
from hearth.base.private_files import open_private
from hearth.base.processes import die_with
from hearth.base.progress import answer_of
from hearth.machine import class_data, paths
from hearth.machine.plan import Plan
from hearth.machine.topology import Topology

#: What is told of a verb that takes a second.
_WAITS = {"topology": "reading the machine", "plan": "planning", "plans": "planning"}
_MAIN = "io.hearth.core.cli.Main"
_USER_ERROR = 2
_OWN_FAULT = 70
#: What a JVM older than the jar says; its `release` file did not tell its version.
_TOO_OLD = "UnsupportedClassVersionError"
_BESIDE = 19  # the lowest priority, nice(2)
# A short-lived program: little to compile, nothing to collect in parallel.
_SHORT_LIVED = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xss8m"]
_COMPUTING = ["-XX:+UseSerialGC"]
_LIBRARIES = ("scala-library-2.13*.jar", "jackson-core-2*.jar", "jackson-databind-2*.jar")
_ANNOTATIONS = "jackson-annotations-2*.jar"
#: What reads the archives of captures.
_COMPRESSION = (
    "commons-compress-1*.jar",
    "commons-io-2*.jar",
    "commons-lang3-3*.jar",
    "commons-codec-1*.jar",
    "xz-1*.jar",
)


def call(
    verb: str,
    *arguments: str,
    request: Any = None,
    debug: bool = False,
    compute: bool = False,
    inherits: tuple[int, ...] = (),
) -> Any:
    """Return the document that a verb answers.

    compute: for a verb whose loops must be compiled well, which a short-lived JVM does without.
    inherits: file descriptors that the verb is given.
    Raises UserError with the JVM side's own one-line message if the user can correct it.
    """
    text = json.dumps(request) if request is not None else ""
    words = command(verb, *arguments, debug=debug, compute=compute)
    try:
        done = _answered(words, text, inherits, _WAITS.get(verb, f"hearth's JVM side: {verb}"))
    except BlockingIOError as error:  # fork(2), at a limit of processes
        raise UserError(
            f"java cannot be started: {error.strerror}: raise the limit of processes "
            "(ulimit -u, pids.max of the control group)"
        ) from error
    if done.returncode == _USER_ERROR:
        raise UserError(_with_the_key_meant(done.stderr.strip().splitlines()[-1]))
    if done.returncode == _OWN_FAULT:
        raise RuntimeError(f"java ended with {done.returncode}: {done.stderr.strip()}")
    if done.returncode:
        if _TOO_OLD in done.stderr:
            raise paths.too_old(paths.java(), "is too old")
        raise UserError(_no_answer(verb, done))
    try:
        return parse(done.stdout)
    except ValueError as error:
        raise UserError(
            f"java's answer to '{verb}' cannot be read: {error}; run it again, and report it "
            "if that does not help"
        ) from error


def _answered(
    words: list[str], text: str, inherits: tuple[int, ...], title: str
) -> subprocess.CompletedProcess[str]:
    with subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        pass_fds=inherits,
        cwd=own_directory(),
        env=own_environment(),
        preexec_fn=die_with(os.getpid()),  # noqa: PLW1509 - this process has one thread
    ) as process:
        try:
            answer, complaint = answer_of(process, text, title)
        except BaseException:
            process.terminate()  # it removes what it has begun to write
            raise
    return subprocess.CompletedProcess(words, process.returncode, answer, complaint)


def _with_the_key_meant(message: str) -> str:
    """Return the refusal of a key that hearth does not have, with one like it in place of all."""
    head, refused, known = message.partition(": hearth has no such key; the keys are ")
    key, _, value = head.partition(": ")
    if not refused:
        return message
    names = {name.lower(): name for name in known.split(", ")}
    near = nearest(key.lower(), names, cutoff=0.8)
    return (
        f"{key}: {value}: hearth has no such key: did you mean '{names[near]}'?"
        if near
        else message
    )


def _no_answer(verb: str, done: subprocess.CompletedProcess[str]) -> str:
    """Explain a JVM that did not start or was killed; hearth's own exit codes are 2 and 70."""
    reason = reason_of(done.stderr, done.stdout)
    how = f"was killed by signal {-done.returncode}" if done.returncode < 0 else "failed"
    code = f" with {done.returncode}" if done.returncode > 0 else ""
    remedy = "check free memory and JAVA_HOME"
    return f"java {how}{code} at '{verb}': {reason or 'it said nothing'}; {remedy}"


def begin(command: list[str], answer: Path) -> subprocess.Popen[str]:
    """Start a `command` in the background; its document goes to the file `answer`.

    It runs at the lowest priority and ends with this process. Standard error is a pipe.
    """
    ask = die_with(os.getpid())

    def prepare() -> None:
        os.nice(_BESIDE)
        ask()

    with open(answer, "wb", opener=open_private) as file:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            cwd=own_directory(),
            env=own_environment(),
            preexec_fn=prepare,  # noqa: PLW1509 - this process has one thread
        )


def command(verb: str, *arguments: str, debug: bool = False, compute: bool = False) -> list[str]:
    """Return the command of a verb; raise UserError if Java, Spark or hearth's jar is missing."""
    java = paths.java()
    jvm = [*QUIET, *(_COMPUTING if compute else _SHORT_LIVED), "-cp", _class_path(), _MAIN]
    flags = [] if compute else class_data.archive_flags(java, jvm, debug)
    return [str(java), *flags, *jvm, verb, *arguments]


def _class_path() -> str:
    jars = paths.spark_home() / "jars"
    libraries = [_one(jars, pattern) for pattern in (*_LIBRARIES, _ANNOTATIONS, *_COMPRESSION)]
    return ":".join(str(path) for path in [paths.hearth_jar(), *libraries])


def _one(folder: Path, pattern: str) -> Path:
    matches = sorted(folder.glob(pattern))
    if not matches:
        raise UserError(f"no {pattern} in {folder}: hearth needs {paths.SPARK_VERSIONS}")
    return matches[-1]


def topology(of: str | None = None, debug: bool = False) -> Topology:
    """Read this machine, or a capture or description that `--machine` names. Raises UserError."""
    words = [] if of is None else ["--machine", of]
    return typed(call("topology", *words, debug=debug), Topology)


def plan(
    request: dict[str, Any],
    debug: bool = False,
    words: Sequence[str] = (),
    inherits: tuple[int, ...] = (),
) -> Plan:
    """Return the answer to the document of a `PlanRequest`; words, inherits: of a lease that is
    offered.

    Raises UserError where nothing fits.
    """
    return typed(call("plan", *words, request=request, debug=debug, inherits=inherits), Plan)


def plans(requests: Sequence[dict[str, Any]], debug: bool = False) -> list[Plan | UserError]:
    """Return the answer to each document of a `PlanRequest`, in their order: the plan, or why none.

    All are made, by one start of the JVM, for the machine and its neighbours as they are at one
    moment. Raises UserError where none can be made at all.
    """
    if not requests:
        return []
    several = {"schema": "hearth/plan-requests/1", "requests": list(requests)}
    answers = call("plan", request=several, debug=debug)["plans"]
    return [typed(answer["plan"], Plan) if "plan" in answer else UserError(answer["refused"])
            for answer in answers]  # fmt: skip


#: As `LeaseRegistry` on the JVM side has them.
_VARIABLE = "HEARTH_LEASES"
_CANDIDATES = ("/run/hearth", "/run/lock", "/dev/shm")


class Offer:
    """A file that may become the lease of an application that is one JVM of plain Spark: no class
    of hearth's takes one there. `words` and `inherits` are for the verb `plan`.

    This process makes the file and holds it open; the verb locks, fills and publishes it in the
    step in which it plans. The lock belongs to the open file, not to a process (fcntl(2), open
    file description locks): the driver inherits the descriptor, and the kernel ends the lease with
    it.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._name = name
        self._file = folder / f".hearth-lease-{uuid.uuid4()}.new"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        # Who can read it could lock it before the verb `plan` does.
        self.fd = os.open(self._file, flags, 0o600)
        self._tell = _standard_error()

    @property
    def inherits(self) -> tuple[int, ...]:
        return (self.fd, self._tell)

    @property
    def words(self) -> tuple[str, ...]:
        names = (str(self._file), str(os.getpid()), self._name)
        return ("--lease", str(self.fd), *names, str(self._tell))

    def settle(self) -> tuple[int, ...]:
        """Return the descriptor to inherit if the lease was taken.

        Else nothing, and the file goes.
        """
        os.close(self._tell)
        if os.fstat(self.fd).st_size and not os.path.lexists(self._file):
            return (self.fd,)
        with contextlib.suppress(OSError):
            self._file.unlink(missing_ok=True)
        os.close(self.fd)
        return ()


class NoOffer:
    """Says to the verb `plan` why there can be no lease: who asked for `refuse` is refused."""

    inherits: tuple[int, ...] = ()

    def __init__(self, why: OSError) -> None:
        self.words = ("--unleased", str(why))

    def settle(self) -> tuple[int, ...]:
        return ()


@contextlib.contextmanager
def offer(name: str) -> Iterator[Offer | NoOffer]:
    """Yield a new file among the leases of this machine, or why none can be made."""
    try:
        made = Offer(_directory(), name)
    except OSError as error:
        yield NoOffer(error)
        return
    try:
        yield made
    except BaseException:
        made.settle()
        raise


def _standard_error() -> int:
    """Duplicate standard error, to which the verb reports progress; its own is read at its end."""
    try:
        return os.dup(2)
    except OSError:  # closed
        return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)


def _directory() -> Path:
    if chosen := os.environ.get(_VARIABLE):
        return Path(chosen).absolute()
    for candidate in map(Path, _CANDIDATES):
        with contextlib.suppress(OSError):
            status = candidate.lstat()
            open_to_all = status.st_mode & stat.S_IWOTH and status.st_mode & stat.S_ISVTX
            if stat.S_ISDIR(status.st_mode) and status.st_uid == 0 and open_to_all:
                return candidate
    raise FileNotFoundError("no directory for the leases of all users")
