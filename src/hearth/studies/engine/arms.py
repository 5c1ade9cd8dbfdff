"""The arms of a comparison: the ways in which one application is run on one machine.

native: `local[*]` with the user's own settings. plan: what `hearth submit` does. adaptive: the
plan, with as many tasks of a stage at once as bring work. unbound: the plan's executors, not bound.
balanced: unbound, with the kernel's automatic NUMA balancing on (kernel.numa_balancing of
sysctl/kernel.rst). bound: the plan's executors, bound. package: the same, each to all CPUs of a
package and the memory of its nodes. docker: as bound, each in a container whose cpuset binds it
(Kyong 2017). tuned: what `hearth tune` found best. as-is: the plan, on the machine as it is.
fixed:NAME: the same, with what the doctor would change for this finding changed.
"""

import contextlib
import os
import subprocess
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hearth.base.errors import UserError
from hearth.machine.switch import Switched
from hearth.spark.conf import DRIVER_OPTIONS
from hearth.spark.run_files import EXECUTOR_OPTIONS, private_properties
from hearth.spark.saved_configs import TunedConfig
from hearth.spark.submit_args import SubmitLine, marked_application
from hearth.studies.engine.kernel_settings import SavedSetting, changed

NAMES = ("native", "plan", "adaptive", "unbound", "balanced", "bound", "package", "docker", "tuned")
#: What is compared where the user names no arms: with a plan that has executors, with a native one.
DEFAULT = ("native", "unbound", "bound")
DEFAULT_NATIVE = ("native", "plan")
#: Those that run, whatever the plan.
WITHOUT_EXECUTORS = frozenset((*DEFAULT_NATIVE, "adaptive", "tuned"))
AS_IS, FIXED = "as-is", "fixed:"
#: The words of an arm whose executors are not bound.
UNBOUND = ("--bind", "none")
#: Settings that would silently make all ways of running the same.
_EQUALISING = {"spark.hearth.binding": "off", "spark.hearth.launcher": "docker"}
BALANCING = Path("/proc/sys/kernel/numa_balancing")
_ANSWER_S = 20


@dataclass(frozen=True)
class Arm:
    """One arm; `skipped` is the reason why it cannot be run here.

    words: hearth's own options that it adds. balancing: the kernel's NUMA balancing during the run;
    None leaves it alone. master: instead of the user's. prefix: what the whole run is started by,
    such as taskset. job, parameters: of a workload, in place of the user's. prefetchers: those that
    are off during the run, all others on; None leaves them alone. conf: settings, over the user's
    own. properties: a file of settings that no command line may show. limit_s: a run that takes
    longer is ended; None for no limit. fix: what of the machine is changed during the run. cpus:
    those that it may use, of an application that runs beside others; None for all.
    """

    name: str
    words: tuple[str, ...] = ()
    balancing: str | None = None
    skipped: str | None = None
    master: str | None = None
    prefix: tuple[str, ...] = ()
    job: str | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    prefetchers: tuple[str, ...] | None = None
    conf: tuple[tuple[str, str], ...] = ()
    properties: Path | None = None
    limit_s: float | None = None
    fix: Switched | None = None
    cpus: tuple[int, ...] | None = None

    @property
    def runs_as_one_jvm(self) -> bool:
        """Whether the arm is one JVM whatever the plan."""
        return self.name in (*WITHOUT_EXECUTORS, AS_IS) or self.fix is not None

    @property
    def is_planned(self) -> bool:
        """Whether hearth plans the arm if the user names no other master."""
        return (self.master or "local-numa").startswith("local-numa")


def arms_named(
    names: list[str], setting: Path = BALANCING, tuned: Callable[[], Arm] | None = None
) -> list[Arm]:
    """Return the arms of these names; raise UserError for an unknown or repeated one.

    tuned: makes the arm of that name.
    """
    for name in names:
        if name not in NAMES:
            known = ", ".join([*NAMES, AS_IS, f"{FIXED}NAME of a finding"])
            raise UserError(f"--arms: '{name}' is not an arm: use {known}")
    if len(set(names)) < len(names) or len(names) < 2:
        raise UserError(f"--arms: '{','.join(names)}' needs two arms or more, each once")
    return [tuned() if tuned and name == "tuned" else _arm(name, names, setting) for name in names]


def fixing_arms(names: Sequence[str], planned: Callable[[str], Switched]) -> list[Arm]:
    """Return the machine as it is, and with each of some findings of the doctor's fixed, as arms.

    planned: what fixing a finding changes; raises UserError where it cannot be changed here.
    """
    if names[0] != AS_IS or len(names) < 2 or not all(n.startswith(FIXED) for n in names[1:]):
        raise UserError(
            f"--arms: '{','.join(names)}': a fix is measured against the machine as it is: use "
            f"{AS_IS},{FIXED}NAME, with names of findings of 'hearth doctor'"
        )
    if len(set(names)) < len(names):
        raise UserError(f"--arms: '{','.join(names)}' needs each finding once")
    return [Arm(AS_IS), *(_fixed(name, planned) for name in names[1:])]


def _fixed(name: str, planned: Callable[[str], Switched]) -> Arm:
    try:
        return Arm(name, fix=planned(name.removeprefix(FIXED)))
    except UserError as error:
        return Arm(name, skipped=str(error).removeprefix("--arms: "))


def reject_settings_that_equalise_arms(settings: Mapping[str, str]) -> None:
    """Raise UserError for a user setting that would override what an arm sets."""
    for key, value in _EQUALISING.items():
        if settings.get(key, "").strip().lower() == value:
            raise UserError(
                f"{key}: '{value}' would apply to every run and hide the comparison: leave it out"
            )


