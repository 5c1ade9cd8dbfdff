"""The Java that Spark starts, by its `release` file, and the options that it is given."""

import os
import re
import shlex
from typing import NamedTuple

from hearth.doctor.check import Machine, known
from hearth.doctor.tree import NotSeen, Tree


class Release(NamedTuple):
    """What a JDK says of itself."""

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
    try:
        return shlex.split(machine.java_options())
    except ValueError:  # a quotation mark without its other
        return machine.java_options().split()


def temporary_of(machine: Machine) -> str:
    """Return where JVMs keep temporary files: not TMPDIR (System.getProperties, java.io.tmpdir).

    Raises NotSeen where the option names no file.
    """
    key = "-Djava.io.tmpdir="
    named = [word.removeprefix(key) for word in option_words(machine) if word.startswith(key)]
    try:
        return os.path.realpath(named[-1]) if named and named[-1] else "/tmp"
    except ValueError:  # it holds a NUL
        raise NotSeen(f"{key} names no file") from None
