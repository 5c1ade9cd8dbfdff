"""hearth itself: the jar in Spark, its state and cache, and its class-data archives."""

from hearth.base.sizes import show_bytes
from hearth.doctor.machine import Machine, known
from hearth.doctor.rule import Fine, Outcome, Problem, Rule
from hearth.doctor.rules.files import NETWORK_KINDS

#: Ours: archives of a driver and an executor with their predecessors.
_LITTLE_BYTES, _NONE_BYTES = 1 << 30, 16 << 20


def _installed_link(machine: Machine) -> Outcome:
    user = machine.user_settings()
    jar = known(user.jar)
    for link, target in user.installed.items():
        if target != jar:
            seen = f"{link} leads to {target}, this hearth's jar is {jar}"
            return Problem(seen, "harm", reads=link)
    return Fine("the link leads to this hearth's jar" if user.installed else "no link")


def _state_on_network(machine: Machine) -> Outcome:
    user = machine.user_settings()
    for folder, variable in ((user.state, "HEARTH_STATE"), (user.cache, "XDG_CACHE_HOME")):
        kind = machine.tree.mount_of(folder).kind
        if kind in NETWORK_KINDS:
            command = f"export {variable}=DIRECTORY of a local disk"
            return Problem(f"{folder} is on {kind}", how=command)
    return Fine("hearth's state and cache are on local file systems")


def _state_space(machine: Machine) -> Outcome:
    user, fine = machine.user_settings(), []
    for folder, remedy, variable in (
        (user.state, "hearth runs delete", "XDG_STATE_HOME"),
        (user.cache, "hearth cache --limit 1g", "XDG_CACHE_HOME"),
    ):
        if not machine.tree.may_make(folder):
            command = f"export {variable}= with a directory of your own"
            return Problem(f"{folder}: may not be written", "harm", how=command, reads="access(2)")
        free = known(user.space(folder)).free_bytes
        seen = f"{folder}: {show_bytes(free)} free"
        if free < _LITTLE_BYTES:
            return Problem(seen, "harm" if free < _NONE_BYTES else "advice", how=remedy)
        fine.append(seen)
    return Fine("; ".join(fine))


def _archive_failures(machine: Machine) -> Outcome:
    user = machine.user_settings()
    failures = known(user.archive_failures)
    if not failures:
        return Fine("no archive has failed within a day")
    name, reason = failures[0]
    seen = f"the archive of '{name[:40]}' could not be made: {reason[:120]}"
    return Problem(seen, reads=user.cache)


HEARTH = {
    "installed-link": Rule(
        _installed_link,
        why="The jar that 'hearth install' linked into Spark is what front ends load: it must be "
        "this hearth's.",
        reads="the jars of Spark",
        better="a link to this hearth's jar, or none",
        source="hearth: docs/running.md",
        touches="every front end of that Spark",
        how="hearth install",
    ),
    "state-on-network": Rule(
        _state_on_network,
        why="Records are written while an application runs, and locks of a network's file system "
        "can be lost.",
        reads="/proc/self/mountinfo",
        better="a local disk",
        source="man 2 fcntl, advisory locking over networks",
        touches="earlier records stay where they are",
    ),
    "state-space": Rule(
        _state_space,
        why="Where it cannot write hearth keeps no record and no archive: applications run, start "
        "slower, and are not seen.",
        reads="statvfs(3)",
        better="1 GB or more",
        source="hearth: docs/files.md",
        touches="records or archives that are removed",
    ),
    "archive-failures": Rule(
        _archive_failures,
        why="Without a class-data archive each JVM of an application starts seconds later.",
        reads="the cache",
        better="archives, which hearth makes by itself",
        source="hearth: docs/files.md, class-data archives",
        how="fix that, then hearth cache --remove archives; or wait a day",
    ),
}
