"""The options that the user gives to Java, and where its JVMs then keep temporary files."""

import os
import shlex
from typing import Literal

from hearth.base.absent import Absent
from hearth.base.java import OPTION_VARIABLES, SUBMIT_OPTIONS
from hearth.doctor.machine import Machine
from hearth.machine.tree import NotSeen

Who = Literal["driver", "executor"]
_TEMPORARY = "java.io.tmpdir"


def java_options(machine: Machine) -> str:
    """Return the options that the user gives to Spark's JVMs, wherever they are set."""
    user = machine.user_settings()
    given = [user.environment.get(name, "") for name in (*OPTION_VARIABLES, SUBMIT_OPTIONS)]
    keys = [
        f"spark.{who}.{kind}JavaOptions"
        for who in ("driver", "executor")
        for kind in ("default", "extra")
    ]
    return " ".join(filter(None, [*given, *(user.settings.get(key, "") for key in keys)]))


def words_of(options: str) -> list[str]:
    """Return the words of a text of options, also of one whose quotation marks do not match."""
    try:
        return shlex.split(options)
    except ValueError:
        return options.split()


def temporaries_of(machine: Machine) -> dict[str, str]:
    """Return where JVMs keep temporary files, and whose each directory is.

    It is not TMPDIR (System.getProperties, java.io.tmpdir). Executors that hearth starts have one
    below Spark's local directories unless their options name another. Raises NotSeen where an
    option names no file.
    """
    owners = {_directory(_named(machine, "driver") or "/tmp"): "the driver"}
    named = _named(machine, "executor") or _of_a_worker(machine)
    if named and (isinstance(machine.plan, Absent) or _has_executors(machine)):
        folder = _directory(named)
        owners[folder] = "driver and executors" if folder in owners else "executors"
    return owners


def _named(machine: Machine, who: Who) -> str | None:
    """Return the directory that the user's options give a JVM: the last one.

    hearth's own word for executors comes behind those of the first variables.
    """
    early = (*OPTION_VARIABLES[:2], SUBMIT_OPTIONS) if who == "driver" else ()
    settings = machine.user_settings().settings
    given = [_variable(machine, who, variable) for variable in early]
    given += [settings.get(f"spark.{who}.{kind}JavaOptions", "") for kind in ("default", "extra")]
    given.append(_variable(machine, who, OPTION_VARIABLES[2]))
    words = [word for each in given for word in words_of(each)]
    values = [word.partition("=")[2] for word in words if word.startswith(f"-D{_TEMPORARY}=")]
    return values[-1] if values else None


def _variable(machine: Machine, who: Who, name: str) -> str:
    """Return a variable of a JVM's environment, empty where there is none."""
    user = machine.user_settings()
    given = user.settings.get(f"spark.executorEnv.{name}") if who == "executor" else None
    return user.environment.get(name, "") if given is None else given


def _has_executors(machine: Machine) -> bool:
    """Return whether tasks run in other JVMs than the driver's; raise NotSeen."""
    return machine.user_settings().names_a_cluster or not machine.require_plan().is_native


def _of_a_worker(machine: Machine) -> str:
    """Return where executors keep them that a worker of Spark's own starts."""
    return (
        "/tmp" if machine.user_settings().settings.get("spark.master", "")[:8] == "spark://" else ""
    )


def _directory(name: str) -> str:
    try:
        return os.path.realpath(name)
    except ValueError:  # it holds a NUL
        raise NotSeen(f"-D{_TEMPORARY} names no file") from None
