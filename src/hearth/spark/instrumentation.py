"""Extend an application's command line so that its run is recorded; pure, plain text.

Nothing of the user's is overridden: JVM options are added after theirs, and their own event log
stays where it is.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hearth.spark.command import Launch
from hearth.spark.conf import DRIVER_OPTIONS
from hearth.spark.driver_log import recorded
from hearth.spark.submit_args import OPTION_KEYS, Option

_EXECUTOR_OPTIONS = "spark.executor.extraJavaOptions"
_DEFAULT_EVENT_LOG = "/tmp/spark-events"  # spark.eventLog.dir, Spark 4.3's default


@dataclass(frozen=True)
class Observed:
    """The command that runs, its settings, and the event log directory where it is the user's."""

    launch: Launch
    settings: dict[str, str]
    users_event_log: str | None


def observed(
    launch: Launch, settings: dict[str, str], master: str, record: Path, executor_log: str
) -> Observed:
    """Return the launch with the logs of events, garbage collections and the driver in the record.

    settings: the user's own. executor_log: the file name of an executor's log in its working
    directory, used where executors may run as another user or in a container.
    """
    effective = {**settings, **_given(launch.options), "spark.master": master}
    theirs = effective.get("spark.eventLog.enabled", "false").lower() == "true"
    additions = {"spark.eventLog.enabled": "true"}
    if not theirs:
        additions["spark.eventLog.dir"] = (record / "eventlog").as_uri()
    # One plain file can be read while it grows; a form that the user chose stays.
    for key in ("spark.eventLog.compress", "spark.eventLog.rolling.enabled"):
        additions[key] = effective.get(key, "false")
    own_log = record / "gc" / "executor-%p.log"
    executor_file = str(own_log) if master.startswith("local") else executor_log
    for key, file in (
        (DRIVER_OPTIONS, str(record / "gc" / "driver-%p.log")),
        (_EXECUTOR_OPTIONS, executor_file),
    ):
        additions[key] = " ".join(filter(None, [effective.get(key), gc_log_option(file)]))
    additions[DRIVER_OPTIONS] = recorded(additions[DRIVER_OPTIONS], record)
    folder = effective.get("spark.eventLog.dir", _DEFAULT_EVENT_LOG) if theirs else None
    changed = replace(launch, options=_with(launch.options, additions))
    return Observed(changed, {**effective, **additions}, folder)


def gc_log_option(file: str) -> str:
    """Return unified logging (JEP 158) of collections and safepoints into one file, not rotated."""
    return shlex.quote(f"-Xlog:gc*,safepoint:file={file}:time,uptimemillis,level,tags:filecount=0")


def _given(options: Sequence[Option]) -> dict[str, str]:
    """Return the settings that a command line makes, in order."""
    settings: dict[str, str] = {}
    for option in options:
        value = option.value or ""
        if option.name == "--conf":
            key, _, value = value.partition("=")
            settings[key.strip()] = value.strip()
        elif option.name in OPTION_KEYS:
            settings[OPTION_KEYS[option.name]] = value
    return settings


def _with(options: Sequence[Option], additions: dict[str, str]) -> list[Option]:
    """Return the options, with each addition replacing the option it was made from."""
    others = [option for option in options if option.key not in additions]
    return [*others, *(Option("--conf", f"{name}={value}") for name, value in additions.items())]