def _arm(name: str, names: list[str], setting: Path) -> Arm:
    if name == "docker":
        return Arm(name, ("--docker",), skipped=no_docker())
    if name == "package":
        return Arm(name, ("--bind", "package"))
    if name == "adaptive":
        return Arm(name, ("--width", "adaptive"))
    if name == "balanced":
        reason = cannot_switch(setting)
        return Arm(name, UNBOUND, balancing="1", skipped=reason)
    if name == "unbound":
        apart = "balanced" in names and cannot_switch(setting) is None
        return Arm(name, UNBOUND, balancing="0" if apart else None)
    return Arm(name, master="local[*]" if name == "native" else None)


def configured(
    arm: Arm,
    conf: Mapping[str, str],
    settings: Mapping[str, str],
    typed: Collection[str | None],
    home: Path,
) -> Arm:
    """Return the arm with these settings over the user's own.

    JVM options that hold those of the user's files go into a private file below `home`: every user
    can read a command line. typed: the keys of what the user typed, which are on one already.
    """
    private = {
        key: conf[key]
        for key in (EXECUTOR_OPTIONS, DRIVER_OPTIONS)
        if key in conf and key in settings and key not in typed
    }
    shown = tuple((key, value) for key, value in conf.items() if key not in private)
    return replace(
        arm, conf=shown, properties=private_properties(private, home) if private else None
    )


def tuned_arm(
    config: TunedConfig | None,
    name: str,
    settings: Mapping[str, str],
    typed: Collection[str | None],
    home: Path,
) -> Arm:
    """Return `hearth tune`'s best for the application of this name; settings: the user's own."""
    if config is None:
        reason = f"no tuning result for '{name}' on this machine: run 'hearth tune {name}' first"
        return Arm("tuned", skipped=reason)
    size = f"local-numa[{config['executors']}x{config['cores']}]" if config["executors"] else None
    words = UNBOUND if config["unbound"] else ()
    arm = Arm("tuned", words, master=config["master"] or size or "local-numa")
    java = {
        key: " ".join(filter(None, [settings.get(key), flag]))
        for key, flag in config["java"].items()
    }
    return configured(arm, {**config["conf"], **java}, settings, typed, home)


def cannot_switch(setting: Path = BALANCING) -> str | None:
    """Return why the kernel's NUMA balancing cannot be switched here; None if it can."""
    if not setting.exists():
        return f"this kernel has no {setting}"
    if not os.access(setting, os.W_OK):
        return f"{setting} can only be written by root"
    return None


def setting_words(arm: Arm, setting: Path = BALANCING) -> str | None:
    """Return how the machine is set while an arm runs; None for one that does not ask."""
    if arm.fix is None:
        return _balancing_words(arm, setting)
    first, *more = arm.fix.settings
    others = f" (and {len(more)} more)" if more else ""
    return f"/{first.path} set to {first.after} for its runs, {first.before} before{others}"


def _balancing_words(arm: Arm, setting: Path) -> str | None:
    """Return what the kernel's NUMA balancing is while an unbound arm runs."""
    if arm.skipped or arm.name not in ("unbound", "balanced"):
        return None
    if arm.balancing is not None:
        return f"NUMA balancing set to {arm.balancing} ({_balancing(arm.balancing)}) for its runs"
    try:
        value = setting.read_text(encoding="ascii").strip()
    except OSError:
        return f"no NUMA balancing: this kernel has no {setting}"
    return f"NUMA balancing as the machine has it: {value} ({_balancing(value)})"


def _balancing(value: str) -> str:
    return "off" if value == "0" else "on"


def no_docker() -> str | None:
    """Return why no container can be started here; None where the engine answers."""
    try:
        words = ["docker", "version", "--format", "{{.Server.Version}}"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=_ANSWER_S, check=False)
    except FileNotFoundError:
        return "the docker command is not installed (Debian: apt-get install docker.io)"
    except OSError as error:
        return f"the docker command cannot be started: {error.strerror}"
    except subprocess.TimeoutExpired:
        return f"the Docker engine does not answer within {_ANSWER_S} s"
    errors = done.stderr.strip().splitlines()
    return f"no Docker engine answers: {errors[-1]}" if done.returncode else None


@contextlib.contextmanager
def kernel_setting(value: str | None, setting: Path = BALANCING) -> Iterator[None]:
    """Hold a setting at a value and restore the old one, even after kill -9 of this process."""
    if value is None:
        yield
        return
    before = SavedSetting(setting, 0, setting.read_bytes())
    with changed([before], [SavedSetting(setting, 0, value.encode("ascii"))]):
        yield


def profile_words(arm: Arm, line: SubmitLine) -> list[str]:
    """Return the words after `hearth profile` for an arm: the user's line, with the arm's changes.

    Under a master that hearth does not plan for, what only a plan takes is dropped.
    """
    without_master = replace(line, options=tuple(o for o in line.options if o.name != "--master"))
    master = arm.master or line.last("--master")
    named = ["--master", master] if master is not None else []
    planned = master is None or master.startswith("local-numa")
    planning = [*line.planning.to_words(), *arm.words] if planned else []
    confs = [word for key, value in arm.conf for word in ("--conf", f"{key}={value}")]
    return [
        *planning,
        *named,
        *without_master.option_words,
        *properties_words(arm),
        *confs,
        *marked_application(line.application),
    ]


def workload_words(arm: Arm, master: str | None = None) -> list[str]:
    """Return the words that an arm adds to the command of a workload."""
    confs = [word for key, value in arm.conf for word in ("--conf", f"{key}={value}")]
    return [
        *arm.words,
        "--master",
        arm.master or master or "local-numa",
        *properties_words(arm),
        *confs,
    ]


def properties_words(arm: Arm) -> list[str]:
    return ["--extra-properties-file", str(arm.properties)] if arm.properties else []
