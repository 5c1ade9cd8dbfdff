"""The Java that Spark starts, by its `release` file, and the options that it is given."""

import os
import re
import shlex
from typing import Literal, NamedTuple

from hearth.base.absent import Absent
from hearth.base.java import OPTION_VARIABLES, SUBMIT_OPTIONS
from hearth.doctor.check import Machine, known
from hearth.doctor.cluster import leads_to_a_cluster
from hearth.doctor.tree import NotSeen, Tree

Who = Literal["driver", "executor"]
_TEMPORARY = "java.io.tmpdir"


class Release(NamedTuple):
    """A JDK's description of itself."""

    home: str
    version: str
    major: int
    vendor: str
    is_early_access: bool


def release_of(machine: Machine) -> Release:
    """Return it; raise NotSeen where there is no Java, or it does not tell."""
    home = known(machine.the_own().java_home)
    text = Tree(home).text("release", 1 << 20)
    version = re.search(r'^JAVA_VERSION="(?:1\.)?(\d{1,3})([\w.+-]{0,40})"', text, re.MULTILINE)
    if version is None:
        raise NotSeen(f"could not read {home}/release: it has no version")
    vendor = re.search(r'^IMPLEMENTOR="([^"\n]{1,60})"', text, re.MULTILINE)
    whose = vendor[1] if vendor else "an unknown vendor"
    early = re.search(r'^JAVA_(?:RUNTIME_)?VERSION="[^"\n]{0,60}-ea\b', text, re.MULTILINE)
    return Release(str(home), version[1] + version[2], int(version[1]), whose, early is not None)


def option_words(machine: Machine) -> list[str]:
    """Return the options that the user gives to JVMs, as words."""
    return _words(machine.java_options())


def _words(options: str) -> list[str]:
    try:
        return shlex.split(options)
    except ValueError:  # a quotation mark without its other
        return options.split()


def named_by(machine: Machine, who: Who, name: str) -> str | None:
    """Return the value of a system property that the user's options give a JVM: the last one.

    hearth's own word for executors' temporary directory comes behind those of the first variables.
    """
    first, last = OPTION_VARIABLES[:2], OPTION_VARIABLES[2]
    early = (*first, SUBMIT_OPTIONS) if who == "driver" else () if name == _TEMPORARY else first
    given = [variable_of(machine, who, variable) for variable in early]
    given += [
        machine.the_own().settings.get(f"spark.{who}.{kind}JavaOptions", "")
        for kind in ("default", "extra")
    ]
    words = [word for each in (*given, variable_of(machine, who, last)) for word in _words(each)]
    values = [word.partition("=")[2] for word in words if word.startswith(f"-D{name}=")]
    return values[-1] if values else None


def variable_of(machine: Machine, who: Who, name: str) -> str:
    """Return a variable of a JVM's environment, empty where there is none."""
    own = machine.the_own()
    given = own.settings.get(f"spark.executorEnv.{name}") if who == "executor" else None
    return own.environment.get(name, "") if given is None else given


def has_executors(machine: Machine) -> bool:
    """Return whether tasks run in other JVMs than the driver's; raise NotSeen."""
    return leads_to_a_cluster(machine) or machine.the_plan().mode != "native"


def temporaries_of(machine: Machine) -> dict[str, str]:
    """Return where JVMs keep temporary files, and whose each directory is.

    It is not TMPDIR (System.getProperties, java.io.tmpdir). Executors that hearth starts have one
    below Spark's local directories unless their options name another. Raises NotSeen where an
    option names no file.
    """
    found = {_directory(named_by(machine, "driver", _TEMPORARY) or "/tmp"): "the driver"}
    named = named_by(machine, "executor", _TEMPORARY) or _usual(machine)
    if named and (isinstance(machine.plan, Absent) or has_executors(machine)):
        folder = _directory(named)
        found[folder] = "driver and executors" if folder in found else "executors"
    return found


def _usual(machine: Machine) -> str:
    """Return where executors keep them that a worker of Spark's own starts."""
    return "/tmp" if machine.the_own().settings.get("spark.master", "")[:8] == "spark://" else ""


def _directory(name: str) -> str:
    try:
        return os.path.realpath(name)
    except ValueError:  # it holds a NUL
        raise NotSeen(f"-D{_TEMPORARY} names no file") from None
