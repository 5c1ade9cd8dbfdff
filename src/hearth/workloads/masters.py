"""The masters that a job may run under."""

import re

from hearth.base.errors import UserError
from hearth.spark.command import fixed_by_master

# Spark's own forms (SparkContext's master regexes) and the addresses of clusters.
_SPARKS = re.compile(
    r"local|local\[(\*|\d+)(, ?\d+)?\]|local-cluster\[ *\d+ *, *\d+ *, *\d+ *\]|yarn"
    r"|spark://\S+|k8s://\S+"
)


def check_master(master: str) -> str:
    """Return the master itself; raise UserError for one that neither Spark nor hearth knows."""
    if master.startswith("local-numa"):
        fixed_by_master(master)
    elif _SPARKS.fullmatch(master) is None:
        known = "local[*], local[4], local-numa, local-numa[2x4], spark://HOST:PORT, yarn or k8s://"
        raise UserError(f"--master: '{master}' is not a master that Spark knows: write {known}")
    return master


def split_masters(text: str) -> list[str]:
    """Split `local[2,3],local-numa` into two masters: a comma within brackets does not separate."""
    masters = [part.strip() for part in re.split(r",(?![^\[]*\])", text)]
    if not all(masters):
        raise UserError(f"--masters: '{text}' has an empty entry: separate masters by one comma")
    twice = {master for master in masters if masters.count(master) > 1}
    if twice:
        raise UserError(f"--masters: {', '.join(sorted(twice))} is given twice: give each once")
    return [check_master(master) for master in masters]
