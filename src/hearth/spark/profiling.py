"""Run an application as a child and record it: a sampler alongside, the record closed at the end.

Whichever process dies, none stays behind: the kernel ends the driver when this process dies, and
the sampler, whose input then closes, ends the driver's own children.
"""

import contextlib
import errno
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import hearth
from hearth.base.absent import Absent, Measured
from hearth.base.codec import to_json, typed
from hearth.base.errors import UserError
from hearth.base.processes import (
    CpuSeconds,
    children,
    die_with,
    ended,
    is_alive,
    start_ticks,
)
from hearth.base.progress import working
from hearth.base.redaction import Redaction
from hearth.machine import jvm, paths
from hearth.machine.applications import FOLDER
from hearth.machine.memory_bandwidth import known_bandwidth, sustained_bandwidth
from hearth.machine.memory_kills import MemoryKills
from hearth.machine.plan import Plan
from hearth.record import kernel
from hearth.record.event_log_link import UsersEventLog
from hearth.record.gc_copy import local_log_name
from hearth.record.machine_settings import machine_settings, versions
from hearth.record.placement_copy import PlacementCopy
from hearth.record.probes import survey
from hearth.record.probes.base import Roots
from hearth.record.sampler import ROWS_LOST
from hearth.record.schema import Launched, ProbeStatus, RecordedPlan, State, SustainedBandwidth
from hearth.record.store import RecordWriter, claimed
from hearth.spark.conf import user_deploy_mode, user_remote
from hearth.spark.instrumentation import Observed, observed
from hearth.spark.kept_run import MemoryWatch, forget_profiled, keep_start
from hearth.spark.machine_reading import MachineReading
from hearth.spark.run_files import check_locale, handed_over, plain_path
from hearth.spark.sampling import SamplerProcess
from hearth.spark.submission import Submission
from hearth.spark.submit_args import SubmitLine, application_name

_LOOK_S = 1.0
_GRACE_S = 20.0
#: The exit code of a run that `--limit` ended, as that of timeout(1).
OVER_LIMIT = 124
_SAMPLER_GRACE_S = 20.0


@dataclass(frozen=True)
class Profiled:
    """A run that is over: its record, the application's exit code, and how it ended.

    problem: why parts of the record are missing, if any are. kills: of processes, for memory.
    """

    directory: Path
    exit_code: int
    state: str
    problem: str | None
    kills: MemoryKills | None


def profile(
    submission: Submission,
    line: SubmitLine,
    arm: str | None,
    record: str | None,
    debug: bool,
    limit_s: float = float("inf"),
) -> Profiled:
    """Run and record the application; raise UserError if nothing of it would run here.

    record: the id of the new record; None for one that is made here. limit_s: an application that
    runs for longer is ended, and the exit code is 124.
    """
    master = _checked(submission, line)
    check_locale(paths.state_home(), os.environ)
    name = application_name(line, submission.settings)
    with claimed(paths.state_home(), name, record) as directory, plain_path(directory) as plain:
        gc_log = local_log_name(directory.name, "%p")
        instrumented = observed(submission.launch, submission.settings, master, plain, gc_log)
        instrumented = replace(
            instrumented, launch=handed_over(instrumented.launch, line, paths.state_home())
        )
        head = _head(instrumented, submission, line, arm, debug)
        reading = jvm.command("topology", debug=debug)
        run = _Run(RecordWriter.create(directory, name, head), instrumented, reading, limit_s)

        def started(pid: int) -> None:
            keep_start(submission, line, paths.state_home(), pid, directory.name)
            if submission.afterwards is not None:
                submission.afterwards(pid)

        done = run.to_its_end(started)
        forget_profiled(submission, paths.state_home(), directory.name)
        return done


