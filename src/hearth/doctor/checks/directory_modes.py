"""Every JVM writes to these directories: where it may not, it fails; where everybody may, and no
sticky bit is set, other users can remove or replace its files.
"""

import stat
from shlex import quote

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.java import temporaries_of

_SHARED_MEMORY = "/dev/shm"
_OTHERS = "TMPDIR, spark.local.dir and -Djava.io.tmpdir with a directory of your own"


def _look(machine: Machine) -> Outcome:
    own, tree = machine.the_own(), machine.tree
    told = []
    java = temporaries_of(machine)
    for folder in dict.fromkeys([own.temporary, *java, *own.local_dirs, _SHARED_MEMORY]):
        path = folder.lstrip("/")
        of = "" if folder in (own.temporary, *own.local_dirs) else java.get(folder, "")
        named = f"{folder} (java.io.tmpdir of {of})" if of else folder
        if not tree.has(path):
            if folder == _SHARED_MEMORY or (folder in own.local_dirs and tree.may_make(path)):
                continue  # shared-memory tells of the one; Spark makes the others
            if tree.may_make(path):
                return _problem(
                    f"{named} does not exist, and Java does not create it", f"mkdir {quote(folder)}"
                )
            return _problem(f"{named} does not exist, and this user may not create it", _OTHERS)
        mode = tree.mode(path)
        what = f"{named}: mode {stat.S_IMODE(mode):04o}"
        if not stat.S_ISDIR(mode):
            return _problem(
                f"{named} is not a directory", f"make it one, or name another for {folder}"
            )
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            return _problem(f"{what}, without the sticky bit", f"chmod +t {quote(folder)}")
        if not tree.may_write(path):
            return _problem(
                f"{what}: this user may not write there",
                f"chmod 1777 {quote(folder)}; or {_OTHERS}",
            )
        told.append(what)
    return Fine("; ".join(told) or "none of them exists")


def _problem(seen: str, command: str) -> Problem:
    return Problem(seen, "stat(2)", "harm", command=command)


CHECK = Check(
    _look,
    group="files",
    better="mode 1777 where several users write, else a directory of your own",
    source="man 7 inode, S_ISVTX; Elasticsearch: JNA temporary directory",
    touches="other users can no longer remove each other's files there",
)
