"""Run several applications at the same time, each watched over by a process of its own.

Whatever dies, nothing stays behind: the kernel ends such a process when this one dies, and it then
ends its application as it does on Ctrl-C. An application that fails does not touch the others.
"""

import contextlib
import io
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from hearth.base.codec import parse, to_json, typed
from hearth.base.errors import UserError
from hearth.base.processes import die_with
from hearth.base.progress import tick
from hearth.studies.engine.trial import ConcurrentRun, Trial, Turn

_LOOK_S = 0.2
#: Longer than a run takes that is asked to end, and is killed if it does not.
_GRACE_S = 45.0
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Lane:
    """An application's place. turn: of its first run. cpus: what it may use; None for all.

    run: makes the n-th run, in a process of its own.
    """

    turn: Turn
    run: Callable[[int], Trial]
    cpus: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Loop:
    """Each application is started again and again for so long; what ends in the middle counts."""

    length_s: float
    ramp_s: float

    @property
    def middle(self) -> tuple[float, float]:
        """From when, and until when, after the start."""
        return self.ramp_s, self.length_s - self.ramp_s

    def counts(self, end_s: float) -> bool:
        """Return whether a run that ended so long after the start counts."""
        begin, end = self.middle
        return begin <= end_s <= end


@dataclass
class _Process:
    lane: int
    number: int
    pid: int
    pipe: int
    start_s: float
    output: bytes = b""
    stopped: bool = False


@dataclass
class _Watch:
    lanes: Sequence[Lane]
    clock: Callable[[], float]
    began: float
    running: list[_Process] = field(default_factory=list)
    ran: list[ConcurrentRun] = field(default_factory=list)

    @property
    def now_s(self) -> float:
        return self.clock() - self.began

    def start(self, lane: int, number: int) -> None:
        pid, pipe = _forked(self.lanes[lane], number)
        self.running.append(_Process(lane, number, pid, pipe, self.now_s))

    def look(self) -> list[tuple[ConcurrentRun, int]]:
        """Wait a moment; what ended meanwhile, and which run of its lane it was."""
        ready = select.select([one.pipe for one in self.running], [], [], _LOOK_S)[0]
        ended = []
        for one in [p for p in self.running if p.pipe in ready]:
            chunk = os.read(one.pipe, _CHUNK)
            one.output += chunk
            if not chunk:
                ended.append((self._end(one), one.number))
        return ended

    def _end(self, one: _Process) -> ConcurrentRun:
        code = os.waitstatus_to_exitcode(os.waitpid(one.pid, 0)[1])
        os.close(one.pipe)
        self.running.remove(one)
        trial = _trial(self.lanes[one.lane].turn, one.output, code)
        if one.stopped:
            trial = replace(trial, seconds=None, failure=None, stopped_s=self.now_s)
        self.ran.append(ConcurrentRun(one.lane, one.start_s, self.now_s, trial))
        return self.ran[-1]

    def stop(self) -> None:
        """End what runs, and waits for it."""
        for one in self.running:
            one.stopped = True
            with contextlib.suppress(ProcessLookupError):
                os.kill(one.pid, signal.SIGTERM)
        kill_at = self.clock() + _GRACE_S
        while self.running:
            if self.clock() > kill_at:
                for one in self.running:
                    os.kill(one.pid, signal.SIGKILL)
                kill_at = float("inf")
            self.look()


def together(
    lanes: Sequence[Lane],
    loop: Loop | None = None,
    clock: Callable[[], float] = time.monotonic,
    look: Callable[[float], None] = lambda since_s: None,
) -> list[ConcurrentRun]:
    """Return all at once, each to its end, or again and again; the runs in the order in which they
    ended.

    In a loop an application that failed is not started again, and what runs at its end is stopped.
    look: called several times a second, with the seconds since the start.
    """
    watch = _Watch(lanes, clock, clock())
    try:
        for lane in range(len(lanes)):
            watch.start(lane, 0)
        while watch.running:
            look(watch.now_s)
            for ran, number in watch.look():
                goes_on = loop is not None and watch.now_s < loop.length_s
                if goes_on and ran.trial.failure is None:
                    watch.start(ran.member, number + 1)
            if loop is not None and watch.now_s >= loop.length_s:
                watch.stop()
            tick()
    finally:
        watch.stop()
    return watch.ran


def _forked(lane: Lane, number: int) -> tuple[int, int]:
    """Start a process that makes a run; its id, and the pipe on which it says how that ended."""
    reading, writing = os.pipe()
    dies = die_with(os.getpid())
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    pid = os.fork()
    if pid == 0:
        _in_child(lane, number, dies, writing)
    os.close(writing)
    return pid, reading


def _in_child(lane: Lane, number: int, dies: Callable[[], None], writing: int) -> NoReturn:
    code = 1
    try:
        os.setsid()  # out of reach of the terminal's Ctrl-C: the parent passes it on, once
        signal.signal(signal.SIGTERM, _interrupt)
        dies()
        sys.stdout = sys.stderr = io.StringIO()  # what is to be known comes back through the pipe
        if lane.cpus is not None:
            os.sched_setaffinity(0, lane.cpus)
        line = json.dumps(to_json(_run(lane, number)))
        with os.fdopen(writing, "w", encoding="utf-8") as pipe:
            pipe.write(line)
        code = 0
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    finally:
        os._exit(code)


def _run(lane: Lane, number: int) -> Trial:
    try:
        return lane.run(number)
    except UserError as error:
        return Trial(lane.turn, failure=str(error))
    except Exception as fault:  # of hearth's: it is one application's, not the others'
        return Trial(
            lane.turn, failure=f"internal error in hearth: {type(fault).__name__}: {fault}"
        )


def _interrupt(_number: int, _frame: Any) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once: what it started is being ended
    raise KeyboardInterrupt


def _trial(turn: Turn, output: bytes, code: int) -> Trial:
    try:
        return typed(parse(output), Trial)
    except (ValueError, KeyError):
        ended = f"signal {-code}" if code < 0 else f"exit code {code}"
        return Trial(turn, failure=f"the process that watched over it ended with {ended}")
