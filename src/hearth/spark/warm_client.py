"""Run a Python program on a warm server; the program of `hearth submit --warm`'s own process.

It runs in the program's Python, where hearth need not be installed: it imports pyspark and the
standard library only. HEARTH_WARM holds the descriptor of the client's locked file and that file's
path. The file lists the sessions that are open, for the keeper to release after kill -9; see
`hearth.spark.warm`.

usage: warm_client.py --missing | --release SESSION... | PROGRAM [ARGUMENT...]
"""

import fcntl
import functools
import importlib.util
import os
import sys
import threading
import traceback
import types
import warnings
from pathlib import Path
from typing import Any

#: What the client of Spark Connect imports, and how the index calls it.
_NEEDED = {"pandas": "pandas", "pyarrow": "pyarrow", "grpc": "grpcio",
           "grpc_status": "grpcio-status", "google.rpc": "googleapis-common-protos"}  # fmt: skip
#: Conditions of pyspark's errors for what Spark Connect does not have.
_NOT_CONNECT = ("JVM_ATTRIBUTE_NOT_SUPPORTED", "CONTEXT_UNAVAILABLE_FOR_REMOTE_CLIENT",
                "NOT_IMPLEMENTED")  # fmt: skip
_ONLY = "hearth: --warm runs programs on the DataFrame API only; leave it out for this one"


def missing() -> list[str]:
    """Return the packages that this Python lacks."""
    absent = []
    for module, package in _NEEDED.items():
        try:
            found = importlib.util.find_spec(module)
        except ModuleNotFoundError:  # of the package around it
            found = None
        absent += [] if found else [package]
    return absent


class Sessions:
    """The sessions that this process has opened, and the file that says so."""

    def __init__(self, file: Path, py_files: list[str]) -> None:
        self._file, self._py_files = file, py_files
        self._open: dict[str, Any] = {}

    def watch(self) -> None:
        """Have pyspark tell of each session, reach 127.0.0.1 alone, and not retry for minutes."""
        from pyspark.sql import SparkSession as ClassicSession
        from pyspark.sql.connect.client import core
        from pyspark.sql.connect.session import SparkSession

        # Anyone may listen at the same port of ::1, which is called localhost too.
        core.DefaultChannelBuilder.endpoint = property(  # type: ignore[assignment, method-assign]
            lambda self: f"{self._host.replace('localhost', '127.0.0.1')}:{self._port}"
        )
        builder_ = SparkSession.Builder
        begin, stop, apply = SparkSession.__init__, SparkSession.stop, builder_._apply_options

        def begun(session: Any, *words: Any, **named: Any) -> None:
            begin(session, *words, **named)
            self._begun(session)

        def stopped(session: Any) -> None:
            self._before_stop(session)
            stop(session)

        def applied(builder: Any, session: Any) -> None:
            with warnings.catch_warnings():  # of several lines for each setting; ours says more
                warnings.filterwarnings("ignore", "Failed to set")
                apply(builder, session)
            _say_what_stays(builder._options, session)

        SparkSession.__init__ = begun  # type: ignore[assignment, method-assign]
        SparkSession.stop = stopped  # type: ignore[assignment, method-assign]
        # Spark refuses a master beside a server, also the one that nearly every tutorial sets.
        ClassicSession.Builder.master = _without_master  # type: ignore[assignment, method-assign]
        builder_._apply_options = applied  # type: ignore[assignment, method-assign]

    def _begun(self, session: Any) -> None:
        from pyspark.sql.connect.client.retries import DefaultPolicy

        self._open[session.session_id] = session
        self._note()
        session.client.set_retry_policies([DefaultPolicy(max_retries=6, max_backoff=1000)])
        if self._py_files:
            session.addArtifacts(*self._py_files, pyfile=True)

    def _before_stop(self, session: Any) -> None:
        """Release what is cached, as the end of an application does, if nobody else may use it."""
        if self._open.pop(session.session_id, None) is None:
            return
        if not others(self._file):
            try:
                session.catalog.clearCache()
            except Exception as error:  # the server is gone, and the cache with it
                print(f"hearth: the cache of the warm server stays: {error}", file=sys.stderr)
        self._note()

    def _note(self) -> None:
        self._file.write_text("".join(f"{name}\n" for name in self._open), encoding="ascii")

    def leave(self) -> None:
        for session in list(self._open.values()):
            session.stop()
        self._file.unlink(missing_ok=True)


def others(file: Path) -> bool:
    """Return whether other clients of the server are there: each holds its file locked."""
    return any(is_held(other) for other in file.parent.glob("[!.]*") if other != file)


def is_held(file: Path) -> bool:
    """Return whether the client of this file is there."""
    try:
        with file.open("rb") as opened:
            fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _without_master(builder: Any, master: str) -> Any:
    _say(f"master {master}", "--master local-numa[2], for one of hearth's")
    return builder


def _say_what_stays(options: dict[str, Any], session: Any) -> None:
    """Name the settings of a builder that a running server cannot take."""
    for key, value in options.items():
        fixed = key not in ("spark.app.name", "spark.remote") and not session.conf.isModifiable(key)
        if fixed and session.conf.get(key, None) != value:
            _say(key, f"--conf {key}=...")  # the value may be a secret


@functools.cache
def _say(what: str, how: str) -> None:
    print(f"hearth: {what}, set in the program, has no effect on a warm server: give it to hearth "
          f"submit ({how})", file=sys.stderr)  # fmt: skip


def _excepthook(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """Print the error as Python does, from the program's first frame on."""
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    traceback.print_exception(kind, error, trace)
    condition = getattr(error, "getCondition", getattr(error, "getErrorClass", lambda: None))()
    if condition in _NOT_CONNECT:
        print(_ONLY, file=sys.stderr)


def _run(program: str, words: list[str]) -> None:
    """Run a program as `python PROGRAM` does, to the end of its last thread."""
    sys.excepthook = _excepthook
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=program, __builtins__=__builtins__)
    sys.argv, sys.path[0] = [program, *words], str(Path(program).resolve().parent)
    code = compile(Path(program).read_bytes(), program, "exec")
    sys.modules["__main__"] = module
    try:
        exec(code, module.__dict__)
    finally:
        pools = getattr(sys.modules.get("concurrent.futures.thread"), "_threads_queues", {})
        for thread in threading.enumerate():  # those of a pool, Spark's client has one, wait for us
            if thread is not threading.main_thread() and not thread.daemon and thread not in pools:
                thread.join()


def _release(sessions: list[str]) -> None:
    """Release the sessions of a client that was killed; its operations end with them."""
    from pyspark.sql.connect.session import SparkSession

    _, file = os.environ["HEARTH_WARM"].split(",", 1)
    Sessions(Path(file), []).watch()
    for name in sessions:
        url = f"{os.environ['SPARK_REMOTE']};session_id={name}"
        SparkSession.builder.remote(url).create().stop()


def main(words: list[str]) -> None:
    if words[0] == "--missing":
        print(" ".join(missing()))
    elif words[0] == "--release":
        _release(words[1:])
    else:
        descriptor, file = os.environ.pop("HEARTH_WARM").split(",", 1)
        py_files = os.environ.pop("HEARTH_WARM_PY_FILES", "")
        os.set_inheritable(int(descriptor), False)
        sessions = Sessions(Path(file), py_files.split(",") if py_files else [])
        sessions.watch()
        try:
            _run(words[0], words[1:])
        finally:  # later, Python starts no more threads, which Spark's client needs
            sessions.leave()


if __name__ == "__main__":
    main(sys.argv[1:])
