"""hearth's jar is made for some versions of Spark; with others it fails at the first class it
misses.
"""

import re

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem, known
from hearth.doctor.tree import NotSeen
from hearth.machine.paths import SPARK_VERSIONS

_OURS = re.compile(r"4\.[0-3](?:[.-].*)?")


def _look(machine: Machine) -> Outcome:
    version = known(machine.the_own().spark_version)
    if not re.match(r"\d+\.\d+", version):
        raise NotSeen("the version of Spark is not known: its jars have no spark-core")
    if _OURS.fullmatch(version):
        return Fine(f"Spark {version}")
    return Problem(
        f"Spark {version}", "its jars", "harm", command="pip install 'pyspark>=4.0,<4.4'"
    )


CHECK = Check(
    _look,
    group="spark",
    better=SPARK_VERSIONS,
    source="hearth: what its jar is built and tested for",
    touches="programs that need the other version",
)