def _checked(submission: Submission, line: SubmitLine) -> str:
    """Return the master; raise UserError where the driver would not run here as a child."""
    if not line.application:
        raise UserError("no application given: name a jar or a Python file")
    if user_remote(line, submission.settings, os.environ) is not None:
        raise UserError(
            "--remote: the application runs in a Spark Connect server: profile the server instead"
        )
    mode = user_deploy_mode(line, submission.settings, os.environ)
    if mode != "client":
        raise UserError(
            f"--deploy-mode: '{mode}' runs the driver elsewhere, where hearth cannot profile it: "
            "leave it out"
        )
    return submission.master or "local[*]"


def _head(
    instrumented: Observed, submission: Submission, line: SubmitLine, arm: str | None, debug: bool
) -> Launched:
    roots = Roots()
    redaction = Redaction.of(instrumented.settings)
    probes = survey(roots, deep=arm is not None)  # a run of a study is like all others of it
    return Launched(
        command=instrumented.launch.shown_command(redaction),
        arguments=redaction.words(line.application),
        master=instrumented.settings["spark.master"],
        arm=arm,
        configuration=redaction.settings(instrumented.settings),
        plan=_without_secrets(submission.plan, redaction) if submission.plan else None,
        versions=versions(hearth.__version__, paths.spark_home(), paths.java()),
        machine_settings=machine_settings(),
        cpus_of_node=kernel.cpus_of_nodes(roots.sys),
        clock_ticks_per_s=os.sysconf("SC_CLK_TCK"),
        probes=probes,
        sustained_bandwidth=_sustained_bandwidth(probes, debug),
    )


def _without_secrets(plan: Plan, redaction: Redaction) -> RecordedPlan:
    return typed(redaction.plan(to_json(plan)), RecordedPlan)


def _sustained_bandwidth(
    probes: Sequence[ProbeStatus], debug: bool
) -> Measured[SustainedBandwidth]:
    """Measure it once per machine, but only if there is a use to compare it with."""
    counted = any(probe.name == "bandwidth" and probe.status == "on" for probe in probes)
    known = sustained_bandwidth(debug=debug) if counted else known_bandwidth()
    return known or Absent("not measured: nothing here counts the bandwidth that a run uses")


def gateway_clients(driver_pid: int) -> dict[int, int]:
    """Return a driver's children that are Python applications, with the ticks of their start.

    Spark's PythonRunner tells them where their gateway is.
    """
    clients = {}
    for pid in children(driver_pid):
        with contextlib.suppress(OSError):
            environment = Path(f"/proc/{pid}/environ").read_bytes()
            ticks = start_ticks(pid)
            if b"PYSPARK_GATEWAY_PORT=" in environment and ticks is not None:
                clients[pid] = ticks
    return clients


