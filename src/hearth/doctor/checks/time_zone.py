"""Java has time zones of its own, Python takes the machine's: where that has not the one that is
named, Python takes UTC, and the same time is another in SQL than in Python.
"""

import re

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.tree import NotSeen

_FOLDER = "usr/share/zoneinfo"
#: A name of the database; others, such as `CET-1CEST`, hold their own rules (tzset(3)).
_NAME = re.compile(r":?([A-Z][A-Za-z_]{1,30}(?:/[A-Z][\w+-]{0,30}){1,2})", re.ASCII)


def _look(machine: Machine) -> Outcome:
    zone = machine.the_own().environment.get("TZ", "")
    if not zone:
        return Fine("TZ is not set")
    if zone in ("UTC", "UTC0", "GMT"):
        return Fine(f"TZ={zone}")
    named = _NAME.fullmatch(zone)
    if named is None:
        raise NotSeen("TZ names no region and city: it may hold rules of its own (tzset(3))")
    if machine.tree.has(f"{_FOLDER}/{named[1]}"):
        return Fine(f"TZ={zone} is in /{_FOLDER}")
    return Problem(
        f"TZ={zone}, and there is no /{_FOLDER}/{named[1]}",
        f"/{_FOLDER}",
        command="apt-get install tzdata; or export TZ=UTC",
    )


CHECK = Check(
    _look,
    group="spark",
    better="a time zone that the machine knows, the same on all machines",
    source="man 3 tzset; Spark: configuration, spark.sql.session.timeZone",
    touches="programs that show local times",
)