class _Run:
    """One application with its sampler, from start to end."""

    def __init__(
        self, writer: RecordWriter, instrumented: Observed, reading: list[str], limit_s: float
    ) -> None:
        self._writer = writer
        self._limit_s, self._over_limit = limit_s, False
        self._python: dict[int, int] = {}
        self._launch = instrumented.launch
        self._reading = reading
        self._machine: MachineReading | None = None
        self._driver: subprocess.Popen[bytes] | None = None
        self._interrupted = 0
        self._kill_at = float("inf")
        folder = instrumented.users_event_log
        self._event_log = UsersEventLog(writer, folder) if folder is not None else None
        runs = instrumented.settings.get("spark.hearth.runs.dir")
        self._placement = PlacementCopy(
            Path(runs) if runs else paths.state_home() / FOLDER, writer.directory
        )

    def to_its_end(self, started: Callable[[int], None]) -> Profiled:
        memory = MemoryWatch()
        with self._signals():
            driver = self._driver = self._start_driver()
            started(driver.pid)
            sampler = SamplerProcess(self._writer.directory, driver.pid)
            with self._keeping():
                self._machine = MachineReading(self._writer, self._reading)
            code, cpu = self._wait(driver)
            wall_s = self._writer.now_s()
            with working("completing the record"):
                self._look(driver.pid, final=True)
                with self._keeping():
                    self._end_sampler(sampler)
        state: State = "finished" if code == 0 else "failed"
        state = "interrupted" if self._interrupted or self._over_limit else state
        with self._keeping():
            self._note_missing_event_log()
        kills = memory.kills()
        if kills is not None:
            self._writer.warn(kills.what, kills.remedy)
        self._writer.finish(state, code, wall_s, cpu)
        shown = 128 + self._interrupted if self._interrupted else code
        exit_code = 128 - shown if shown < 0 else shown
        exit_code = OVER_LIMIT if self._over_limit and not self._interrupted else exit_code
        problem = self._writer.problem
        return Profiled(self._writer.directory, exit_code, state, problem, kills)

    @contextlib.contextmanager
    def _keeping(self) -> Iterator[None]:
        """Note a failure to keep hearth's own data; the application does not depend on it."""
        try:
            yield
        except OSError as error:
            self._writer.lose(error)

    def _start_driver(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._launch.command,
            env={**os.environ, **self._launch.environment},
            pass_fds=self._launch.inherited,
            preexec_fn=die_with(os.getpid()),  # noqa: PLW1509 - this process has one thread
        )

    def _wait(self, driver: subprocess.Popen[bytes]) -> tuple[int, CpuSeconds]:
        """Return the driver's exit code, negative for a signal, and its CPU seconds.

        Woken by its end, else each second.
        """
        end = os.pidfd_open(driver.pid)
        try:
            while not select.select([end], [], [], _LOOK_S)[0]:
                self._look(driver.pid, final=False)
                self._keep_to_limit(driver)
                if time.monotonic() > self._kill_at:
                    driver.kill()
        finally:
            os.close(end)
        for pid, ticks in self._python.items():
            if is_alive(pid, ticks):
                os.kill(pid, signal.SIGKILL)
        return ended(driver)

    def _keep_to_limit(self, driver: subprocess.Popen[bytes]) -> None:
        """Ask an application that has run for too long to end; some seconds later it is killed."""
        if self._over_limit or self._writer.now_s() < self._limit_s:
            return
        self._over_limit = True
        self._kill_at = min(self._kill_at, time.monotonic() + _GRACE_S)
        what = f"the application was ended after {self._limit_s:g} s, its limit"
        self._writer.warn(what, "give a longer --limit")
        self._end(driver)

    def _end(self, driver: subprocess.Popen[bytes]) -> None:
        """Ask it to end. Its Python, if it has one, would go on without it."""
        self._python |= gateway_clients(driver.pid)  # perhaps asked twice
        driver.terminate()

    def _look(self, driver_pid: int, *, final: bool) -> None:
        if self._event_log is not None:
            with self._keeping():
                self._event_log.look(final=final)
        if self._machine is not None:
            with self._keeping():
                self._machine.look(final=final)
        with self._keeping():
            self._placement.look(driver_pid)
            if final:
                self._placement.keep_bindings(paths.state_home() / "bindings")

    def _end_sampler(self, sampler: SamplerProcess) -> None:
        code = sampler.end(_SAMPLER_GRACE_S)
        if code == ROWS_LOST:
            self._writer.lose(OSError(errno.ENOSPC, "samples could not be written"))
        elif code:
            log = self._writer.directory / "sampler.log"
            last = log.read_text(errors="replace").strip().splitlines()[-1:]
            what = f"the sampler ended with {code}: {''.join(last)}"
            self._writer.warn(what, "samples may be missing; report it with sampler.log")

    def _note_missing_event_log(self) -> None:
        if not any((self._writer.directory / "eventlog").iterdir()):
            self._writer.warn(
                "Spark wrote no event log into the record, so nothing is known of stages and tasks",
                "if the application sets spark.eventLog.* itself, give them on the command line",
            )

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Pass the first interrupt on to the application; kill it some seconds later."""

        def ask(number: int, _frame: object) -> None:
            self._interrupted = number
            if self._kill_at == float("inf"):
                self._kill_at = time.monotonic() + _GRACE_S
            else:
                self._kill_at = 0.0  # asked twice: at once
            if self._driver is None:
                raise KeyboardInterrupt
            self._end(self._driver)

        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = {number: signal.getsignal(number) for number in numbers}
        for number in numbers:
            signal.signal(number, ask)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
